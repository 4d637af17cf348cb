package input

import (
	"errors"
	"fmt"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// maxMemory is how many bytes of objects are kept in memory.
const maxMemory = 256 << 20

// skipper is a Source that knows what it had to skip.
type skipper interface{ Skipped() []replay.Skipped }

// buffered is a recording of a source that can be read only once. Its records are kept as they are read: in memory, and
// if they are too many in a temporary file.
type buffered struct {
	source replay.Source
	limit  int64
	memory replay.Memory
	size   int64
	// position is the number of the last record that was returned.
	position int64
	// end is nil until the source ended, and what it ended with: io.EOF.
	end  error
	torn *replay.TornError
	// file has all records once they are too many, and memory none.
	file *spool
}

var _ replay.Recording = (*buffered)(nil)

func newBuffered(source replay.Source) *buffered {
	return &buffered{source: source, limit: maxMemory, memory: replay.Memory{Head: source.Header()}}
}

// Header implements replay.Source.
func (b *buffered) Header() replay.Header { return b.memory.Head }

// Next implements replay.Source. It blocks while the source does.
func (b *buffered) Next() (*replay.Record, error) {
	r, err := b.next()
	if err == nil {
		b.position = r.Number
	}
	return r, err
}

func (b *buffered) next() (*replay.Record, error) {
	switch {
	case b.file == nil:
		if r, err := b.memory.Next(); err == nil {
			return r, nil
		}
	case b.file.reader != nil:
		r, err := b.file.next()
		if err != nil && !isOther(err) {
			err = b.end
		}
		return r, err
	}
	r, err := b.read()
	if err == nil && b.file == nil {
		return b.memory.Next() // moves past it
	}
	return r, err
}

// isOther reports whether an error is not that of the end of a recording, in order or not.
func isOther(err error) bool {
	var torn *replay.TornError
	return !errors.Is(err, io.EOF) && !errors.As(err, &torn)
}

// read reads one record of the source and keeps it.
func (b *buffered) read() (*replay.Record, error) {
	if b.end != nil {
		return nil, b.end
	}
	r, err := b.source.Next()
	if err == nil {
		err = b.keep(r)
	}
	if err != nil {
		b.end = err
		errors.As(err, &b.torn)
		b.memory.Torn = b.torn
		return nil, err
	}
	return r, nil
}

func (b *buffered) keep(r *replay.Record) error {
	if b.file != nil {
		return b.file.add(r)
	}
	b.memory.Append(r)
	if b.size += int64(len(r.Object)); b.size <= b.limit {
		return nil
	}
	file, err := newSpool(b.memory.Head)
	if err != nil {
		return err
	}
	b.file = file
	for _, r := range b.memory.Records {
		if err := file.add(r); err != nil {
			return err
		}
	}
	b.memory.Records = nil
	return nil
}

// readAll reads the source to its end. A source that is cut off has an end, too.
func (b *buffered) readAll() error {
	for b.end == nil {
		_, _ = b.read() // the error is kept as the end
	}
	if isOther(b.end) {
		return fmt.Errorf("reading all of the input: %w", b.end)
	}
	if b.file != nil && b.file.reader == nil {
		return b.file.open(b.position)
	}
	return nil
}

// kept returns where all records are, at the position of the last record that was returned.
func (b *buffered) kept() (replay.Recording, error) {
	if err := b.readAll(); err != nil {
		return nil, err
	}
	if b.file != nil {
		return b.file.reader, nil
	}
	return &b.memory, nil
}

// Info implements replay.Recording.
func (b *buffered) Info() (replay.Info, error) {
	kept, err := b.kept()
	if err != nil {
		return replay.Info{}, err
	}
	info, err := kept.Info()
	info.Torn = b.torn
	if s, ok := b.source.(skipper); ok {
		info.Skipped = s.Skipped()
	}
	return info, err
}

// Seek implements replay.Recording.
func (b *buffered) Seek(m replay.Moment) (*replay.State, error) {
	kept, err := b.kept()
	if err != nil {
		return nil, err
	}
	state, err := kept.Seek(m)
	if err == nil {
		b.position = state.Number
	}
	return state, err
}

// Rewind implements replay.Recording.
func (b *buffered) Rewind() error {
	b.position = 0
	if b.file == nil {
		return b.memory.Rewind()
	}
	kept, err := b.kept()
	if err != nil {
		return err
	}
	return kept.Rewind()
}

// close removes the file, if there is one.
func (b *buffered) close() error {
	if b.file == nil {
		return nil
	}
	return b.file.close()
}
