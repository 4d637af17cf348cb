package realcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goMod = `module m

require (
	k8s.io/kubernetes v1.37.1 // indirect
	sigs.k8s.io/kwok v0.8.0 // indirect
)
`

func folder(t *testing.T, goMod string) (string, error) {
	t.Helper()
	module := t.TempDir()
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte(goMod), 0o600); err != nil {
		t.Fatal(err)
	}
	return cacheFolder(module)
}

func TestCacheFolderIsKeyedByVersions(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	base, err := folder(t, goMod)
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(base); !strings.HasPrefix(name, "v1.37.1-") {
		t.Errorf("the folder %s does not name Kubernetes' version", name)
	}
	tests := []struct {
		old, edited, reason string
		same                bool
	}{
		{"", "", "nothing changed", true},
		{" // indirect", "", "a comment is nothing that is built", true},
		{"v0.8.0", "v0.8.1", "another kwok", false},
		{"v1.37.1", "v1.37.2", "another Kubernetes", false},
	}
	for _, tt := range tests {
		got, err := folder(t, strings.ReplaceAll(goMod, tt.old, tt.edited))
		if err != nil || (got == base) != tt.same {
			t.Errorf("%s: the folder is %s (%v), was %s", tt.reason, got, err, base)
		}
	}
	if _, err := folder(t, "module m\n"); err == nil {
		t.Error("a go.mod without Kubernetes is taken")
	}
}

func TestVersionFlags(t *testing.T) {
	got := versionFlags("v1.37.1")
	const want = " -X k8s.io/component-base/version.gitVersion=v1.37.1" +
		" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestProgramsAreThere(t *testing.T) {
	programs, err := Build(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"} {
		if info, err := os.Stat(programs.Path(name)); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s is not there, or cannot be run: %v", name, err)
		}
	}
	said, err := output(t.Context(), "", programs.Path("kubectl"), "version", "--client")
	if err != nil || !strings.Contains(said, "Client Version: v1.37.1") {
		t.Errorf("kubectl says %q (%v)", said, err)
	}
}
