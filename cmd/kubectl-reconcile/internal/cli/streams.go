package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// pipe is a standard stream. When it is closed by its reader, as by head after enough lines, it cancels the command
// as an interrupt does, so that the command cleans up.
type pipe struct {
	file *os.File
	end  context.CancelCauseFunc
}

// CancelOnBrokenPipe returns a writer to w that calls end, which cancels the context of the command, when a write
// fails because w is a closed pipe. It returns w itself if w is no file.
func CancelOnBrokenPipe(w io.Writer, end context.CancelCauseFunc) io.Writer {
	if file, ok := w.(*os.File); ok {
		return &pipe{file, end}
	}
	return w
}

// Write implements io.Writer.
func (p *pipe) Write(data []byte) (int, error) {
	n, err := p.file.Write(data)
	if errors.Is(err, syscall.EPIPE) {
		p.end(err)
	}
	return n, err
}

// Fd returns the descriptor of the file, by which callers find out whether it is a terminal.
func (p *pipe) Fd() uintptr { return p.file.Fd() }

// IsBrokenPipe reports whether ctx was cancelled by a closed pipe.
func IsBrokenPipe(ctx context.Context) bool { return errors.Is(context.Cause(ctx), syscall.EPIPE) }

// withoutBrokenPipe removes the errors that a closed pipe causes from those that err joins.
func withoutBrokenPipe(err error) error {
	return errors.Join(slices.DeleteFunc(FlattenErrors(err), func(e error) bool {
		return errors.Is(e, syscall.EPIPE) || errors.Is(e, context.Canceled)
	})...)
}

// WithProgress returns a Progress on stderr, and the streams that all other output must be written to. The Progress
// is nil if it is not wanted, or unless both stdout and stderr are terminals: the program that reads a pipe may use
// the same screen.
func WithProgress(streams genericiooptions.IOStreams, wanted bool) (*render.Progress, genericiooptions.IOStreams) {
	if !wanted || !render.IsTerminal(streams.Out) || !render.IsTerminal(streams.ErrOut) {
		return nil, streams
	}
	p := render.NewProgress(streams.ErrOut, clock.RealClock{})
	streams.Out, streams.ErrOut = p.Writer(streams.Out), p.Writer(streams.ErrOut)
	return p, streams
}

// WithReadingProgress is WithProgress for commands that read a cluster. Where nothing is to be shown, the Progress is
// one that writes a line if reading takes long.
func WithReadingProgress(
	streams genericiooptions.IOStreams, wanted bool,
) (*render.Progress, genericiooptions.IOStreams) {
	p, streams := WithProgress(streams, wanted)
	if p == nil {
		p = render.NewPlainProgress(streams.ErrOut, clock.RealClock{})
	}
	return p, streams
}

// WithRunProgress is WithProgress for commands that run until a goal is reached. In a pipe the Progress writes a line
// when nothing has been written for long.
func WithRunProgress(
	streams genericiooptions.IOStreams, wanted bool,
) (*render.Progress, genericiooptions.IOStreams) {
	p, streams := WithProgress(streams, wanted)
	if p == nil && wanted {
		p = render.NewPipeProgress(streams.ErrOut, clock.RealClock{})
		streams.Out, streams.ErrOut = p.Writer(streams.Out), p.Writer(streams.ErrOut)
	}
	return p, streams
}

// ProgressText returns a text for Progress.Show that does not change.
func ProgressText(format string, args ...any) func(context.Context) string {
	text := fmt.Sprintf(format, args...)
	return func(context.Context) string { return text }
}

// SetUpKlog sets what libraries may print on stderr with the global logger of klog: nothing, since what controllers
// log is in the trace, except at the detail Everything. The logger is one for the process: a command calls this once,
// at its start.
func SetUpKlog(detail render.Detail) error {
	settings := map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"}
	if detail >= render.Everything {
		settings = map[string]string{"logtostderr": "true", "v": "4"}
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	klog.SetOutput(io.Discard)
	for name, value := range settings {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("setting up the log of libraries: %w", err)
		}
	}
	return nil
}
