package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// blocks is `blocks N`: stdout has at least one block and no more than N of them, and the causes in it name no
// reconcile that has none.
func blocks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: blocks N")
	}
	most, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(checkBlocks(ts.ReadFile("stdout"), most))
}

var (
	// headLine begins a block, or in brackets a line in place of one.
	headLine = regexp.MustCompile(`(?m)^(\(?)\+\d+\.\d{3}s  .*?  #(\d+)\b`)
	// pointer is what a cause says of another reconcile.
	pointer = regexp.MustCompile(`(?m)^(?:  because| {9})  .*?(?:written by \S+|retry \d+ of|set by|reconcile) #(\d+)`)
)

func checkBlocks(text string, most int) error {
	n, shown := 0, map[string]bool{}
	for _, m := range headLine.FindAllStringSubmatch(text, -1) {
		shown[m[2]] = true
		if m[1] == "" {
			n++
		}
	}
	if n == 0 || n > most {
		return fmt.Errorf("%d blocks, want 1 to %d", n, most)
	}
	for _, m := range pointer.FindAllStringSubmatch(text, -1) {
		if !shown[m[1]] {
			return fmt.Errorf("a cause points at #%s, which is not shown: %s", m[1], strings.TrimSpace(m[0]))
		}
	}
	return nil
}

func TestCheckBlocks(t *testing.T) {
	const text = "+0.001s  a  b/c  #1\n  because  x\n\n(+0.002s  a  b/c  #2  conflict: y)\n\n+0.003s  a  b/c  #3\n  because  retry 1 of #2, after 5ms\n           ADDED Pod v1   written by a #1\n"
	for _, tt := range []struct {
		reason, text string
		most         int
		ok           bool
	}{
		{"all is there", text, 2, true},
		{"too many", text, 1, false},
		{"none", "", 1, false},
		{"a cause that is not there", text + "           ADDED Pod v2   written by a #4\n", 2, false},
		{"nor this", text + "           timer of 1m set by #4\n", 2, false},
	} {
		if err := checkBlocks(tt.text, tt.most); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.reason, err)
		}
	}
}
