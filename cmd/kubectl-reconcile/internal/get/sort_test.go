package get

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSortBy(t *testing.T) {
	objects := map[string]string{
		"a": `{"metadata":{"name":"a","created":"2026-01-02T00:00:00Z"},"n":10,"memory":"1Gi","mixed":1,"list":[{"x":3}],"on":true}`,
		"b": `{"metadata":{"name":"b","created":"2026-01-01T00:00:00Z"},"n":9,"memory":"900Mi","mixed":"x","list":[{"x":1}],"on":false}`,
		"c": `{"metadata":{"name":"c","created":"2026-01-03T00:00:00Z"},"n":9.5,"memory":"20Mi","list":[{"x":2}]}`,
		"d": `{"metadata":{"name":"d"},"n":9,"memory":null}`,
	}
	for _, row := range []struct{ field, order, want, problem, reason string }{
		{".metadata.name", "c a b", "a b c", "", "text"},
		{"metadata.name", "c a b", "a b c", "", "without the dot"},
		{"{.metadata.name}", "c a b", "a b c", "", "in braces"},
		{"{metadata.name}", "c a b", "a b c", "", "in braces, without the dot"},
		{".metadata.created", "a b c d", "d b a c", "", "times; what has none comes first"},
		{".n", "a b c d", "b d c a", "", "numbers, not texts; what is the same stays in its order"},
		{".memory", "a b c d", "d c b a", "", "quantities; null is like none"},
		{".list[0].x", "a b c", "b c a", "", "an index"},
		{".list[*].x", "a b c", "b c a", "", "the first of several"},
		{".nothing", "a b", "", "--sort-by .nothing: no object has that field", "a field that no object has"},
		{".mixed", "a b", "", "--sort-by .mixed: a text and a number cannot be compared", "values of different types"},
		{".on", "a b", "", "--sort-by .on: a boolean and a boolean cannot be compared", "values without an order, as kubectl has it"},
		{".on", "a", "a", "", "which does not matter for one object"},
	} {
		s, err := newSorter(row.field)
		if err != nil {
			t.Errorf("%s: %v", row.reason, err)
			continue
		}
		list := objectList{}
		names := strings.Fields(row.order)
		for _, name := range names {
			list.objects = append(list.objects, json.RawMessage(objects[name]))
		}
		order, err := s.order(list.objects)
		var got []string
		for _, n := range order {
			got = append(got, names[n])
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), row.problem) || row.problem == "" {
				t.Errorf("%s: %v", row.reason, err)
			}
			continue
		}
		if diff := cmp.Diff(row.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

func TestSortByIsNoPath(t *testing.T) {
	for _, text := range []string{"{.a}{.b}", "{", "x[", "{}", "."} {
		if s, err := newSorter(text); err == nil || s != nil || !strings.HasPrefix(err.Error(), "--sort-by ") {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	if s, err := newSorter(""); s != nil || err != nil {
		t.Errorf("none: %v, %v", s, err)
	}
}

// TestSortKinds: the objects of a table are sorted by kind, others all together.
func TestSortKinds(t *testing.T) {
	by, err := newSorter(".n")
	if err != nil {
		t.Fatal(err)
	}
	lists := func() []objectList {
		return []objectList{
			{objects: []json.RawMessage{json.RawMessage(`{"n":4}`), json.RawMessage(`{"n":2}`)}},
			{objects: []json.RawMessage{json.RawMessage(`{"n":3}`), json.RawMessage(`{"n":1}`)}},
		}
	}
	for output, want := range map[string]string{
		"": "[2 4] [1 3]", "wide": "[2 4] [1 3]", "name": "[1] [2] [3] [4]", "yaml": "[1] [2] [3] [4]",
	} {
		sorted, err := (&Options{output: output, sorter: by}).sort(lists())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, list := range sorted {
			var numbers []string
			for _, object := range list.objects {
				numbers = append(numbers, strings.Trim(string(object), `{}"n:`))
			}
			got = append(got, "["+strings.Join(numbers, " ")+"]")
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("-o %s (-want +got):\n%s", output, diff)
		}
	}
}
