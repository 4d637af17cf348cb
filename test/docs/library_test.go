package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// withoutIndent returns the lines of Go code without the blanks at their begin: a block has the code of a function
// without its indent.
func withoutIndent(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// TestLibraryBlocks: each block of Go of docs/library.md is code of an example, which is compiled and run.
func TestLibraryBlocks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/library.md"))
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, dir := range []string{"ownertree", "ownertree/treestatus", "replay/timeline", "runlocal", "runlocal/plan", "runlocal/runlocaltest", "runlocal/trace"} {
		text, err := os.ReadFile(filepath.Join(root, "pkg", dir, "example_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, withoutIndent(string(text)))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) < len(examples) {
		t.Errorf("%d blocks, fewer than examples", len(blocks))
	}
	all := strings.Join(examples, "\n")
	for _, block := range blocks {
		if code := withoutIndent(string(block[1])); !strings.Contains(all, code) {
			t.Errorf("no example has the block\n%s", block[1])
		}
	}
}
