package timeline

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// texts are JSON documents and what is nearly so.
var texts = []string{
	`{}`, `{"a":1}`, ` { "a" : [ 1 , "]" , {"b":null} ] , "c\"d" : "e\\" } `, `{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":{"j":1}}}}}}}}}}`,
	`{"a":1,"a":2}`, `{"\u0061":1}`, `[1,2,{"a":[]}]`, `[]`, `null`, `"x"`, `1`, ``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":}`,
	`{"a" 1}`, `{a:1}`, `{"a":1}}`, `["`, `[1`, `[1,`, `[,]`, `{"a":"\`, `{"a":tru}`, `]`, `{"a":[}`, "{\"a\":\"\xff\"}", "{\"\xa5\":0,\"\xa5\xa5\":1}", `{"a\\\\b":1}`, `{"a\\b":1}`,
	`{"metadata":{"name":"a","ownerReferences":[{"uid":"u"}],"managedFields":[{"manager":"m","time":"2026-01-01T00:00:00Z"}]}}`,
	`{"metadata":{"name":"a","managedFields":[{"manager":"m","fieldsV1":{"f:a":{}},"time":"2026-01-01T00:00:01Z"},{"manager":"n"}]}}`,
	`{"metadata":{"name":"ab","managedFields":[{"manager":"n","fieldsV1":{"f:a":{}}},1,["x",{}],{"manager":]}}`,
	`{"metadata":{"a":"` + strings.Repeat(`\\`, 9) + `\"` + strings.Repeat("x", 20) + `\\"},"b":12}`, `{"metadata":{"a":"x"},"b":1}`,
	`{"metadata":{"name":"a","finalizers":["x"]},"status":{"conditions":[{"type":"A","status":"True"},{"type":"A"}]}}`,
}

// checkLike fails the test unless a version that is split beside another one comes out as alone.
func checkLike(t *testing.T, raw, other []byte) {
	t.Helper()
	alone, beside := documentOf(raw, nil), documentOf(raw, documentOf(other, nil))
	if managers := rawjson.Elements(alone.meta("managedFields")); len(managers) != len(alone.managers) {
		t.Errorf("%s has %d managers, read were %d", raw, len(managers), len(alone.managers))
	}
	if reflect.DeepEqual(alone, beside) {
		return
	}
	if diff := cmp.Diff(alone, beside, cmp.AllowUnexported(document{}, managedEntry{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s beside %s (-alone +beside):\n%s", raw, other, diff)
	}
}

// TestSplitBesideAnotherVersion: what two versions share is compared, which finds the same values.
func TestSplitBesideAnotherVersion(t *testing.T) {
	for _, raw := range texts {
		for _, other := range texts {
			checkLike(t, []byte(raw), []byte(other))
		}
	}
}

// secretStream is one of Secrets: of other objects the whole may have a kind of which values are hidden, and parts not.
var secretStream = &streamState{Stream: &replay.Stream{Resource: "secrets"}}

// wholeChanges is what changes are without splitting.
func wholeChanges(t *testing.T, before, after []byte) ([]fields.Change, bool) {
	t.Helper()
	var objects [2]map[string]any
	for i, text := range [][]byte{before, after} {
		if utiljson.Unmarshal(text, &objects[i]) != nil || objects[i] == nil {
			return nil, false
		}
	}
	changes, _, err := difference{objects[0], objects[1]}.changes(secretStream.mask(), false, false)
	if err != nil {
		t.Fatal(err)
	}
	return changes, true
}

// FuzzDifference: two versions that are split before they are decoded differ as they do as a whole, and nothing panics.
func FuzzDifference(f *testing.F) {
	for _, a := range texts {
		for _, b := range texts {
			f.Add([]byte(a), []byte(b))
		}
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		checkLike(t, after, before)
		old := documentOf(before, nil)
		updated := documentOf(after, old)
		change, d, err := changeOf(old, updated, secretStream, false)
		_, _ = writerOf(old, updated)
		_ = ownerOfChanges(updated, d, secretStream.mask())
		_ = containersOf(before, after)
		_ = ownersOf(after)
		_, _ = rawjson.Elements(before), regardingOf(after)
		want, ok := wholeChanges(t, before, after)
		if !ok || err != nil || hasDuplicates(before) || hasDuplicates(after) {
			return
		}
		if len(want)+len(change.Fields) > 0 && !reflect.DeepEqual(want, change.Fields) {
			t.Errorf("%s -> %s (-whole +split):\n%s", before, after, cmp.Diff(want, change.Fields))
		}
	})
}

// hasDuplicates reports whether an object has a key twice, in which case decoders may keep either.
func hasDuplicates(raw []byte) bool {
	seen := map[string]bool{}
	for _, m := range rawjson.Members(raw) {
		if seen[m.Key] || hasDuplicates(m.Value) {
			return true
		}
		seen[m.Key] = true
	}
	return slices.ContainsFunc(rawjson.Elements(raw), hasDuplicates)
}
