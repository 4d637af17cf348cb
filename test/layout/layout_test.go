// Package layout tests the rules that hold the project together: which package may import which, and what go.mod holds.
package layout

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kubectl-reconcile/kubectl-reconcile/"

// edges are the imports among packages of ours: each that exists, and no other. A change of this table is a change of
// the architecture: docs/architecture.md draws it.
var edges = map[string][]string{
	"cmd/kubectl-reconcile":                    {"cmd/kubectl-reconcile/internal/heap", "cmd/kubectl-reconcile/internal/root"},
	"cmd/kubectl-reconcile/internal/apihealth": {},
	"cmd/kubectl-reconcile/internal/causetext": {"pkg/inspect", "pkg/ownertree/diagnosis"},
	"cmd/kubectl-reconcile/internal/cli":       {"cmd/kubectl-reconcile/internal/render"},
	"cmd/kubectl-reconcile/internal/compare": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/render",
		"cmd/kubectl-reconcile/internal/serve",
		"cmd/kubectl-reconcile/internal/session",
		"pkg/inspect/fields",
		"pkg/replay",
		"pkg/replay/redact",
		"pkg/runlocal/compare",
		"pkg/runlocal/controllers",
		"pkg/runlocal/playback",
		"pkg/runlocal/serving",
		"pkg/runlocal/trace",
	},
	"cmd/kubectl-reconcile/internal/complete": {"pkg/inspect/cluster", "pkg/inspect/fields"},
	"cmd/kubectl-reconcile/internal/completion": {
		"cmd/kubectl-reconcile/internal/cli",
	},
	"cmd/kubectl-reconcile/internal/connect": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/complete",
		"cmd/kubectl-reconcile/internal/render",
		"pkg/inspect",
		"pkg/inspect/cluster",
		"pkg/runlocal",
	},
	"cmd/kubectl-reconcile/internal/diagram": {"cmd/kubectl-reconcile/internal/render"},
	"cmd/kubectl-reconcile/internal/diff": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/connect",
		"cmd/kubectl-reconcile/internal/heap",
		"cmd/kubectl-reconcile/internal/moment",
		"cmd/kubectl-reconcile/internal/render",
		"cmd/kubectl-reconcile/internal/session",
		"pkg/inspect",
		"pkg/inspect/cluster",
		"pkg/inspect/fields",
		"pkg/inspect/v1alpha1",
		"pkg/ownertree/drift",
		"pkg/replay",
		"pkg/runlocal",
		"pkg/runlocal/api",
		"pkg/runlocal/nodes",
		"pkg/runlocal/plan",
		"pkg/runlocal/seed",
		"pkg/runlocal/trace",
	},
	"cmd/kubectl-reconcile/internal/envtest": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/heap",
		"cmd/kubectl-reconcile/internal/render",
		"cmd/kubectl-reconcile/internal/session",
		"pkg/runlocal",
		"pkg/runlocal/api",
		"pkg/runlocal/controllers",
		"pkg/runlocal/trace",
	},
	"cmd/kubectl-reconcile/internal/get": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/connect",
		"cmd/kubectl-reconcile/internal/moment",
		"cmd/kubectl-reconcile/internal/render",
		"pkg/inspect/cluster",
	},
	"cmd/kubectl-reconcile/internal/heap": {},
	"cmd/kubectl-reconcile/internal/input": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/render",
		"pkg/inspect/snapshot",
		"pkg/replay",
		"pkg/replay/imports",
	},
	"cmd/kubectl-reconcile/internal/keys": {"cmd/kubectl-reconcile/internal/render"},
	"cmd/kubectl-reconcile/internal/moment": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/complete",
		"cmd/kubectl-reconcile/internal/connect",
		"cmd/kubectl-reconcile/internal/input",
		"pkg/inspect/cluster",
		"pkg/inspect/snapshot",
		"pkg/replay",
		"pkg/runlocal/playback",
	},
	"cmd/kubectl-reconcile/internal/record": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/connect",
		"cmd/kubectl-reconcile/internal/recordfile",
		"cmd/kubectl-reconcile/internal/render",
		"pkg/inspect/cluster",
		"pkg/replay",
		"pkg/replay/recorder",
		"pkg/runlocal/trace",
	},
	"cmd/kubectl-reconcile/internal/recordfile": {
		"cmd/kubectl-reconcile/internal/cli",
		"pkg/replay",
		"pkg/replay/recorder",
		"pkg/replay/redact",
	},
	"cmd/kubectl-reconcile/internal/reference": {"cmd/kubectl-reconcile/internal/cli", "cmd/kubectl-reconcile/internal/root"},
	"cmd/kubectl-reconcile/internal/render": {
		"pkg/inspect",
		"pkg/inspect/fields",
		"pkg/runlocal/findings",
		"pkg/runlocal/interaction",
		"pkg/runlocal/recent",
		"pkg/runlocal/trace",
	},
	"cmd/kubectl-reconcile/internal/replay": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/compare",
		"cmd/kubectl-reconcile/internal/complete",
		"cmd/kubectl-reconcile/internal/input",
		"cmd/kubectl-reconcile/internal/keys",
		"cmd/kubectl-reconcile/internal/moment",
		"cmd/kubectl-reconcile/internal/render",
		"cmd/kubectl-reconcile/internal/serve",
		"cmd/kubectl-reconcile/internal/session",
		"cmd/kubectl-reconcile/internal/telemetry",
		"pkg/inspect/fields",
		"pkg/inspect/snapshot",
		"pkg/inspect/v1alpha1",
		"pkg/replay",
		"pkg/replay/exports",
		"pkg/replay/timeline",
		"pkg/runlocal",
		"pkg/runlocal/api",
		"pkg/runlocal/controllers",
		"pkg/runlocal/findings",
		"pkg/runlocal/playback",
		"pkg/runlocal/recent",
		"pkg/runlocal/trace",
	},
	"cmd/kubectl-reconcile/internal/root": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/completion",
		"cmd/kubectl-reconcile/internal/diff",
		"cmd/kubectl-reconcile/internal/envtest",
		"cmd/kubectl-reconcile/internal/get",
		"cmd/kubectl-reconcile/internal/record",
		"cmd/kubectl-reconcile/internal/replay",
		"cmd/kubectl-reconcile/internal/run",
		"cmd/kubectl-reconcile/internal/sandbox",
		"cmd/kubectl-reconcile/internal/status",
		"cmd/kubectl-reconcile/internal/tree",
		"cmd/kubectl-reconcile/internal/version",
		"cmd/kubectl-reconcile/internal/why",
	},
	"cmd/kubectl-reconcile/internal/run": {
		"cmd/kubectl-reconcile/internal/apihealth",
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/connect",
		"cmd/kubectl-reconcile/internal/heap",
		"cmd/kubectl-reconcile/internal/render",
		"cmd/kubectl-reconcile/internal/session",
		"cmd/kubectl-reconcile/internal/telemetry",
		"pkg/inspect/v1alpha1",
		"pkg/runlocal",
		"pkg/runlocal/access",
		"pkg/runlocal/api",
		"pkg/runlocal/controllers",
		"pkg/runlocal/guard",
		"pkg/runlocal/lease",
		"pkg/runlocal/trace",
	},
	"cmd/kubectl-reconcile/internal/sandbox": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/connect",
		"cmd/kubectl-reconcile/internal/heap",
		"cmd/kubectl-reconcile/internal/render",
		"cmd/kubectl-reconcile/internal/session",
		"pkg/runlocal",
		"pkg/runlocal/api",
	},
	"cmd/kubectl-reconcile/internal/serve": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/input",
		"cmd/kubectl-reconcile/internal/keys",
		"cmd/kubectl-reconcile/internal/render",
		"pkg/replay",
		"pkg/runlocal/api",
		"pkg/runlocal/playback",
	},
	"cmd/kubectl-reconcile/internal/session": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/connect",
		"cmd/kubectl-reconcile/internal/diagram",
		"cmd/kubectl-reconcile/internal/recordfile",
		"cmd/kubectl-reconcile/internal/render",
		"cmd/kubectl-reconcile/internal/telemetry",
		"pkg/inspect/cluster",
		"pkg/inspect/fields",
		"pkg/inspect/v1alpha1",
		"pkg/replay",
		"pkg/replay/recorder",
		"pkg/replay/timeline",
		"pkg/runlocal",
		"pkg/runlocal/api",
		"pkg/runlocal/controllers",
		"pkg/runlocal/findings",
		"pkg/runlocal/interaction",
		"pkg/runlocal/nodes",
		"pkg/runlocal/recent",
		"pkg/runlocal/seed",
		"pkg/runlocal/serving",
		"pkg/runlocal/trace",
	},
	"cmd/kubectl-reconcile/internal/status": {
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/connect",
		"cmd/kubectl-reconcile/internal/moment",
		"cmd/kubectl-reconcile/internal/render",
		"cmd/kubectl-reconcile/internal/watchloop",
		"pkg/inspect",
		"pkg/inspect/cluster",
		"pkg/inspect/snapshot",
		"pkg/inspect/v1alpha1",
		"pkg/ownertree",
		"pkg/ownertree/treestatus",
	},
	"cmd/kubectl-reconcile/internal/telemetry": {"pkg/runlocal/findings", "pkg/runlocal/serving", "pkg/runlocal/tap", "pkg/runlocal/trace"},
	"cmd/kubectl-reconcile/internal/tree": {
		"cmd/kubectl-reconcile/internal/causetext",
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/connect",
		"cmd/kubectl-reconcile/internal/diagram",
		"cmd/kubectl-reconcile/internal/moment",
		"cmd/kubectl-reconcile/internal/render",
		"cmd/kubectl-reconcile/internal/watchloop",
		"pkg/inspect",
		"pkg/inspect/cluster",
		"pkg/inspect/v1alpha1",
		"pkg/ownertree",
		"pkg/ownertree/treestatus",
	},
	"cmd/kubectl-reconcile/internal/version": {
		"cmd/kubectl-reconcile/internal/cli",
		"pkg/inspect/v1alpha1",
		"pkg/runlocal/api",
	},
	"cmd/kubectl-reconcile/internal/watchloop": {},
	"cmd/kubectl-reconcile/internal/why": {
		"cmd/kubectl-reconcile/internal/causetext",
		"cmd/kubectl-reconcile/internal/cli",
		"cmd/kubectl-reconcile/internal/connect",
		"cmd/kubectl-reconcile/internal/moment",
		"cmd/kubectl-reconcile/internal/render",
		"cmd/kubectl-reconcile/internal/watchloop",
		"pkg/inspect",
		"pkg/inspect/cluster",
		"pkg/inspect/fields",
		"pkg/inspect/v1alpha1",
		"pkg/ownertree",
		"pkg/ownertree/diagnosis",
		"pkg/ownertree/treestatus",
		"pkg/runlocal",
		"pkg/runlocal/api",
		"pkg/runlocal/trial",
	},
	"pkg/inspect":                     {"pkg/inspect/argocd", "pkg/inspect/fields", "pkg/internal/untyped"},
	"pkg/inspect/argocd":              {},
	"pkg/inspect/cluster":             {},
	"pkg/inspect/fields":              {"pkg/internal/untyped"},
	"pkg/inspect/snapshot":            {"pkg/internal/rawjson"},
	"pkg/inspect/v1alpha1":            {"pkg/inspect", "pkg/inspect/cluster", "pkg/inspect/fields", "pkg/replay/timeline"},
	"pkg/inspect/v1alpha1/schematest": {},
	"pkg/internal/rawjson":            {},
	"pkg/internal/untyped":            {},
	"pkg/ownertree":                   {"pkg/inspect", "pkg/inspect/cluster", "pkg/internal/untyped"},
	"pkg/ownertree/diagnosis": {
		"pkg/inspect",
		"pkg/inspect/cluster",
		"pkg/inspect/fields",
		"pkg/internal/untyped",
		"pkg/ownertree",
		"pkg/ownertree/treestatus",
	},
	"pkg/ownertree/drift":      {"pkg/inspect", "pkg/inspect/fields"},
	"pkg/ownertree/treestatus": {"pkg/inspect", "pkg/inspect/cluster", "pkg/inspect/fields", "pkg/ownertree"},
	"pkg/replay":               {"pkg/inspect/snapshot"},
	"pkg/replay/exports":       {"pkg/replay"},
	"pkg/replay/imports": {
		"pkg/inspect/cluster",
		"pkg/inspect/snapshot",
		"pkg/internal/rawjson",
		"pkg/internal/untyped",
		"pkg/replay",
		"pkg/runlocal/trace",
	},
	"pkg/replay/internal/apijson": {"pkg/internal/rawjson"},
	"pkg/replay/recorder":         {"pkg/inspect/cluster", "pkg/inspect/snapshot", "pkg/replay", "pkg/replay/internal/apijson"},
	"pkg/replay/redact":           {"pkg/internal/rawjson", "pkg/replay"},
	"pkg/replay/timeline": {
		"pkg/inspect",
		"pkg/inspect/cluster",
		"pkg/inspect/fields",
		"pkg/inspect/snapshot",
		"pkg/internal/rawjson",
		"pkg/replay",
		"pkg/runlocal/findings",
		"pkg/runlocal/trace",
	},
	"pkg/runlocal": {
		"pkg/inspect",
		"pkg/inspect/cluster",
		"pkg/inspect/fields",
		"pkg/ownertree/treestatus",
		"pkg/runlocal/access",
		"pkg/runlocal/api",
		"pkg/runlocal/controllers",
		"pkg/runlocal/guard",
		"pkg/runlocal/internal/apirequest",
		"pkg/runlocal/lease",
		"pkg/runlocal/nodes",
		"pkg/runlocal/seed",
		"pkg/runlocal/serving",
		"pkg/runlocal/tap",
		"pkg/runlocal/trace",
	},
	"pkg/runlocal/access":       {"pkg/inspect/cluster", "pkg/runlocal/controllers"},
	"pkg/runlocal/api":          {"pkg/inspect/snapshot", "pkg/runlocal/api/memstore", "pkg/runlocal/serving"},
	"pkg/runlocal/api/apitest":  {"pkg/runlocal/api"},
	"pkg/runlocal/api/memstore": {},
	"pkg/runlocal/compare": {
		"pkg/inspect/cluster",
		"pkg/inspect/fields",
		"pkg/inspect/snapshot",
		"pkg/internal/untyped",
		"pkg/replay",
		"pkg/replay/redact",
		"pkg/runlocal",
		"pkg/runlocal/api",
		"pkg/runlocal/controllers",
		"pkg/runlocal/playback",
		"pkg/runlocal/tap",
		"pkg/runlocal/trace",
	},
	"pkg/runlocal/controllers":         {"pkg/runlocal/tap"},
	"pkg/runlocal/engine":              {"pkg/runlocal/trace"},
	"pkg/runlocal/guard":               {"pkg/inspect/snapshot", "pkg/runlocal/internal/apirequest"},
	"pkg/runlocal/internal/apirequest": {},
	"pkg/runlocal/lease":               {},
	"pkg/runlocal/nodes":               {"pkg/inspect/snapshot", "pkg/runlocal/engine", "pkg/runlocal/tap"},
	"pkg/runlocal/plan": {
		"pkg/inspect/fields",
		"pkg/inspect",
		"pkg/inspect/cluster",
		"pkg/inspect/snapshot",
		"pkg/ownertree/drift",
		"pkg/runlocal",
		"pkg/runlocal/api",
		"pkg/runlocal/controllers",
		"pkg/runlocal/nodes",
		"pkg/runlocal/seed",
		"pkg/runlocal/tap",
		"pkg/runlocal/trace",
	},
	"pkg/runlocal/playback":              {"pkg/inspect/snapshot", "pkg/replay", "pkg/runlocal/api"},
	"pkg/runlocal/playback/playbacktest": {"pkg/replay", "pkg/runlocal/playback"},
	"pkg/runlocal/seed":                  {"pkg/inspect/cluster", "pkg/inspect/snapshot", "pkg/runlocal/api"},
	"pkg/runlocal/runlocaltest":          {"pkg/runlocal", "pkg/runlocal/findings", "pkg/runlocal/trace"},
	"pkg/runlocal/recent":                {},
	"pkg/runlocal/serving":               {},
	"pkg/runlocal/tap": {
		"pkg/inspect/fields",
		"pkg/inspect/snapshot",
		"pkg/runlocal/internal/apirequest",
		"pkg/runlocal/recent",
		"pkg/runlocal/trace",
	},
	"pkg/runlocal/findings": {"pkg/inspect/fields", "pkg/runlocal/recent", "pkg/runlocal/trace"},
	"pkg/runlocal/interaction": {
		"pkg/inspect/fields",
		"pkg/runlocal/findings",
		"pkg/runlocal/recent",
		"pkg/runlocal/trace",
	},
	"pkg/runlocal/trace":  {"pkg/inspect/fields", "pkg/runlocal/recent"},
	"pkg/runlocal/trial":  {"pkg/runlocal", "pkg/runlocal/controllers", "pkg/runlocal/trace"},
	"test/docs":           {},
	"test/install":        {},
	"test/layout":         {},
	"test/mirrored":       {},
	"test/provisioner":    {"pkg/runlocal/nodes"},
	"test/release":        {},
	"test/upstreamsource": {},
}

