package input

import (
	"errors"
	"fmt"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// maxMemory bounds the objects of an input that can be read only once, in bytes.
const maxMemory = 2 << 30

// skipper is a Source that knows what it had to skip.
type skipper interface{ Skipped() []replay.Skipped }

// buffered is a recording of a source that can be read only once. Its records are kept in memory as they are read.
type buffered struct {
	source replay.Source
	memory replay.Memory
	size   int64
	// end is nil until the source ended, and what it ended with: io.EOF.
	end error
}

var _ replay.Recording = (*buffered)(nil)

func newBuffered(source replay.Source) *buffered {
	return &buffered{source: source, memory: replay.Memory{Head: source.Header()}}
}

// Header implements replay.Source.
func (b *buffered) Header() replay.Header { return b.memory.Head }

// Next implements replay.Source. It blocks while the source does.
func (b *buffered) Next() (*replay.Record, error) {
	r, err := b.memory.Next()
	if err == nil {
		return r, nil
	}
	if err := b.read(); err != nil {
		return nil, err
	}
	return b.memory.Next()
}

// read reads one record of the source into memory.
func (b *buffered) read() error {
	if b.end != nil {
		return b.end
	}
	r, err := b.source.Next()
	if err == nil {
		if b.size += int64(len(r.Object)); b.size > maxMemory {
			err = &replay.LimitError{What: "objects in memory", Size: b.size, Limit: maxMemory}
		}
	}
	if err != nil {
		b.end = err
		errors.As(err, &b.memory.Torn)
		return err
	}
	b.memory.Append(r)
	return nil
}

// readAll reads the source to its end. A source that is cut off has an end, too.
func (b *buffered) readAll() error {
	for b.read() == nil {
	}
	if !errors.Is(b.end, io.EOF) && b.memory.Torn == nil {
		return fmt.Errorf("reading all of the input: %w", b.end)
	}
	return nil
}

// Info implements replay.Recording.
func (b *buffered) Info() (replay.Info, error) {
	if err := b.readAll(); err != nil {
		return replay.Info{}, err
	}
	info, err := b.memory.Info()
	if s, ok := b.source.(skipper); ok {
		info.Skipped = s.Skipped()
	}
	return info, err
}

// Seek implements replay.Recording.
func (b *buffered) Seek(m replay.Moment) (*replay.State, error) {
	if err := b.readAll(); err != nil {
		return nil, err
	}
	return b.memory.Seek(m)
}

// Rewind implements replay.Recording.
func (b *buffered) Rewind() error { return b.memory.Rewind() }
