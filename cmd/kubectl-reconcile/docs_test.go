//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// module is the folder of the module, and states that of the scripts that prepare what blocks are run in.
const (
	module = "../.."
	states = "testdata/docs"
)

// usualState is that of blocks that name none: no cluster, and a copy of examples/.
const usualState = "clone"

// runElsewhere are pages whose blocks of commands another test runs, with a kubectl that it has built.
var runElsewhere = map[string]string{"docs/quickstart.md": "test/kubectl/pages_test.go"}

// docBlock is a fenced block of a page.
type docBlock struct {
	page     string // relative to the module, with slashes
	line     int    // of the fence
	language string
	lines    []string
	// mark is the text of the comment right before the block, if there is one.
	mark string
}

func (b *docBlock) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// isRun reports whether the block is one of commands.
func (b *docBlock) isRun() bool { return b.language == "sh" || b.language == "console" }

var (
	fence   = regexp.MustCompile("^( *)```(\\S*)$")
	comment = regexp.MustCompile(`^ *<!-- (.*) -->$`)
)

// blocksOf returns the fenced blocks of a page.
func blocksOf(page, text string) ([]*docBlock, error) {
	var out []*docBlock
	var open *docBlock
	indent, mark := "", ""
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != nil && m != nil:
			out, open, mark = append(out, open), nil, ""
		case open != nil:
			open.lines = append(open.lines, strings.TrimPrefix(line, indent))
		case m != nil:
			indent, open = m[1], &docBlock{page: page, line: i + 1, language: m[2], mark: mark}
		default:
			if c := comment.FindStringSubmatch(line); c != nil {
				mark = c[1]
			} else if strings.TrimSpace(line) != "" {
				mark = ""
			}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block does not end", open)
	}
	return out, nil
}

// state returns the name of the script that prepares what the block is run in, or "" if it is not run. An error tells how
// the block has to be marked.
func (b *docBlock) state() (string, error) {
	if reason, ok := strings.CutPrefix(b.mark, "not run:"); ok {
		if strings.TrimSpace(reason) == "" {
			return "", fmt.Errorf("%s: the mark gives no reason: <!-- not run: REASON -->", b)
		}
		return "", nil
	}
	if !b.isRun() || runElsewhere[b.page] != "" {
		return "", nil
	}
	if name, ok := strings.CutPrefix(b.mark, "in: "); ok {
		if _, err := os.Stat(filepath.Join(states, name+".txtar")); err != nil {
			return "", fmt.Errorf("%s: <!-- in: %s -->: %w", b, name, err)
		}
		return name, nil
	}
	if b.language == "console" && (len(b.lines) == 0 || !strings.HasPrefix(b.lines[0], "$ ")) {
		return "", fmt.Errorf("%s: a console block begins with `$ COMMAND`; one of text only is ```text", b)
	}
	return usualState, nil
}

// check reports what is wrong with a block that is not run.
func (b *docBlock) check() error {
	text := strings.Join(b.lines, "\n")
	switch b.language {
	case "yaml":
		decoder := yaml.NewYAMLToJSONDecoder(strings.NewReader(text))
		for {
			var document any
			if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("%s: %w", b, err)
			}
		}
	case "json":
		var document any
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			return fmt.Errorf("%s: %w", b, err)
		}
	case "go":
		var err error
		for _, around := range []string{"%s", "package p\n%s", "package p\nfunc _() {\n%s\n}"} {
			if _, err = parser.ParseFile(token.NewFileSet(), b.page, fmt.Sprintf(around, text), 0); err == nil {
				return nil
			}
		}
		return fmt.Errorf("%s: %w", b, err)
	case "sh", "console", "text", "make", "mermaid":
	default:
		return fmt.Errorf("%s: the block has no language: ```sh, console, yaml, json, go or text", b)
	}
	return nil
}

// docBlocks returns the blocks of the documentation, but those of the reference: its examples are those of the help of
// the commands, which a test of internal/root checks.
func docBlocks() ([]*docBlock, error) {
	pages := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(module, "docs"), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "reference":
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		page, err := filepath.Rel(module, path)
		pages = append(pages, filepath.ToSlash(page))
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []*docBlock
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(module, page))
		if err != nil {
			return nil, err
		}
		blocks, err := blocksOf(page, string(text))
		if err != nil {
			return nil, err
		}
		out = append(out, blocks...)
	}
	return out, nil
}

// TestDocBlocks: each block of the documentation is run or is marked, and others than commands are what they are said to
// be. TestDocs runs the blocks.
func TestDocBlocks(t *testing.T) {
	blocks, err := docBlocks()
	if err != nil {
		t.Fatal(err)
	}
	run, marked := 0, 0
	var used []string
	for _, b := range blocks {
		state, err := b.state()
		if err != nil {
			t.Error(err)
			continue
		}
		if err := b.check(); err != nil {
			t.Error(err)
		}
		switch {
		case state != "":
			run++
			used = append(used, state)
		case b.mark != "":
			marked++
		}
	}
	t.Logf("%d blocks, of which %d are run here and %d are marked as not run", len(blocks), run, marked)
	scripts, err := filepath.Glob(filepath.Join(states, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^shown\b`).Match(text) {
			t.Errorf("%s does not run blocks: it has no line `shown`", script)
		}
		if !slices.Contains(used, strings.TrimSuffix(filepath.Base(script), ".txtar")) {
			t.Errorf("%s is the state of no block", script)
		}
	}
	for page, test := range runElsewhere {
		text, err := os.ReadFile(filepath.Join(module, test))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"`+filepath.Base(page)+`"`) {
			t.Errorf("%s does not run %s", test, page)
		}
	}
}

func TestMarksOfBlocks(t *testing.T) {
	for _, tt := range []struct {
		reason, text, state string
		problem             bool
	}{
		{"a block of commands is run", "```sh\nls\n```\n", usualState, false},
		{"in a list, too", "- x:\n\n  ```sh\n  ls\n  ```\n", usualState, false},
		{"text is not run", "```text\nls\n```\n", "", false},
		{"a reason is given", "<!-- not run: needs docker -->\n```sh\nls\n```\n", "", false},
		{"an empty line may follow", "<!-- not run: needs docker -->\n\n```sh\nls\n```\n", "", false},
		{"no reason is given", "<!-- not run: -->\n```sh\nls\n```\n", "", true},
		{"the mark is of another block", "<!-- not run: x -->\nText.\n```sh\nls\n```\n", usualState, false},
		{"there is no such state", "<!-- in: nowhere -->\n```sh\nls\n```\n", "", true},
		{"no command is shown", "```console\nNAME\n```\n", "", true},
	} {
		blocks, err := blocksOf("page.md", tt.text)
		if err != nil || len(blocks) != 1 {
			t.Fatalf("%s: %d blocks, %v", tt.reason, len(blocks), err)
		}
		state, err := blocks[0].state()
		if state != tt.state || (err != nil) != tt.problem {
			t.Errorf("%s: %q, %v", tt.reason, state, err)
		}
	}
	if _, err := blocksOf("page.md", "```sh\nls\n"); err == nil {
		t.Error("a block that does not end is no error")
	}
}
