package krew

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programs is where krew's programs are built: in the project's directory for built files and not in a temporary one, so
// that go build has nothing to do when nothing changed.
const programs = "../../bin/test/krew"

// runPlugin is run in the place of kubectl: it looks for the program of a plugin as kubectl does.
const runPlugin = `#!/bin/sh
plugin=kubectl-$(echo "$1" | tr - _); shift
exec "$plugin" "$@"
`

// machine is one on which krew installs plugins: a folder for them, and programs.
type machine struct {
	t    *testing.T
	root string
	env  []string
}

// build builds krew's programs and returns their folder.
func build(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(programs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(filepath.Separator),
		"sigs.k8s.io/krew/cmd/krew", "sigs.k8s.io/krew/cmd/validate-krew-manifest")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building krew: %v\n%s", err, out)
	}
	return dir
}

// newMachine returns a machine of a platform, on which nothing is installed. Everything that krew would look for at
// GitHub is in index, a git repository.
func newMachine(t *testing.T, p platform, index string) *machine {
	t.Helper()
	bin, root, path := build(t), t.TempDir(), t.TempDir()
	link(t, filepath.Join(bin, "krew"), filepath.Join(path, "kubectl-krew"))
	link(t, filepath.Join(bin, "validate-krew-manifest"), filepath.Join(path, "validate-krew-manifest"))
	if kubectl := os.Getenv("KUBECTL"); kubectl != "" {
		link(t, kubectl, filepath.Join(path, "kubectl"))
	} else {
		write(t, filepath.Join(path, "kubectl"), runPlugin, 0o700)
	}
	return &machine{t: t, root: root, env: append(os.Environ(),
		"HOME="+root, "KREW_ROOT="+root, "KREW_OS="+p.os, "KREW_ARCH="+p.arch, "KREW_DEFAULT_INDEX_URI="+index, "KREW_NO_UPGRADE_CHECK=1",
		"PATH="+strings.Join([]string{filepath.Join(root, "bin"), path, os.Getenv("PATH")}, string(os.PathListSeparator)))}
}

// run runs a program and returns what it prints, on both streams, and its error.
func (m *machine) run(args ...string) (string, error) {
	m.t.Helper()
	for _, e := range m.env {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			m.t.Setenv("PATH", path) // in which os/exec looks
		}
	}
	cmd := exec.CommandContext(m.t.Context(), args[0], args[1:]...)
	cmd.Env = m.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is run, for what must work.
func (m *machine) must(args ...string) string {
	m.t.Helper()
	out, err := m.run(args...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}
