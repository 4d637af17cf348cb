package krew

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// names has the plugin's two names, and the file that kubectl runs for each.
var names = map[string]string{"reconcile": "kubectl-reconcile", "debug-controllers": "kubectl-debug_controllers"}

// host is the platform of the tests.
var host = platform{runtime.GOOS, runtime.GOARCH}

// writeIndex fills the manifests for a release that is served at a URL, and returns the folder of the index.
func writeIndex(t *testing.T, r release, url string) string {
	t.Helper()
	index := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "-C", "../..", "run", "./krew",
		"-checksums", filepath.Join(r.dir, "checksums.txt"), "-out", index, "-base", url)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("filling the manifests: %v\n%s", err, out)
	}
	return index
}

func manifest(index, name string) string { return filepath.Join(index, "plugins", name+".yaml") }

// TestValidate has krew's own check of manifests download and install every platform.
func TestValidate(t *testing.T) {
	r := makeRelease(t)
	index := writeIndex(t, r, r.serve(t))
	m := newMachine(t, host, index)
	for name := range names {
		out := m.must("validate-krew-manifest", "-manifest", manifest(index, name))
		for _, want := range []string{"structural validation OK", "no overlapping spec.platform[].selector", "all 6 spec.platforms installed fine"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: krew's check does not say %q:\n%s", name, want, out)
			}
		}
	}
}

// TestInstall installs the archive of each platform, and runs that of this one.
func TestInstall(t *testing.T) {
	r := makeRelease(t)
	index := writeIndex(t, r, "")
	for _, p := range platforms {
		for name, file := range names {
			m := newMachine(t, p, index)
			m.must("kubectl", "krew", "install", "--manifest", manifest(index, name), "--archive", filepath.Join(r.dir, p.archive(r.version)))
			if p.os == "windows" {
				file += ".exe"
			}
			store := filepath.Join(m.root, "store", name, r.version)
			target, err := os.Readlink(filepath.Join(m.root, "bin", file))
			if want := filepath.Join(store, p.program()); err != nil || target != want {
				t.Errorf("%s for %v: %s is a link to %q, want %q: %v", name, p, file, target, want, err)
			}
			if _, err := os.Stat(filepath.Join(store, "LICENSE")); err != nil {
				t.Errorf("%s for %v: the licence is not installed: %v", name, p, err)
			}
			if p == host {
				expectRuns(t, m, r, name)
			}
		}
	}
}

// expectRuns runs the installed plugin through kubectl: what was built tells its version, and the name that the user types.
func expectRuns(t *testing.T, m *machine, r release, name string) {
	t.Helper()
	got := m.must("kubectl", name, "version")
	if !r.built[host] {
		if want := names[name] + " version\n"; got != want {
			t.Errorf("the stand-in prints %q, want %q", got, want)
		}
		return
	}
	if want := "kubectl-reconcile " + r.version + "\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%s prints\n%s\nwant %q first", name, got, want)
	}
	if help, want := m.must("kubectl", name, "tree", "--help"), "  kubectl "+name+" tree deploy/web\n"; !strings.Contains(help, want) {
		t.Errorf("the help has no %q:\n%s", want, help)
	}
}

// TestRefusals shows krew's own words where an archive or a platform is wrong.
func TestRefusals(t *testing.T) {
	r := makeRelease(t)
	index := writeIndex(t, r, "")
	damaged := filepath.Join(t.TempDir(), "damaged.tar.gz")
	writeStandIn(t, damaged, platform{"linux", "other"})
	write(t, damaged+".txt", "not an archive", 0o600)
	for _, tt := range []struct {
		platform              platform
		archive, want, reason string
	}{
		{host, damaged + ".txt", "checksum does not match", "another file"},
		{host, filepath.Join(r.dir, "none.tar.gz"), "no such file or directory", "no file"},
		{platform{"freebsd", "amd64"}, filepath.Join(r.dir, host.archive(r.version)),
			`plugin "reconcile" does not offer installation for this platform`, "a platform that is not released"},
	} {
		m := newMachine(t, tt.platform, index)
		out, err := m.run("kubectl", "krew", "install", "--manifest", manifest(index, "reconcile"), "--archive", tt.archive)
		if err == nil || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v, and krew does not say %q:\n%s", tt.reason, err, tt.want, out)
		}
	}
}

// TestIndex serves the manifests as an index: a git repository that a user adds to krew.
func TestIndex(t *testing.T) {
	r := makeRelease(t)
	index := writeIndex(t, r, r.serve(t))
	m := newMachine(t, host, index)
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "plugins"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "Release"},
	} {
		m.must(append([]string{"git", "-C", index}, args...)...)
	}
	m.must("kubectl", "krew", "index", "add", "own", index)
	found := m.must("kubectl", "krew", "search", "reconcile")
	if !strings.Contains(found, "own/reconcile") || !strings.Contains(found, "Debug controllers") {
		t.Errorf("krew search does not find own/reconcile:\n%s", found)
	}
	for name := range names {
		m.must("kubectl", "krew", "install", "own/"+name)
		expectRuns(t, m, r, name)
	}
}
