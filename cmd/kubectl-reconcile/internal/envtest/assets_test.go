package envtest

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// onUnix skips a test of symbolic links.
func onUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
}

// file makes a file that can be run.
func file(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAssets(t *testing.T) {
	onUnix(t)
	dir := t.TempDir()
	program, kubectl := file(t, filepath.Join(dir, "kubectl-reconcile")), file(t, filepath.Join(dir, "bin", "kubectl"))
	o := &assetsOptions{dir: filepath.Join(dir, "new", "assets"), program: program, kubectl: kubectl}
	links := func(kubectl string) {
		t.Helper()
		var out bytes.Buffer
		o.streams = genericiooptions.IOStreams{Out: &out, ErrOut: &out}
		if err := o.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out.String() != o.dir+"\n" {
			t.Errorf("printed %q, want only the folder", out.String())
		}
		for name, want := range map[string]string{apiServerName: program, etcdName: program, kubectlName: kubectl} {
			if got, err := os.Readlink(filepath.Join(o.dir, name)); err != nil || got != want {
				t.Errorf("%s leads to %q, %v, want %q", name, got, err, want)
			}
		}
	}
	links(kubectl)
	if err := os.Chmod(o.dir, 0o500); err != nil {
		t.Fatal(err)
	}
	links(kubectl) // what is right is not written again
	if err := os.Chmod(o.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{apiServerName, etcdName} { // as after an update
		path := filepath.Join(o.dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "gone"), path); err != nil {
			t.Fatal(err)
		}
	}
	o.kubectl = ""
	links(program)
}

func TestAssetsOfOthers(t *testing.T) {
	onUnix(t)
	dir := t.TempDir()
	program := file(t, filepath.Join(dir, "kubectl-reconcile"))
	theirs := file(t, filepath.Join(dir, "k8s", etcdName))
	err := (&assetsOptions{dir: filepath.Dir(theirs), program: program}).make()
	if err == nil || !strings.Contains(err.Error(), theirs) {
		t.Errorf("a folder with another etcd: %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(theirs)); len(entries) != 1 {
		t.Errorf("something was made there: %v", entries)
	}
	err = (&assetsOptions{dir: filepath.Join(program, "sub"), program: program}).make()
	if err == nil || !strings.HasPrefix(err.Error(), "making the folder: ") {
		t.Errorf("a folder below a file: %v", err)
	}
}

func TestStablePath(t *testing.T) {
	onUnix(t)
	dir := t.TempDir()
	self := file(t, filepath.Join(dir, "store", "v1", "kubectl-reconcile"))
	onPath := filepath.Join(dir, "bin", "kubectl-reconcile")
	if err := os.Mkdir(filepath.Dir(onPath), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, onPath); err != nil {
		t.Fatal(err)
	}
	other := file(t, filepath.Join(dir, "other", "kubectl-reconcile"))
	for _, tt := range []struct{ path, argv0, want, reason string }{
		{filepath.Dir(onPath), "kubectl-reconcile", onPath, "krew's link, which outlives an update"},
		{filepath.Dir(other), "kubectl-reconcile", self, "another program of that name"},
		{"", "kubectl-reconcile", self, "not on PATH"},
		{"", onPath, onPath, "started by its path"},
	} {
		t.Setenv("PATH", tt.path)
		if got := stablePath(self, tt.argv0); got != tt.want {
			t.Errorf("PATH=%s %s: %s, want %s: %s", tt.path, tt.argv0, got, tt.want, tt.reason)
		}
	}
}

func TestFindKubectl(t *testing.T) {
	onUnix(t)
	dir := t.TempDir()
	self := file(t, filepath.Join(dir, "kubectl-reconcile"))
	kubectl := file(t, filepath.Join(dir, "bin", kubectlName))
	assets := filepath.Join(dir, "assets")
	if err := os.Mkdir(assets, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(assets, kubectlName)); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{"relative", assets, filepath.Dir(kubectl)}, string(filepath.ListSeparator))
	if got := findKubectl(path, self); got != kubectl {
		t.Errorf("found %q behind a link to this program, want %q", got, kubectl)
	}
	if got := findKubectl(assets, self); got != "" {
		t.Errorf("found %q, a link to this program", got)
	}
}

func TestPrune(t *testing.T) {
	onUnix(t)
	dir := t.TempDir()
	program := file(t, filepath.Join(dir, "kubectl-reconcile"))
	gone := filepath.Join(dir, "gone")
	for name, target := range map[string]string{"stale": gone, "used": program, "mine": gone} {
		o := &assetsOptions{dir: filepath.Join(dir, "envtest", name), program: target}
		if err := o.make(); err != nil {
			t.Fatal(err)
		}
	}
	file(t, filepath.Join(dir, "envtest", "foreign", "etcd"))
	prune(filepath.Join(dir, "envtest"), filepath.Join(dir, "envtest", "mine"))
	entries, err := os.ReadDir(filepath.Join(dir, "envtest"))
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); got != "foreign mine used" {
		t.Errorf("left are %s", got)
	}
}
