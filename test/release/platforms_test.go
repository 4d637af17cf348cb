package release

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// foreign are targets of a release that have, together, each system and each architecture that is not the usual one.
var foreign = []string{"linux_arm64", "darwin_arm64", "windows_amd64"}

// TestCompiles checks the types of all code of the program for other platforms, without making machine code: that would
// take minutes for each. Of packages that are not ours, only what they declare is checked. `make release-check` builds
// all platforms.
func TestCompiles(t *testing.T) {
	if os.Getenv("SNAPSHOT") == "" {
		t.Skip("it takes a minute: `make test-snapshot` runs it")
	}
	build := readSettings(t).Builds[0]
	for _, target := range foreign {
		if !slices.Contains(build.Targets, target) {
			t.Errorf("%s is not released", target)
		}
		system, arch, _ := strings.Cut(target, "_")
		config := &packages.Config{
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
				packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes | packages.NeedModule,
			Context:    t.Context(),
			Dir:        "../..",
			Env:        append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false"),
			BuildFlags: []string{"-tags=" + strings.Join(build.Tags, ",")},
		}
		loaded, err := packages.Load(config, "./cmd/...", "./pkg/...")
		if err != nil {
			t.Fatal(err)
		}
		packages.Visit(loaded, nil, func(p *packages.Package) {
			for _, e := range p.Errors {
				t.Errorf("%s: %v", target, e)
			}
		})
	}
}
