package replay

import (
	"io"
	"slices"
)

// Source yields the records of a recording in order. It may not be used concurrently.
type Source interface {
	// Header returns what the recording begins with.
	Header() Header
	// Next returns the next record. The error is io.EOF after the last one. After another error, which is a *TornError
	// if the recording was cut off, there are no more records. The record and its Object are valid until the next call
	// only, unless they are cloned by Record.Clone; other sources than a Reader may promise more.
	Next() (*Record, error)
}

// Clone returns a copy of the record that stays valid.
func (r *Record) Clone() *Record {
	out := *r
	out.Object = slices.Clone(r.Object)
	return &out
}

// Recording is a Source that can be read from any moment. Its methods may not be called concurrently.
type Recording interface {
	Source
	// Info returns what is known about the whole recording.
	Info() (Info, error)
	// Seek moves to a moment: it returns what was known then, which belongs to the caller, and Next returns the first
	// record after it. The error is a *OutsideError if the moment is not in the recording.
	Seek(Moment) (*State, error)
	// Rewind moves to the beginning: Next returns the first record.
	Rewind() error
}

// Memory is a Recording whose records are all in memory, for imported streams and for tests. The zero value is empty.
type Memory struct {
	Head    Header
	Records []*Record // numbered from 1 without gaps, see Append
	next    int
}

var _ Recording = (*Memory)(nil)

// Append adds records at the end, numbers them and keeps them; they must not be changed after it.
func (m *Memory) Append(records ...*Record) {
	for _, r := range records {
		r.Number = int64(len(m.Records)) + 1
		m.Records = append(m.Records, r)
	}
}

// Header implements Source.
func (m *Memory) Header() Header { return m.Head }

// Next implements Source. The record stays valid.
func (m *Memory) Next() (*Record, error) {
	if m.next >= len(m.Records) {
		return nil, io.EOF
	}
	m.next++
	return m.Records[m.next-1], nil
}

// Rewind implements Recording.
func (m *Memory) Rewind() error {
	m.next = 0
	return nil
}
