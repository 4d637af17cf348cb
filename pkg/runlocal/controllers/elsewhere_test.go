package controllers

import (
	"slices"
	"strings"
	"testing"
)

// TestElsewhere: what other programs do is found by any of its names, and none of these is a controller's.
func TestElsewhere(t *testing.T) {
	all := AllElsewhere()
	if !slices.IsSortedFunc(all, func(a, b Elsewhere) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the names are not sorted")
	}
	seen := map[string]string{}
	for _, e := range all {
		for _, name := range append([]string{strings.ToLower(e.Name)}, e.Others...) {
			if other, ok := seen[name]; ok {
				t.Errorf("%q is %s, and %s", name, e.Name, other)
			}
			seen[name] = e.Name
			if _, err := Select([]string{name}); err == nil {
				t.Errorf("%q, said to be elsewhere, is a controller", name)
			}
			if found, ok := FindElsewhere(name); !ok || found.Name != e.Name {
				t.Errorf("%q is not found", name)
			}
		}
	}
	for word, want := range map[string]string{
		"Ingress": "Ingress", "ingress-controller": "Ingress", "networkpolicy-controller": "NetworkPolicy",
		"PodController": "Pod", "deployment": "", "controller": "", "": "", "nonsense": "",
	} {
		if got, ok := FindElsewhere(word); got.Name != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", word, got.Name, want)
		}
	}
}
