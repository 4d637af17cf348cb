package cluster

import (
	"encoding/json"
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestKubernetesKinds: the names and the scopes of Kubernetes' own kinds are those that an API server lists.
func TestKubernetesKinds(t *testing.T) {
	source, err := build.Import("k8s.io/kubernetes/pkg/apis/core", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(source.Dir, "../../../api/discovery/api*__*.json"))
	if err != nil || len(files) < 20 {
		t.Fatal("no lists of kinds in the source of Kubernetes:", files, err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list metav1.APIResourceList
		var version schema.GroupVersion
		if err := json.Unmarshal(text, &list); err == nil {
			version, err = schema.ParseGroupVersion(list.GroupVersion)
			if err != nil {
				t.Fatal(err)
			}
		}
		if strings.HasPrefix(version.Group, "auth") || version.Empty() {
			continue // these are questions, and not stored
		}
		seen[version.Group] = true
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			kind := version.WithKind(r.Kind)
			if got := GuessResource(kind.Kind); got != r.Name {
				t.Errorf("%s are %q, want %q", kind, got, r.Name)
			}
			if got, known := IsNamespaced(kind.GroupKind()); got != r.Namespaced || !known {
				t.Errorf("%s is namespaced: %t, known: %t", kind, got, known)
			}
			if got := ShortNames(kind.GroupKind()); !slices.Equal(got, r.ShortNames) {
				t.Errorf("%s has the short names %q, want %q", kind, got, r.ShortNames)
			}
		}
	}
	for group := range builtIn().groups {
		if !seen[group] && group != "apiextensions.k8s.io" && group != "apiregistration.k8s.io" {
			t.Errorf("there is no group %s", group)
		}
	}
}

func TestPlurals(t *testing.T) {
	for _, tt := range []struct{ kind, want, reason string }{
		{"Pod", "pods", "an s"},
		{"Ingress", "ingresses", "es after an s"},
		{"Policy", "policies", "a y becomes ies"},
		{"Gateway", "gateways", "but not after a vowel, where Kubernetes' own guess is wrong"},
		{"Endpoints", "endpoints", "a kind that is a plural"},
		{"Y", "ies", "a letter alone is no reason to fail"},
	} {
		if got := GuessResource(tt.kind); got != tt.want {
			t.Errorf("%s: %s are %q, want %q", tt.reason, tt.kind, got, tt.want)
		}
	}
}