// terminal are packages that only cmd may import: data comes out of pkg, text is made in cmd.
var terminal = []string{"github.com/spf13/cobra", "github.com/olekukonko/tablewriter", "github.com/fatih/color"}

type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func TestImportDirections(t *testing.T) {
	packages := list(t)
	if len(packages) < 5 {
		t.Fatalf("go list found %d packages of ours, which cannot be all", len(packages))
	}
	for _, p := range packages {
		ours := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := edges[ours]
		if !known {
			t.Errorf("%s: no row of edges says what it may import", ours)
		}
		for _, e := range allowed {
			if !slices.Contains(p.Imports, module+e) {
				t.Errorf("%s may import %s, but does not: delete the edge", ours, e)
			}
		}
		for _, i := range p.Imports {
			if imported, ok := strings.CutPrefix(i, module); ok && !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s, which edges does not have", ours, imported)
			}
			if strings.HasPrefix(ours, "pkg/") && slices.Contains(terminal, i) {
				t.Errorf("%s imports %s, which is for cmd alone", ours, i)
			}
		}
	}
}

// TestNoProcessStreams: what is written to the process's streams from pkg reaches users past all options.
func TestNoProcessStreams(t *testing.T) {
	for _, p := range list(t) {
		if !strings.HasPrefix(strings.TrimPrefix(p.ImportPath, module), "pkg/") {
			continue
		}
		for _, file := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, stream := range []string{"os.Stdout", "os.Stderr", "os.Stdin"} {
				if strings.Contains(string(source), stream) {
					t.Errorf("%s/%s uses %s", p.ImportPath, file, stream)
				}
			}
		}
	}
}

