package cli

import (
	"bytes"
	"os"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// TestWithProgress: progress is for who looks at a terminal, and for no other.
func TestWithProgress(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !render.IsTerminal(terminal) {
		t.Skip("no terminal")
	}
	t.Cleanup(func() { _ = terminal.Close() })
	for _, tt := range []struct {
		reason   string
		out, err bool // are terminals
		wanted   bool
		shown    bool
	}{
		{"a terminal", true, true, true, true},
		{"quiet, or for programs", true, true, false, false},
		{"stdout is a pipe, and what reads from it may have the screen", false, true, true, false},
		{"stderr is a pipe", true, false, true, false},
		{"both are", false, false, true, false},
	} {
		streams := genericiooptions.IOStreams{Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}
		if tt.out {
			streams.Out = terminal
		}
		if tt.err {
			streams.ErrOut = terminal
		}
		p, beside := WithProgress(streams, tt.wanted)
		if (p != nil) != tt.shown || (beside.Out != streams.Out) != tt.shown || (beside.ErrOut != streams.ErrOut) != tt.shown {
			t.Errorf("%s: progress %v, streams %T and %T", tt.reason, p, beside.Out, beside.ErrOut)
		}
		if render.IsTerminal(beside.Out) != tt.out {
			t.Errorf("%s: stdout is a terminal: %t", tt.reason, !tt.out)
		}
	}
}
