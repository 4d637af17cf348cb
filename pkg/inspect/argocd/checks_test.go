package argocd

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/resource_customizations"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// leastChecks is less than how many checks Argo CD ships: with fewer, tests over all of them would test little.
const leastChecks = 220

// shippedChecks are the names of all checks: "group/kind".
func shippedChecks(t testing.TB) []string {
	t.Helper()
	files, err := fs.Glob(resource_customizations.Embedded, "*/*/"+scriptName)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(files))
	for _, file := range files {
		names = append(names, path.Dir(file))
	}
	if len(names) < leastChecks {
		t.Fatalf("there are %d checks, which cannot be all", len(names))
	}
	return names
}

// caseOf is one of the tests that Argo CD has for a check.
type caseOf struct {
	InputPath    string
	HealthStatus struct{ Status, Message string }
}

// casesOf are those of a check.
func casesOf(t testing.TB, name string) []caseOf {
	t.Helper()
	text, err := fs.ReadFile(resource_customizations.Embedded, path.Join(name, "health_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Tests []caseOf }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Tests
}

func (c caseOf) object(t testing.TB, name string) map[string]any {
	t.Helper()
	text, err := fs.ReadFile(resource_customizations.Embedded, path.Join(name, c.InputPath))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// groupKind is what a check is asked by for an object.
func groupKind(object map[string]any) (group, kind string) {
	version, _ := object["apiVersion"].(string)
	kind, _ = object["kind"].(string)
	group, _, found := strings.Cut(version, "/")
	if !found {
		group = ""
	}
	return group, kind
}

// TestAsArgoCDItself: every check says of the objects that Argo CD tests it with what Argo CD expects.
func TestAsArgoCDItself(t *testing.T) {
	checks := Shipped()
	objects := 0
	for _, name := range shippedChecks(t) {
		for _, c := range casesOf(t, name) {
			objects++
			t.Run(path.Join(name, c.InputPath), func(t *testing.T) {
				object := c.object(t, name)
				group, kind := groupKind(object)
				got, err := checks.Health(group, kind, object)
				if err != nil {
					t.Fatal(err)
				}
				want := Health{Status: c.HealthStatus.Status, Message: c.HealthStatus.Message}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("health (-want +got):\n%s", diff)
				}
			})
		}
	}
	if objects < 900 {
		t.Errorf("there were %d objects, which cannot be all", objects)
	}
}

// TestOfKinds: an object finds the check of its kind, by a pattern too.
func TestOfKinds(t *testing.T) {
	checks := Shipped()
	tests := []struct{ reason, group, kind, check string }{
		{"by its name", "cert-manager.io", "Certificate", "cert-manager.io/Certificate"},
		{"any kind of any group that ends so", "s3.aws.upbound.io", "Bucket", "*.upbound.io/*"},
		{"the exact one comes before", "pkg.crossplane.io", "Provider", "pkg.crossplane.io/Provider"},
		{"and the pattern for the others of its group", "pkg.crossplane.io", "Function", "*.crossplane.io/*"},
		{"any kind of a group", "grafana-org-operator.kubitus-project.gitlab.io", "Dashboard", "grafana-org-operator.kubitus-project.gitlab.io/*"},
		{"a pattern does not reach over the end of the group", "upbound.io", "Bucket", ""},
		{"no kind of Argo CD's", "example.com", "Cache", ""},
		{"nor of any group", "", "Pod", ""},
		{"names are no paths", "..", "..", ""},
		{"nor patterns", "*.upbound.io", "*", "*.upbound.io/*"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			found := checks.index().lookup(tt.group, tt.kind)
			got := ""
			if found != nil {
				got = found.name
			}
			if got != tt.check {
				t.Errorf("%s/%s has the check %q, want %q", tt.group, tt.kind, got, tt.check)
			}
		})
	}
	if _, err := checks.Health("example.com", "Cache", nil); !errors.Is(err, ErrNoCheck) {
		t.Errorf("the error of a kind without a check is %v", err)
	}
}

// TestNothingIsReadBefore: programs that judge no object of such a kind do not pay for the checks.
func TestNothingIsReadBefore(t *testing.T) {
	files := &countedFiles{FS: resource_customizations.Embedded}
	checks := New(files)
	if files.opened != nil {
		t.Errorf("making the checks opened %q", files.opened)
	}
	if _, err := checks.Health("example.com", "Cache", nil); !errors.Is(err, ErrNoCheck) {
		t.Fatal(err)
	}
	for _, file := range files.opened {
		if path.Base(file) == scriptName {
			t.Errorf("an object of a kind without a check opened %q", file)
		}
	}
	files.opened = nil
	certificate := map[string]any{"status": map[string]any{}}
	for range 3 {
		if _, err := checks.Health("cert-manager.io", "Certificate", certificate); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"cert-manager.io/Certificate/health.lua"}, files.opened); diff != "" {
		t.Errorf("three objects of a kind opened (-want +got):\n%s", diff)
	}
}

type countedFiles struct {
	fs.FS
	opened []string
}

func (c *countedFiles) Open(name string) (fs.File, error) {
	c.opened = append(c.opened, name)
	return c.FS.Open(name)
}
