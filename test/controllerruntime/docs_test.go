package controllerruntime

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentedPlugins: docs/sandbox.md has every admission plugin that the flags take, once, and no other.
func TestDocumentedPlugins(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "kubectl-reconcile", "__complete", "sandbox", "--enable-admission-plugins", "").Output()
	if err != nil {
		t.Fatalf("asking for completions: %v", err)
	}
	var known []string
	for word := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(word, ":") { // the directive of the shell
			known = append(known, word)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "sandbox.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| (?:on|off) \|`).FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, strings.Split(row[1], ", ")...)
	}
	slices.Sort(known)
	slices.Sort(documented)
	if len(known) == 0 {
		t.Fatalf("no plugin is completed:\n%s", out)
	}
	if diff := cmp.Diff(known, documented); diff != "" {
		t.Errorf("admission plugins (-known +documented):\n%s", diff)
	}
}
