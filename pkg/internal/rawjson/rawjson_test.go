package rawjson

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documents are texts that are JSON or nearly so.
var documents = []string{
	`{}`, `[]`, ` { "a" : [ 1 , -2.5e+3 , true , false , null , "x\u00e9\n\"" ] } `, `"text"`, `0`, `-0.0E-1`, `null`,
	``, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `01`, `-`, `1.`, `1e`, `tru`, `"a`, `"\x"`, `"\u12g4"`,
	"\"a\nb\"", `{} {}`, `{"a":1]`, `nulll`, `.5`, `{1:2}`, "\"\xff\"",
}

func TestAcceptsWhatIsJSON(t *testing.T) {
	for _, document := range documents {
		s := NewScanner([]byte(document))
		_, err := s.Skip()
		if err == nil {
			err = s.End()
		}
		if want := json.Valid([]byte(document)); want != (err == nil) {
			t.Errorf("%q: valid is %t, got %v", document, want, err)
		}
	}
}

func TestDepth(t *testing.T) {
	for _, row := range []struct {
		reason string
		depth  int
		fails  bool
	}{
		{"as deep as may be", MaxDepth, false},
		{"one level more", MaxDepth + 1, true},
		{"a hostile document", 5_000_000, true},
	} {
		document := strings.Repeat("[", row.depth) + strings.Repeat("]", row.depth)
		if _, err := NewScanner([]byte(document)).Skip(); (err != nil) != row.fails {
			t.Errorf("%s: got %v", row.reason, err)
		}
	}
}

func TestMeta(t *testing.T) {
	for _, row := range []struct {
		reason, document string
		want             Meta
		fails            bool
	}{
		{"an object", `{"kind":"Pod","metadata":{"name":"a","namespace":"n","uid":"u","labels":{"name":"no"},` +
			`"resourceVersion":"7","ownerReferences":[{"name":"no"}]},"spec":{"metadata":{"name":"no"}}}`,
			Meta{"n", "a", "u", "7"}, false},
		{"escapes", `{"metadata":{"n\u0061me":"a\/b"}}`, Meta{Name: "a/b"}, false},
		{"no metadata", `{}`, Meta{}, false},
		{"metadata of other types", `{"metadata":[1]}`, Meta{}, false},
		{"a name of another type", `{"metadata":{"name":7,"uid":null}}`, Meta{}, false},
		{"no object", `[]`, Meta{}, true},
		{"not JSON after the metadata", `{"metadata":{"name":"a"},"spec":}`, Meta{Name: "a"}, true},
	} {
		var got Meta
		span, err := got.Object(NewScanner([]byte(row.document)))
		if (err != nil) != row.fails {
			t.Errorf("%s: got %v", row.reason, err)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s:\n%s", row.reason, diff)
		}
		if err == nil && row.document[span.Start:span.End] != row.document {
			t.Errorf("%s: the object is at %v", row.reason, span)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, document := range slices.Concat(documents, objects) {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		s := NewScanner(document)
		_, err := s.Skip()
		if err == nil {
			err = s.End()
		}
		if want := json.Valid(document); want != (err == nil) && err != errTooDeep { //nolint:errorlint // it is not wrapped
			t.Errorf("%q: valid is %t, got %v", document, want, err)
		}
		_, _ = new(Meta).Object(NewScanner(document)) // must not panic
		checkSkip(t, document)
	})
}
