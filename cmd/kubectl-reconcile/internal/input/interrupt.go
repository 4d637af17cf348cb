package input

import (
	"context"
	"io"
	"os"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// interruption is the error of what ended because ctx is done; nil if it is not.
func interruption(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return cli.Interruption(ctx, "while the input was read")
}

// interruptible is a recording whose methods end when ctx is done. What is read until then is not all: so an end or an
// error that a source reports then does not count.
type interruptible struct {
	replay.Recording
	ctx context.Context
}

var _ replay.Recording = interruptible{}

// either returns the interruption, if there is one, or err.
func (i interruptible) either(err error) error {
	if interrupted := interruption(i.ctx); interrupted != nil {
		return interrupted
	}
	return err
}

// Next implements replay.Source.
func (i interruptible) Next() (*replay.Record, error) {
	r, err := i.Recording.Next()
	return r, i.either(err)
}

// Info implements replay.Recording.
func (i interruptible) Info() (replay.Info, error) {
	info, err := i.Recording.Info()
	return info, i.either(err)
}

// Seek implements replay.Recording.
func (i interruptible) Seek(m replay.Moment) (*replay.State, error) {
	state, err := i.Recording.Seek(m)
	return state, i.either(err)
}

// Rewind implements replay.Recording.
func (i interruptible) Rewind() error { return i.either(i.Recording.Rewind()) }

// file is a regular file, of which nothing is read any more when ctx is done.
type file struct {
	*os.File
	ctx context.Context
}

// Read implements io.Reader.
func (f file) Read(p []byte) (int, error) {
	if err := interruption(f.ctx); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

// ReadAt implements io.ReaderAt.
func (f file) ReadAt(p []byte, at int64) (int, error) {
	if err := interruption(f.ctx); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, at)
}

// pipe reads from a reader that may block for long, such as standard input: when ctx is done, Read returns, and the
// reader is left to be read.
type pipe struct {
	ctx    context.Context
	chunks chan chunk
	closed chan struct{}
	// rest is what is left of the last chunk.
	rest chunk
}

// chunk is what one Read has returned.
type chunk struct {
	data []byte
	err  error
}

// chunkSize is how much is read at once.
const chunkSize = 64 << 10

// newPipe returns a pipe from in. Its goroutine ends after the next Read of in that returns, once ctx is done or the
// pipe is closed.
func newPipe(ctx context.Context, in io.Reader) *pipe {
	p := &pipe{ctx: ctx, chunks: make(chan chunk), closed: make(chan struct{})}
	go func() {
		// While one buffer is used the other one is filled: a chunk is taken when the one before was used.
		buffers := [2][]byte{make([]byte, chunkSize), make([]byte, chunkSize)}
		for n := 0; ; n++ {
			buffer := buffers[n%2]
			length, err := in.Read(buffer)
			select {
			case p.chunks <- chunk{buffer[:length], err}:
			case <-ctx.Done():
				return
			case <-p.closed:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return p
}

// Read implements io.Reader.
func (p *pipe) Read(to []byte) (int, error) {
	for len(p.rest.data) == 0 {
		if p.rest.err != nil {
			return 0, p.rest.err
		}
		select {
		case p.rest = <-p.chunks:
		case <-p.ctx.Done():
			return 0, interruption(p.ctx)
		}
	}
	n := copy(to, p.rest.data)
	p.rest.data = p.rest.data[n:]
	return n, nil
}

// close ends the goroutine. It must be called once.
func (p *pipe) close() { close(p.closed) }

// openPath opens a file. That of a named pipe waits until it is written to, or ctx is done.
func openPath(ctx context.Context, name string) (*os.File, error) {
	if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() || info.IsDir() {
		return os.Open(name) //nolint:gosec // G304: the file that the user asks for
	}
	type result struct {
		file *os.File
		err  error
	}
	done := make(chan result)
	go func() {
		file, err := os.Open(name) //nolint:gosec // G304: the file that the user asks for
		select {
		case done <- result{file, err}:
		case <-ctx.Done():
			if err == nil {
				_ = file.Close() // nothing was read
			}
		}
	}()
	select {
	case r := <-done:
		return r.file, r.err
	case <-ctx.Done():
		return nil, interruption(ctx)
	}
}
