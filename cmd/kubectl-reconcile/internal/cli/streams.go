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

// BrokenPipeExitCode is the exit code of a command whose output nobody reads any more: 128 and SIGPIPE, which a shell has of kubectl and
// of other programs then.
const BrokenPipeExitCode = 141

// pipe is a standard stream. Once nobody reads from it any more, as when head has its lines, it ends the command as an
// interrupt does, so that nothing is left behind.
type pipe struct {
	file *os.File
	end  context.CancelCauseFunc
}

// EndOnBrokenPipe returns a stream that ends the command; one that is no file as it is.
func EndOnBrokenPipe(w io.Writer, end context.CancelCauseFunc) io.Writer {
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

// Fd lets others find out whether it is a terminal.
func (p *pipe) Fd() uintptr { return p.file.Fd() }

// IsBrokenPipe reports whether a command was ended by a pipe.
func IsBrokenPipe(ctx context.Context) bool { return errors.Is(context.Cause(ctx), syscall.EPIPE) }

// withoutBrokenPipe leaves out the errors that say no more than that nobody reads the output.
func withoutBrokenPipe(err error) error {
	return errors.Join(slices.DeleteFunc(Flatten(err), func(e error) bool {
		return errors.Is(e, syscall.EPIPE) || errors.Is(e, context.Canceled)
	})...)
}

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

// SetUpKlog decides what upstream's libraries may print on stderr past all contexts: nothing, since what belongs to a
// reconcile is in the trace, unless everything is asked for. klog is one for the process, so this is called once, by a command.
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
