// Package install tests that `go install …@version` works, as it does for a user who has no clone.
package install

import (
	"archive/zip"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const (
	module = "github.com/kubectl-reconcile/kubectl-reconcile"
	root   = "../.."
)

// versionOf returns the version that a checkout with the files is served as: the same as long as nothing changes, so that
// nothing is compiled again, and another one after a change, because the go command takes it for granted that the files
// of a version do not change, and keeps what they import in its build cache.
func versionOf(t *testing.T, checkout string, files []string) string {
	t.Helper()
	sum := crc32.NewIEEE()
	fmt.Fprintln(sum, checkout)
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(sum, name, len(content))
		sum.Write(content)
	}
	return fmt.Sprintf("v0.0.0-installtest.h%x", sum.Sum32())
}

// TestGoInstall serves the module from a folder, in the layout of a module proxy, and everything else from the module
// cache, and installs the program from there.
func TestGoInstall(t *testing.T) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	files := moduleFiles(t)
	proxy, bin, version := t.TempDir(), t.TempDir(), versionOf(t, checkout, files)
	writeProxy(t, filepath.Join(proxy, filepath.FromSlash(module), "@v"), version, files)
	cache := goOutput(t, nil, "env", "GOMODCACHE")
	forget(t, cache, version) // what a test that was killed has left
	t.Cleanup(func() { forget(t, cache, version) })

	env := []string{
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + filepath.ToSlash(filepath.Join(cache, "cache", "download")),
		"GOSUMDB=off", // what is in the cache was verified by go.sum when it came, and a database may not be reachable
		"GOFLAGS=-modcacherw -ldflags=-w", "GOBIN=" + bin,
	}
	goOutput(t, env, "install", module+"/cmd/kubectl-reconcile@"+version)

	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl-reconcile"), "version").Output()
	if err != nil {
		t.Fatalf("running what was installed: %v", err)
	}
	if want := "kubectl-reconcile " + version + "\n"; !strings.HasPrefix(string(out), want) {
		t.Errorf("version says\n%s\nwant %q first: it is read from the build info", out, want)
	}
}

// TestUsableAsLibrary: in a module that requires this one, the go command can list all modules, which "go doc" needs.
func TestUsableAsLibrary(t *testing.T) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		return goOutputIn(t, dir, nil, args...)
	}
	run("mod", "init", "example.com/controller")
	run("mod", "edit", "-require", module+"@v0.0.0", "-replace", module+"="+checkout)
	program := "package main\n\nimport _ \"" + module + "/pkg/runlocal\"\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run("mod", "tidy")
	run("list", "-m", "all")
	if doc := run("doc", module+"/pkg/runlocal.Session"); !strings.Contains(doc, "type Session struct") {
		t.Errorf("go doc shows\n%s", doc)
	}
}

// goOutput runs the go command outside any module, with more environment, and returns what it prints.
func goOutput(t *testing.T, env []string, args ...string) string {
	t.Helper()
	return goOutputIn(t, t.TempDir(), env, args...)
}

// goOutputIn runs the go command in a directory, with more environment, and returns what it prints.
func goOutputIn(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, problems.String())
	}
	return strings.TrimSpace(string(out))
}

// writeProxy writes what a proxy serves for one version of the module.
func writeProxy(t *testing.T, dir, version string, files []string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"list":            version + "\n",
		version + ".info": `{"Version":"` + version + `"}`,
		version + ".mod":  string(mod),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeZip(t, filepath.Join(dir, version+".zip"), module+"@"+version, files)
}

// moduleFiles returns the files of the module as the go command takes them: without modules below it, and without what
// is no part of it.
func moduleFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(name)
		}
		if d.Type().IsRegular() {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// writeZip packs the files of the module into an archive whose names begin with a prefix.
func writeZip(t *testing.T, file, prefix string, files []string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, name := range files {
		if err := pack(z, prefix, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

func skip(dir string) error {
	if dir == root {
		return nil
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	if name := filepath.Base(dir); err == nil || name == ".git" || name == "bin" || name == "dist" {
		return filepath.SkipDir
	}
	return nil
}

func pack(z *zip.Writer, prefix, name string) error {
	inside, err := filepath.Rel(root, name)
	if err != nil {
		return err
	}
	w, err := z.Create(path.Join(prefix, filepath.ToSlash(inside)))
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// forget removes the version from the module cache.
func forget(t *testing.T, cache, version string) {
	t.Helper()
	unpacked := filepath.Join(cache, filepath.FromSlash(module)+"@"+version)
	downloaded, err := filepath.Glob(filepath.Join(cache, "cache", "download", filepath.FromSlash(module), "@v", version+".*"))
	if err != nil {
		t.Error(err)
	}
	for _, name := range append(downloaded, unpacked) {
		if err := os.RemoveAll(name); err != nil {
			t.Errorf("clearing the module cache: %v", err)
		}
	}
}
