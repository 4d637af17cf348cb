package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sumOf returns a checksum that differs for each n.
func sumOf(n int) string { return fmt.Sprintf("%064x", n) }

// released returns the checksums of all archives of a version.
func released(version string) string {
	var b strings.Builder
	n := 0
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			n++
			extension := "tar.gz"
			if system == "windows" {
				extension = "zip"
			}
			fmt.Fprintf(&b, "%s  kubectl-reconcile_%s_%s_%s.%s\n", sumOf(n), version, system, arch, extension)
		}
	}
	fmt.Fprintf(&b, "%s  kubectl-reconcile_%s_linux_amd64.deb\n", sumOf(9), version)
	return b.String()
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		sums, base, want, wantErr, reason string
	}{
		{released("v0.1.0"), "", "uri: https://github.com/kubectl-reconcile/kubectl-reconcile/releases/download/v0.1.0/" +
			"kubectl-reconcile_v0.1.0_darwin_amd64.tar.gz\n      sha256: " + sumOf(3), "", "a release"},
		{released("v0.1.0-rc.1"), "http://127.0.0.1:1/x/", "uri: http://127.0.0.1:1/x/kubectl-reconcile_v0.1.0-rc.1_windows_arm64.zip" +
			"\n      sha256: " + sumOf(6), "", "archives from elsewhere"},
		{"", "", "", "there are no checksums", "an empty file"},
		{"not a checksum\n", "", "", `"not a checksum" is no checksum and name, as sha256sum writes them`, "another file"},
		{released("v0.1.0") + released("v0.2.0"), "", "", "the archives are of several versions, v0.1.0 and v0.2.0", "a folder with two releases"},
		{sumOf(1) + "  other.tar.gz\n", "", "", "no archive of a release is among the checksums", "checksums of another project"},
		{sumOf(1) + "  kubectl-reconcile_v0.1.0_linux_amd64.tar.gz\n", "", "",
			"there is no checksum of kubectl-reconcile_v0.1.0_linux_arm64.tar.gz", "a release of one platform"},
	} {
		dir := t.TempDir()
		sums := filepath.Join(dir, "checksums.txt")
		if err := os.WriteFile(sums, []byte(tt.sums), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		err := run([]string{"-checksums", sums, "-out", dir, "-base", tt.base}, &out, &errOut)
		if tt.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("%s: got error %v, want %q", tt.reason, err, tt.wantErr)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		written := []string{filepath.Join(dir, "plugins", "debug-controllers.yaml"), filepath.Join(dir, "plugins", "reconcile.yaml")}
		if diff := cmp.Diff(strings.Join(written, "\n")+"\n", out.String()); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", tt.reason, diff)
		}
		for _, file := range written {
			if manifest, err := os.ReadFile(file); err != nil || !strings.Contains(string(manifest), tt.want) {
				t.Errorf("%s: %s has no\n%s\n%v:\n%s", tt.reason, file, tt.want, err, manifest)
			}
		}
	}
}

// TestManifests compares the manifests: they install one program under two names. The rules are those of krew's index.
func TestManifests(t *testing.T) {
	texts := map[string]string{}
	for _, name := range []string{"reconcile", "debug-controllers"} {
		text, err := templates.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
		if got := strings.Count(texts[name], "from: LICENSE\n"); got != 6 {
			t.Errorf("%s: %d platforms have the licence, want all 6", name, got)
		}
		_, description, _ := strings.Cut(texts[name], "description: |\n")
		description, _, _ = strings.Cut(description, "  caveats:")
		for l := range strings.SplitSeq(description, "\n") {
			if len(strings.TrimPrefix(l, "    ")) > 80 {
				t.Errorf("%s: longer than 80 columns: %s", name, l)
			}
		}
		if strings.Contains(description, "kubectl ") {
			t.Errorf("%s: the description has examples of use", name)
		}
		_, short, _ := strings.Cut(texts[name], "shortDescription: ")
		if short, _, _ = strings.Cut(short, "\n"); short == "" || len(short) > 50 {
			t.Errorf("%s: %q has %d characters, of at most 50", name, short, len(short))
		}
	}
	renamed := strings.NewReplacer(
		"name: debug-controllers", "name: reconcile", "kubectl debug-controllers", "kubectl reconcile", "-debug_controllers", "-reconcile",
	).Replace(texts["debug-controllers"])
	if diff := cmp.Diff(texts["reconcile"], renamed); diff != "" {
		t.Errorf("the manifests differ in more than the name (-reconcile +debug-controllers):\n%s", diff)
	}
	bot, err := os.ReadFile("../.krew.yaml")
	if err != nil || string(bot) != texts["reconcile"] && string(bot) != texts["debug-controllers"] {
		t.Errorf("krew-release-bot reads .krew.yaml, which is neither of the manifests: %v", err)
	}
}
