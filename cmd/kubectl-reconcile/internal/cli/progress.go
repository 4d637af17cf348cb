package cli

import (
	"context"
	"fmt"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// WithProgress returns a Progress on stderr, and the streams for all else that is written meanwhile. It is nil if it is
// not wanted, or unless both stdout and stderr are terminals: what reads a pipe may use the same screen.
func WithProgress(streams genericiooptions.IOStreams, wanted bool) (*render.Progress, genericiooptions.IOStreams) {
	if !wanted || !render.IsTerminal(streams.Out) || !render.IsTerminal(streams.ErrOut) {
		return nil, streams
	}
	p := render.NewProgress(streams.ErrOut, clock.RealClock{})
	streams.Out, streams.ErrOut = p.Writer(streams.Out), p.Writer(streams.ErrOut)
	return p, streams
}

// Constant is a text of a Progress that does not change.
func Constant(format string, args ...any) func(context.Context) string {
	text := fmt.Sprintf(format, args...)
	return func(context.Context) string { return text }
}
