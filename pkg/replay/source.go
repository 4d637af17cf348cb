package replay

import (
	"io"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
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
	// Torn, if it is not nil, is what Next returns after the last record instead of io.EOF.
	Torn *TornError
	next int
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
		if m.Torn != nil {
			return nil, m.Torn
		}
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

// Info implements Recording.
func (m *Memory) Info() (Info, error) {
	info := Info{Header: m.Head, Records: int64(len(m.Records)), Torn: m.Torn}
	for _, r := range m.Records {
		info.add(r)
		if r.Type.isEvent() {
			info.Events++
		}
	}
	if len(m.Records) > 0 {
		info.First, info.Last = m.Records[0].Time, m.Records[len(m.Records)-1].Time
	}
	return info, nil
}

// Seek implements Recording. It reads all records from the first one.
func (m *Memory) Seek(moment Moment) (*State, error) {
	info, err := m.Info()
	if err != nil {
		return nil, err
	}
	if !info.contains(moment) {
		return nil, info.outside(moment, "")
	}
	state, f, last := &State{}, finder{moment: moment}, ""
	next := 0
	for _, r := range m.Records {
		include, done := f.next(r)
		if include {
			state.Apply(r)
			next++
		}
		if done {
			break
		}
		if r.hasVersion() && snapshot.IsNewer(r.ResourceVersion, last) {
			last = r.ResourceVersion
		}
	}
	if !f.complete() {
		return nil, info.outside(moment, last)
	}
	m.next = next
	return state, nil
}
