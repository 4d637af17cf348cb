package sandbox

import (
	"slices"
	"testing"
)

func TestAdmissionPlugins(t *testing.T) {
	names := admissionPlugins()
	for _, name := range []string{"NamespaceLifecycle", "ServiceAccount", "Priority", "ResourceQuota"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not offered: %q", name, names)
		}
	}
}
