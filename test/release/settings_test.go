package release

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// settings are those of .goreleaser.yaml that are compared with other files.
type settings struct {
	Builds []struct {
		Targets, Tags, Flags, GCFlags, LDFlags, Env []string
	}
}

func readSettings(t *testing.T) settings {
	t.Helper()
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var s settings
	if err := yaml.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Builds) != 1 {
		t.Fatalf("there are %d builds, want one", len(s.Builds))
	}
	return s
}

// TestFlags compares the flags with those of `make build`, whose size `make size` checks.
func TestFlags(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	build := readSettings(t).Builds[0]
	variable := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `\s*:= (.*)$`).FindSubmatch(makefile)
		if m == nil {
			t.Fatalf("the Makefile does not set %s", name)
		}
		return string(m[1])
	}
	flags := strings.ReplaceAll(variable("LDFLAGS"), "$(VERSION)", "v{{ .Version }}")
	if diff := cmp.Diff(flags, strings.Join(build.LDFlags, " ")); diff != "" {
		t.Errorf("flags of the linker (-Makefile +.goreleaser.yaml):\n%s", diff)
	}
	const each = "$(foreach module,$(NOINLINE),-gcflags=$(module)/...=-l)"
	if got := variable("GCFLAGS"); got != each {
		t.Errorf("GCFLAGS of the Makefile are %s, want %s", got, each)
	}
	var notInlined []string
	for module := range strings.FieldsSeq(variable("NOINLINE")) {
		notInlined = append(notInlined, module+"/...=-l")
	}
	if diff := cmp.Diff(notInlined, build.GCFlags); diff != "" {
		t.Errorf("flags of the compiler (-Makefile +.goreleaser.yaml):\n%s", diff)
	}
	if diff := cmp.Diff(variable("TAGS"), strings.Join(build.Tags, ",")); diff != "" {
		t.Errorf("tags (-Makefile +.goreleaser.yaml):\n%s", diff)
	}
	if !slices.Contains(build.Env, "CGO_ENABLED=0") {
		t.Error("with cgo, the linker must keep all code: CGO_ENABLED=0 is not set")
	}
}

// TestPlatforms compares the platforms with those of the manifests of krew.
func TestPlatforms(t *testing.T) {
	manifest, err := os.ReadFile("../../krew/reconcile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var selected []string
	for _, m := range regexp.MustCompile(`os: (\w+)\n\s+arch: (\w+)\n`).FindAllSubmatch(manifest, -1) {
		selected = append(selected, string(m[1])+"_"+string(m[2]))
	}
	if diff := cmp.Diff(selected, readSettings(t).Builds[0].Targets); diff != "" {
		t.Errorf("platforms (-krew/reconcile.yaml +.goreleaser.yaml):\n%s", diff)
	}
}
