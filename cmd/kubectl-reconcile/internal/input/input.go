package input

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/imports"
)

// stdin is the name of standard input on a command line.
const stdin = "-"

// Open opens files as one recording: "-" is standard input. What a file is, its content says: a recording, or an
// import. Several are merged: by time, and where there are no times by resource version.
//
// The recording is read as it arrives by Next, which blocks while a pipe does. Info and Seek need the end. Records stay
// valid. When ctx is done all of them return, with the error of an interruption. close must be called after the last
// use.
func Open(
	ctx context.Context, streams genericiooptions.IOStreams, files []string,
) (rec replay.Recording, closeAll func() error, err error) {
	if len(files) == 0 {
		return nil, nil, cli.WithHint(errors.New("no recording is given"), "name files, or - for standard input")
	}
	var all []*opened
	closeFiles := func() error {
		var errs []error
		for _, o := range all {
			errs = append(errs, o.close())
		}
		return errors.Join(errs...)
	}
	seen := map[string]bool{}
	for _, file := range files {
		if seen[file] {
			err = errors.Join(err, fmt.Errorf("%q is given twice", file))
			continue
		}
		seen[file] = true
		o, one := open(ctx, streams.In, file)
		if err = errors.Join(err, one); one == nil {
			all = append(all, o)
		}
	}
	if err == nil {
		rec, err = merge(all)
	}
	if interrupted := interruption(ctx); interrupted != nil {
		err = interrupted
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeFiles())
	}
	closeAll = closeFiles
	if b, ok := rec.(*buffered); ok {
		closeAll = func() error { return errors.Join(b.close(), closeFiles()) }
	}
	return interruptible{rec, ctx}, closeAll, nil
}

// opened is a file that was opened.
type opened struct {
	name string
	// Source is a replay.Recording if it can be read from any moment.
	replay.Source
	close func() error
}

// open opens a file.
func open(ctx context.Context, in io.Reader, name string) (*opened, error) {
	if name == stdin {
		if render.IsTerminal(in) {
			return nil, cli.WithHint(errors.New("standard input is a terminal"),
				"pipe into it: kubectl get pods -w --output-watch-events -o json | kubectl reconcile replay -")
		}
		return openPipe(ctx, in, name, closerOf(in))
	}
	f, err := openPath(ctx, name)
	if err != nil {
		return nil, openingError(name, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = errDirectory
	case !info.Mode().IsRegular():
		return openPipe(ctx, f, name, f.Close)
	default:
		var source replay.Source
		if source, err = openFile(file{f, ctx}, info.Size()); err == nil {
			return &opened{name, source, f.Close}, nil
		}
	}
	return nil, errors.Join(openingError(name, err), f.Close())
}

// openPipe opens what can be read only once, and may block.
func openPipe(ctx context.Context, in io.Reader, name string, closeIn func() error) (*opened, error) {
	p := newPipe(ctx, in)
	closeAll := func() error {
		p.close()
		return closeIn()
	}
	source, err := openReader(ctx, p)
	if err != nil {
		return nil, errors.Join(openingError(name, err), closeAll())
	}
	return &opened{name, source, closeAll}, nil
}

// closerOf returns what closes a reader, if it can be closed.
func closerOf(r io.Reader) func() error {
	if c, ok := r.(io.Closer); ok {
		return c.Close
	}
	return func() error { return nil }
}

// openFile returns the source that a regular file has.
func openFile(f file, size int64) (replay.Source, error) {
	begin := make([]byte, recordingBegin)
	if n, err := f.ReadAt(begin, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	} else if replay.IsRecording(begin[:n]) {
		return replay.Open(f, size, replay.ReaderOptions{})
	}
	return openReader(f.ctx, f)
}

// openReader returns the source that a reader has.
func openReader(ctx context.Context, r io.Reader) (replay.Source, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	begin, err := buffered.Peek(recordingBegin)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if replay.IsRecording(begin) {
		return replay.NewStreamReader(buffered, replay.ReaderOptions{})
	}
	return imports.Open(ctx, buffered)
}

// recordingBegin is how many bytes are looked at to tell a recording from imports: what begins as a recording and is
// none is reported as a recording that cannot be read.
const recordingBegin = 4
