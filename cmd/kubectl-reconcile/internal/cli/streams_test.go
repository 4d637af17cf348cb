package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// TestPipe writes to a pipe before and after its reader closes it. The process of the test is not killed: the
// runtime raises SIGPIPE for the standard streams only.
func TestPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	out := CancelOnBrokenPipe(writer, end)
	if _, err := fmt.Fprintln(out, "one"); err != nil || ctx.Err() != nil {
		t.Fatalf("writing to a reader: %v, %v", err, ctx.Err())
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(out, "two"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("writing to a closed pipe: %v", err)
	}
	if !IsBrokenPipe(ctx) {
		t.Errorf("the context is not cancelled: %v", context.Cause(ctx))
	}
}

// TestWithProgress: progress is shown only if all output goes to terminals.
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
