package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDivide(t *testing.T) {
	of := func(metadata string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + metadata + "}}"
	}
	for _, row := range []struct {
		reason         string
		from           []string
		stored, others []string
	}{
		{"no objects", nil, nil, nil},
		{"a server gives objects a uid and a resourceVersion", []string{of("a, " + there)}, []string{"a"}, nil},
		{"a manifest has neither", []string{of("a")}, nil, []string{"a"}},
		{"one of them is left over from an edit", []string{of(`a, uid: "1"`), of(`b, resourceVersion: "1"`)}, nil,
			[]string{"a", "b"}},
		{"the order is kept in both", []string{of("c"), of("b, " + there), of("a"), of("a, " + there)},
			[]string{"b", "a"}, []string{"c", "a"}},
	} {
		storedFiles, otherManifests := divide(manifests(t, row.from...))
		var stored, others []string
		for _, f := range storedFiles {
			stored = append(stored, f.Object.GetName())
		}
		for _, m := range otherManifests {
			others = append(others, m.Object.GetName())
		}
		if diff := cmp.Diff([][]string{row.stored, row.others}, [][]string{stored, others}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}
