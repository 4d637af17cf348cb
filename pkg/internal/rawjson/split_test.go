package rawjson

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// objects are JSON documents that are hard to split, and what is nearly so.
var objects = []string{
	`{"a":1}`, ` { "a" : [ 1 , "]" , {"b":null} ] , "c\"d" : "e\\" } `, `{"a":{"b":{"c":{"d":[{"e":[{}]}]}}}}`,
	`{"a":1,"a":2}`, `{"\u0061":1}`, `[1,2,{"a":[]}]`, `[ ]`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a" 1}`, `{a:1}`, `{"a":1}}`, `["`, `[1`,
	`[,]`, `{"a":"\`, `{"a":tru}`, `]`, `{"a":[}`, "{\"a\":\"\xff\"}", "{\"\xa5\":0,\"\xa5\xa5\":1}", `{"a\\\\b":1}`, `{"a\\b":1}`,
	`{"metadata":{"a":"` + strings.Repeat(`\\`, 9) + `\"` + strings.Repeat("x", 20) + `\\"},"b":12}`, `{"metadata":{"a":"x"},"b":1}`,
}

func TestMembers(t *testing.T) {
	for _, text := range slices.Concat(documents, objects) {
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &want) != nil || want == nil {
			continue
		}
		got := map[string]json.RawMessage{}
		members := Members([]byte(text))
		for _, m := range members {
			got[m.Key] = m.Value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		for key, value := range want {
			if strings.ContainsAny(key, "\"\\\ufffd") || strings.Contains(text, `"\u`) || len(members) > len(want) {
				continue // ValueAt finds names as the API spells them, and the first of several
			}
			if found := ValueAt([]byte(text), key); string(found) != string(value) {
				t.Errorf("%s: %s is %s, want %s", text, key, found, value)
			}
		}
	}
}

// checkSkip fails the test unless SkipValue finds the same end of a document as the Scanner.
func checkSkip(t *testing.T, document []byte) {
	t.Helper()
	span, err := NewScanner(document).Skip()
	end := SkipValue(document, SkipBlanks(document, 0)) // must not panic
	if err == nil && json.Valid(document) && end != span.End {
		t.Errorf("%q: the value ends at %d, want %d", document, end, span.End)
	}
	_, _ = Members(document), Elements(document) // must not panic
	_, _ = ValueAt(document, "a", "b"), Text(document)
}

func TestSkipValue(t *testing.T) {
	for _, text := range slices.Concat(documents, objects) {
		checkSkip(t, []byte(text))
	}
}
