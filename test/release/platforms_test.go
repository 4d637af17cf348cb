package release

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// foreign are targets of a release that have, together, each system and each architecture that is not the usual one.
var foreign = []string{"linux_arm64", "darwin_arm64", "windows_amd64"}

// TestTypes checks the types of the program for other platforms, without compiling anything, which would take minutes for
// each. Of what is not in this module it reads the declarations only. `make release-check` vets and builds all platforms.
func TestTypes(t *testing.T) {
	if os.Getenv("SNAPSHOT") == "" {
		t.Skip("it takes half a minute: `make test-snapshot` runs it")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	build := readSettings(t).Builds[0]
	for _, target := range foreign {
		t.Run(target, func(t *testing.T) {
			if !slices.Contains(build.Targets, target) {
				t.Error("it is not released")
			}
			system, architecture, _ := strings.Cut(target, "_")
			loaded, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
					packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes | packages.NeedModule,
				Context:    t.Context(),
				Dir:        root,
				Env:        append(os.Environ(), "GOOS="+system, "GOARCH="+architecture, "CGO_ENABLED=0"),
				BuildFlags: []string{"-tags=" + strings.Join(build.Tags, ",")},
				ParseFile: func(files *token.FileSet, name string, text []byte) (*ast.File, error) {
					return parse(files, name, text, strings.HasPrefix(name, root+string(filepath.Separator)))
				},
			}, "./cmd/...", "./pkg/...")
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range loaded {
				for _, e := range p.Errors {
					t.Error(e)
				}
			}
		})
	}
}

// parse parses a file, without the bodies of functions if those are not wanted.
func parse(files *token.FileSet, name string, text []byte, bodies bool) (*ast.File, error) {
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if file == nil || bodies {
		return file, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
	return file, err
}
