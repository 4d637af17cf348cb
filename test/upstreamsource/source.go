// Package upstreamsource reads Kubernetes' own source, of the version that go.mod names, for tests that compare this
// project's tables with it. Importing what they look at would bring flags and metrics along, or is not possible because
// it is not exported. It is not for programs: they use what upstream exports.
package upstreamsource

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
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

// folder is where a package's source is.
func folder(t testing.TB, path string) string {
	t.Helper()
	found, err := build.Import(path, ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	return found.Dir
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