// goMod is what `go mod edit -json` prints of go.mod.
type goMod struct {
	Require []struct{ Path, Version string }
	Replace []any
	Exclude []any
}

// TestModule: `go install …@version` refuses a module with replace or exclude, and a staging module at v0.0.0 does not
// exist.
func TestModule(t *testing.T) {
	var mod goMod
	if err := json.Unmarshal(goTool(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace) > 0 || len(mod.Exclude) > 0 {
		t.Errorf("go.mod has %d replace and %d exclude directives; it must have none", len(mod.Replace), len(mod.Exclude))
	}
	versions := map[string]string{}
	for _, r := range mod.Require {
		versions[r.Path] = r.Version
		if r.Version == "v0.0.0" {
			t.Errorf("%s is required at v0.0.0, which no proxy serves: run make tidy", r.Path)
		}
	}
	minor, ok := strings.CutPrefix(versions["k8s.io/kubernetes"], "v1.")
	if !ok {
		t.Fatalf("k8s.io/kubernetes is required at %q", versions["k8s.io/kubernetes"])
	}
	for staging := range stagingModules(t) {
		if v, required := versions[staging]; required && v != "v0."+minor {
			t.Errorf("%s is at %s beside k8s.io/kubernetes v1.%s", staging, v, minor)
		}
	}
}

// stagingModules are those that k8s.io/kubernetes requires at v0.0.0, because it holds them itself.
func stagingModules(t *testing.T) map[string]bool {
	t.Helper()
	var kubernetes struct{ GoMod string }
	if err := json.Unmarshal(goTool(t, "list", "-m", "-json", "k8s.io/kubernetes"), &kubernetes); err != nil {
		t.Fatal(err)
	}
	var mod goMod
	if err := json.Unmarshal(goTool(t, "mod", "edit", "-json", kubernetes.GoMod), &mod); err != nil {
		t.Fatal(err)
	}
	staging := map[string]bool{}
	for _, r := range mod.Require {
		if r.Version == "v0.0.0" {
			staging[r.Path] = true
		}
	}
	if len(staging) < 20 {
		t.Fatalf("found %d staging modules of Kubernetes, which cannot be all", len(staging))
	}
	return staging
}

// TestTidy: an untidy go.mod tells a reader wrongly what the project itself imports.
func TestTidy(t *testing.T) {
	if diff := goTool(t, "mod", "tidy", "-diff"); len(diff) > 0 {
		t.Errorf("go.mod is not tidy: run make tidy\n%s", diff)
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	// go test takes the result of an earlier run for this one's unless a directory that the test itself has read has
	// changed: it does not know what the go command reads.
	for _, dir := range []string{"../../cmd", "../../pkg"} {
		if err := filepath.WalkDir(dir, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			t.Fatal(err)
		}
	}
	out := goTool(t, "list", "-json=ImportPath,Dir,GoFiles,Imports", "./cmd/...", "./pkg/...")
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

// goTool runs the go command at the root of the module.
func goTool(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}
