package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"syscall"
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
