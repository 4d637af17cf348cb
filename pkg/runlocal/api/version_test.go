package api

import (
	"os"
	"strings"
	"testing"
)

// The pinned version is what a build without module information reports, so it must follow go.mod.
func TestPinnedVersionIsThatOfGoMod(t *testing.T) {
	gomod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(gomod), "\t"+kubernetesModule+" "+pinnedVersion+"\n") {
		t.Errorf("go.mod does not require %s %s", kubernetesModule, pinnedVersion)
	}
	if got := KubernetesVersion(); got != pinnedVersion {
		t.Errorf("KubernetesVersion() = %q, the pinned version is %q", got, pinnedVersion)
	}
}
