package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

func TestReadable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "there.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want, reason string }{
		{file, "", "it is there"},
		{dir, "", "a directory is there as well"},
		{"gone.yaml", "gone.yaml: no such file or directory", "in as few words as a shell would"},
		{"http://example.invalid/x.yaml", "", "what is no path is not looked for on disk"},
		{"https://example.invalid/x.yaml", "", "nor is this"},
		{"*.yaml", "", "patterns are for the builder"},
	} {
		text := ""
		if err := readable(tt.in); err != nil {
			text = err.Error()
		}
		if text != tt.want {
			t.Errorf("readable(%q) = %q, want %q: %s", tt.in, text, tt.want, tt.reason)
		}
	}
}

func TestReadManifests(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"two.yaml":    "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: b}\n",
		"broken.yaml": "a: b: c\n",
		"half.yaml":   "kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\n---\nmetadata: {name: d}\n",
		"empty.yaml":  "# nothing\n",
		"values.yaml": "# of a chart\ndb: {password: hunter2}\n---\n",
		"list.yaml":   "- hunter2\n- hunter2\n",
		"values.json": `{"password":"hunter2"}`,
		"items.yaml":  "kind: List\napiVersion: v1\nitems:\n- {password: hunter2}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		files  []string
		want   []string
		errors []string
		reason string
	}{
		{"none", nil, nil, nil, "no files were given"},
		{"documents", []string{"two.yaml"}, []string{"two.yaml: ConfigMap/a", "two.yaml: ConfigMap/b"}, nil, "each document is an object"},
		{"stdin", []string{"-"}, []string{"stdin: ConfigMap/piped"}, nil, "- is stdin"},
		{"stdin and a file", []string{"two.yaml", "-"}, []string{"stdin: ConfigMap/piped", "two.yaml: ConfigMap/a", "two.yaml: ConfigMap/b"}, nil, "both"},
		{"one broken among others", []string{"broken.yaml", "two.yaml", "gone.yaml"}, []string{"two.yaml: ConfigMap/a", "two.yaml: ConfigMap/b"}, []string{"gone.yaml: no such file", "broken.yaml"}, "the objects that can be read, and an error for each other file"},
		{"one document of a file", []string{"half.yaml"}, []string{"half.yaml: ConfigMap/c"}, []string{
			"half.yaml: line 5: a manifest with apiVersion, kind and metadata is expected: kind is missing"}, "even within a file"},
		{"values", []string{"values.yaml"}, nil, []string{
			"values.yaml: line 2: a manifest with apiVersion, kind and metadata is expected: kind is missing"}, "without what is in them"},
		{"no object", []string{"list.yaml"}, nil, []string{
			"list.yaml: a manifest with apiVersion, kind and metadata is expected: it is no object"}, "a list of texts"},
		{"JSON", []string{"values.json"}, nil, []string{
			"values.json: line 1: a manifest with apiVersion, kind and metadata is expected: kind is missing"}, "as YAML"},
		{"an item of a List", []string{"items.yaml"}, nil, []string{
			"Object 'Kind' is missing in 'object has no kind field '"}, "without what is in it"},
		{"all broken", []string{"broken.yaml", "gone.yaml"}, nil, []string{"gone.yaml: no such file", "broken.yaml"}, "an error for each"},
		{"empty", []string{"empty.yaml"}, nil, []string{"the files given hold no objects"}, "an empty file was not meant"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags := NewManifestFlags("")
			*flags.flags.Filenames = tt.files
			manifests, err := flags.Read(strings.NewReader("kind: ConfigMap\napiVersion: v1\nmetadata: {name: piped}\n"))
			var got []string
			for _, m := range manifests {
				got = append(got, m.Source+": "+m.Object.GetKind()+"/"+m.Object.GetName())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			var errs []error
			if err != nil {
				errs = cli.FlattenErrors(err)
			}
			if len(errs) != len(tt.errors) {
				t.Fatalf("%d errors, want %d: %v", len(errs), len(tt.errors), err)
			}
			for i, e := range errs {
				if !strings.Contains(e.Error(), tt.errors[i]) || strings.Contains(e.Error(), "hunter2") {
					t.Errorf("error %d is %q, want one with %q: %s", i, e, tt.errors[i], tt.reason)
				}
			}
		})
	}
}
