package docs

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// schemas returns the kinds of documents that each schema in docs describes, by the names of the files.
func schemas(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(root + "/docs/*.schema.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("docs has %d schemas: %v", len(files), err)
	}
	out := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			OneOf []struct {
				Ref string `json:"$ref"`
			}
			Defs map[string]struct {
				Properties struct{ Kind struct{ Const string } }
			} `json:"$defs"`
		}
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		kinds := map[string]bool{}
		for _, one := range schema.OneOf {
			kinds[schema.Defs[strings.TrimPrefix(one.Ref, "#/$defs/")].Properties.Kind.Const] = true
		}
		out[filepath.Base(file)] = slices.Sorted(maps.Keys(kinds))
	}
	return out
}

// TestSchemasPage: docs/schemas.md has a row for each kind of document that a schema describes, with that schema.
func TestSchemasPage(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/schemas.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `.*?\\| `(\\w+)`[^|]*\\| \\[([a-z.-]+)\\]\\(([a-z.-]+)\\) \\|")
	got := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		if m[2] != m[3] {
			t.Errorf("the link %s leads to %s", m[2], m[3])
		}
		got[m[2]] = append(got[m[2]], m[1])
	}
	for name := range got {
		slices.Sort(got[name])
	}
	if diff := cmp.Diff(schemas(t), got); diff != "" {
		t.Errorf("kinds by schema (-docs/*.schema.json +docs/schemas.md):\n%s", diff)
	}
}

// TestKindsHaveSchemas: each kind that the source declares for a document has a schema.
func TestKindsHaveSchemas(t *testing.T) {
	described := map[string]bool{}
	for _, kinds := range schemas(t) {
		for _, kind := range kinds {
			described[kind] = true
		}
	}
	// Kinds are constants: in v1alpha1, in package trace, and in commands whose documents are their own.
	declared := regexp.MustCompile(`(?m)^(?:const |\t)(?:\w+Kind|Kind)\s*= "(\w+)"$`)
	var found []string
	for _, pattern := range []string{
		"pkg/inspect/v1alpha1/*.go", "pkg/runlocal/trace/event.go", "cmd/kubectl-reconcile/internal/*/*.go",
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				found = append(found, m[1])
				if !described[m[1]] {
					t.Errorf("%s declares the kind %s, which no schema in docs describes", file, m[1])
				}
			}
		}
	}
	if len(found) != len(described) {
		t.Errorf("the source declares %d kinds, %q, and the schemas describe %d", len(found), found, len(described))
	}
}
