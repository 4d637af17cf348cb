// Package upstreamsource reads Kubernetes' own source, of the version that go.mod names, for tests that compare this
// project's tables with it. Importing what they look at would bring flags and metrics along, or is not possible because
// it is not exported. It is not for programs: they use what upstream exports.
package upstreamsource

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Files parses the files of a package, without its tests and without the packages below it. The test ends if that
// fails.
func Files(t testing.TB, path string) []*ast.File {
	t.Helper()
	return parsed(t, folder(t, path))["."]
}

// FilesBelow parses the files of a package and of those below it, without tests, by the slashed paths of their folders
// from the package's own, which is ".". The test ends if that fails.
func FilesBelow(t testing.TB, path string) map[string][]*ast.File {
	t.Helper()
	return parsed(t, folder(t, path))
}

// Module returns the version of a module that go.mod requires, and the folder of its source in the module cache. The
// test ends if go.mod does not require it or it was not downloaded.
func Module(t testing.TB, path string) (version, folder string) {
	t.Helper()
	args := []string{"list", "-m", "-f", "{{.Version}} {{.Dir}}", path}
	list := exec.CommandContext(t.Context(), "go", args...) //nolint:gosec // G204: tests name the module
	found, err := list.Output()
	if err != nil {
		t.Fatalf("finding module %s: %v", path, err)
	}
	version, folder, _ = strings.Cut(strings.TrimSpace(string(found)), " ")
	if folder == "" {
		t.Fatalf("module %s is not in the module cache: run go mod download", path)
	}
	return version, folder
}

// ModuleAt returns the folder of the source of a version of a module, which need not be that of go.mod; empty if it is
// not in the module cache.
func ModuleAt(t testing.TB, path, version string) string {
	t.Helper()
	args := []string{"list", "-m", "-f", "{{.Dir}}", path + "@" + version}
	list := exec.CommandContext(t.Context(), "go", args...) //nolint:gosec // G204: tests name the module
	list.Env = append(list.Environ(), "GOPROXY=off")
	found, err := list.Output()
	if err != nil {
		return "" // not even its name is there
	}
	return strings.TrimSpace(string(found))
}

// ModulePath returns the path of the module that a package or file of Kubernetes is in, and its slashed path there:
// modules of k8s.io have one element after that.
func ModulePath(path string) (module, below string) {
	parts := strings.SplitN(path, "/", 3)
	return strings.Join(parts[:2], "/"), parts[2]
}

// folder is where a package's source is.
func folder(t testing.TB, path string) string {
	t.Helper()
	module, below := ModulePath(path)
	_, root := Module(t, module)
	return filepath.Join(root, filepath.FromSlash(below))
}

func parsed(t testing.TB, root string) map[string][]*ast.File {
	t.Helper()
	out := map[string][]*ast.File{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, filepath.Dir(path))
		below = filepath.ToSlash(below)
		out[below] = append(out[below], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatalf("no source in %s", root)
	}
	return out
}
