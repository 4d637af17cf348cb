package input

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

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
// valid. close must be called after the last use, also while Next blocks, if standard input can be closed.
func Open(streams genericiooptions.IOStreams, files []string) (rec replay.Recording, closeAll func() error, err error) {
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
		o, one := open(streams.In, file)
		if err = errors.Join(err, one); one == nil {
			all = append(all, o)
		}
	}
	if err == nil {
		rec, err = merge(all)
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeFiles())
	}
	if b, ok := rec.(*buffered); ok {
		return rec, func() error { return errors.Join(b.close(), closeFiles()) }, nil
	}
	return rec, closeFiles, nil
}

// OpenContext is Open, but returns when ctx is done: standard input may have no first byte for long. Then it is left to
// be read.
func OpenContext(
	ctx context.Context, streams genericiooptions.IOStreams, files []string,
) (replay.Recording, func() error, error) {
	type result struct {
		rec   replay.Recording
		close func() error
		err   error
	}
	done := make(chan result)
	go func() {
		rec, closeAll, err := Open(streams, files)
		select {
		case done <- result{rec, closeAll, err}:
		case <-ctx.Done():
			if err == nil {
				_ = closeAll() // the process ends
			}
		}
	}()
	select {
	case r := <-done:
		return r.rec, r.close, r.err
	case <-ctx.Done():
		return nil, nil, cli.Interruption(ctx, "before the input began")
	}
}

// opened is a file that was opened.
type opened struct {
	name string
	// Source is a replay.Recording if it can be read from any moment.
	replay.Source
	close func() error
}

// open opens a file.
func open(in io.Reader, name string) (*opened, error) {
	if name == stdin {
		if render.IsTerminal(in) {
			return nil, cli.WithHint(errors.New("standard input is a terminal"),
				"pipe into it: kubectl get pods -w --output-watch-events -o json | kubectl reconcile replay -")
		}
		source, err := openReader(in)
		if err != nil {
			return nil, openingError(name, err)
		}
		return &opened{name, source, closerOf(in)}, nil
	}
	file, err := os.Open(name) //nolint:gosec // G304: the file that the user asks for
	if err != nil {
		return nil, openingError(name, err)
	}
	source, err := openFile(file)
	if err != nil {
		return nil, errors.Join(openingError(name, err), file.Close())
	}
	return &opened{name, source, file.Close}, nil
}

// closerOf returns what closes a reader, if it can be closed.
func closerOf(r io.Reader) func() error {
	if c, ok := r.(io.Closer); ok {
		return c.Close
	}
	return func() error { return nil }
}

// openFile returns the source that a file has. A pipe that has a name is read as standard input is.
func openFile(file *os.File) (replay.Source, error) {
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errDirectory
	case info.Mode().IsRegular():
		start := make([]byte, 4)
		if n, err := file.ReadAt(start, 0); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		} else if beginsRecording(start[:n]) {
			return replay.Open(file, info.Size(), replay.ReaderOptions{})
		}
	}
	return openReader(file)
}

// openReader returns the source that a reader has.
func openReader(r io.Reader) (replay.Source, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	start, err := buffered.Peek(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(start) > 0 && start[0] == recordingStart {
		if start, _ = buffered.Peek(4); beginsRecording(start) { // ends short if the input does
			return replay.NewStreamReader(buffered, replay.ReaderOptions{})
		}
	}
	return imports.Open(buffered)
}

// recordingStart is the first byte of a recording.
const recordingStart = 0x50

// beginsRecording reports whether an input begins as recordings do: with a skippable frame of zstd of the first kind.
func beginsRecording(start []byte) bool {
	return string(start) == string([]byte{recordingStart, 0x2a, 0x4d, 0x18})
}
