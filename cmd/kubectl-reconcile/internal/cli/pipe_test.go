package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestPipe lets a command write to a pipe that somebody reads from, and then nobody. The test's own process lives on: the
// runtime raises SIGPIPE for the standard streams only.
func TestPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	out := EndOnBrokenPipe(writer, end)
	if _, err := fmt.Fprintln(out, "one"); err != nil || ctx.Err() != nil {
		t.Fatalf("writing to a reader: %v, %v", err, ctx.Err())
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(out, "two"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("writing to nobody: %v", err)
	}
	if !IsBrokenPipe(ctx) {
		t.Errorf("the command goes on: %v", context.Cause(ctx))
	}
}

func TestExitCode(t *testing.T) {
	broken := fmt.Errorf("writing the summary: %w", &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE})
	for _, tt := range []struct {
		reason string
		cause  error // of the end; nil if the command came to it by itself
		err    error
		code   int
		stderr string
	}{
		{"all is well", nil, nil, 0, ""},
		{"an error", nil, errors.New("no cluster"), 1, "error: no cluster\n"},
		{"Ctrl-C is told of by the command", context.Canceled, errors.New("interrupted"), 1, "error: interrupted\n"},
		{"nobody reads, and the command did not notice", broken, nil, BrokenPipeExitCode, ""},
		{"nobody reads, which every output says", broken, errors.Join(broken, WithHint(broken, "x"), context.Canceled), BrokenPipeExitCode, ""},
		{"nobody reads, and that is not all", broken, errors.Join(broken, errors.New("the Lease is lost")), BrokenPipeExitCode, "error: the Lease is lost\n"},
	} {
		ctx, end := context.WithCancelCause(t.Context())
		if tt.cause != nil {
			end(tt.cause)
		}
		streams, _, _, stderr := genericiooptions.NewTestIOStreams()
		if code := ExitCode(ctx, streams, tt.err); code != tt.code || stderr.String() != tt.stderr {
			t.Errorf("%s: code %d and stderr %q, want %d and %q", tt.reason, code, stderr, tt.code, tt.stderr)
		}
		end(nil)
	}
}
