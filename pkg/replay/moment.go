package replay

import (
	"fmt"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
)

// Moment names a point in a recording: after the last record up to it. The zero Moment is the end.
type Moment struct {
	// Number, if it is not 0, is the number of a record, which is included.
	Number int64
	// Time, if it is not zero, is a time: all records up to it are included.
	Time time.Time
	// ResourceVersion, if it is not empty, is that of an event, list or bookmark: all records up to the first that has
	// this version or a newer one are included.
	ResourceVersion string
	// Start is the moment when the first list of every stream that the recording begins with is complete, or as far as
	// it was when the first change arrived.
	Start bool
}

// Info is what is known about a whole recording.
type Info struct {
	Header Header
	// Streams are all streams, in the order of their numbers.
	Streams []Stream
	// Records is the number of records, and Events that of the watch events.
	Records, Events int64
	// First and Last are the times of the first and the last record, zero if there are no times.
	First, Last time.Time
	// Torn is nil, or describes how the recording was cut off.
	Torn *TornError
	// Gaps are all gaps, with the times of their ends.
	Gaps []Record
	// Skipped is what an import read and could not make records of, in the order of the reasons; nil for recordings.
	Skipped []Skipped
}

// Skipped is a number of changes of which an import made no records.
type Skipped struct {
	Reason SkipReason
	Count  int64
}

// SkipReason is why an import made no record of a change.
type SkipReason string

// The reasons why changes are skipped.
const (
	// SkipNoContent means that an entry of an audit log does not have the object: its level is Metadata or Request.
	SkipNoContent SkipReason = "NoContent"
	// SkipSubresource means that a write to a subresource, such as an eviction, was answered with something else than
	// the object that it changed.
	SkipSubresource SkipReason = "Subresource"
)

// String returns the moment as ParseMoment takes it; "end" for the zero Moment.
func (m Moment) String() string {
	switch {
	case m.Number != 0:
		return fmt.Sprintf("#%d", m.Number)
	case !m.Time.IsZero():
		return m.Time.UTC().Format(time.RFC3339Nano)
	case m.ResourceVersion != "":
		return m.ResourceVersion
	case m.Start:
		return "start"
	default:
		return "end"
	}
}

// outside returns the error for a moment that is not in a recording.
func (i *Info) outside(m Moment, lastVersion string) *OutsideError {
	return &OutsideError{Moment: m, Records: i.Records, First: i.First, Last: i.Last, LastVersion: lastVersion}
}

// contains reports whether a moment that is a number or a time is in the recording; true for others.
func (i *Info) contains(m Moment) bool {
	switch {
	case m.Number != 0:
		return m.Number > 0 && m.Number <= i.Records
	case !m.Time.IsZero():
		return !i.First.IsZero() && !m.Time.Before(i.First) && !m.Time.After(i.Last)
	default:
		return true
	}
}

// add notes what a record says about its whole recording, but does not count it.
func (i *Info) add(r *Record) {
	switch {
	case r.Type == TypeStream && r.NewStream != nil:
		i.Streams = append(i.Streams, *r.NewStream)
	case r.Type == TypeGap:
		i.Gaps = append(i.Gaps, *r)
	}
}

// finder finds the last record of a moment among records that it is given in order. Of several fields that are set, the
// first one counts.
type finder struct {
	moment Moment
	found  bool // the resource version was met

	// For Start: how many streams are not listed yet, and which are.
	missing int
	streams int
	listed  map[int]bool
}

// next reports whether the record belongs to the moment, and whether none of the following does. The records must begin
// with the first one if the moment is Start, else at any that belongs to it.
func (f *finder) next(r *Record) (include, done bool) {
	m := &f.moment
	switch {
	case m.Number != 0:
		return r.Number <= m.Number, r.Number >= m.Number
	case !m.Time.IsZero():
		after := r.Time.After(m.Time)
		return !after, after
	case m.ResourceVersion != "":
		f.found = f.found || r.hasVersion() &&
			(r.ResourceVersion == m.ResourceVersion || snapshot.IsNewer(r.ResourceVersion, m.ResourceVersion))
		return true, f.found
	case m.Start:
		include = f.start(r)
		return include, !include
	default:
		return true, false
	}
}

// complete reports whether the moment was met, if it is a resource version. Info.contains tells it of others.
func (f *finder) complete() bool {
	return f.found || f.moment.ResourceVersion == "" || f.moment.Number != 0 || !f.moment.Time.IsZero()
}

// start reports whether the record belongs to what the recording begins with.
func (f *finder) start(r *Record) bool {
	complete := f.streams > 0 && f.missing == 0
	switch r.Type {
	case TypeStream:
		if f.listed == nil {
			f.listed = map[int]bool{}
		}
		if _, ok := f.listed[r.Stream]; !ok {
			f.listed[r.Stream] = false
			f.streams++
			f.missing++
		}
	case TypeListBegin, TypeListItem:
	case TypeListEnd:
		if listed, ok := f.listed[r.Stream]; ok && !listed {
			f.listed[r.Stream] = true
			f.missing--
		}
	case TypeBookmark, TypeTrace, TypeAlive:
		return !complete
	case TypeAdded, TypeModified, TypeDeleted, TypeError, TypeGap, TypeEnd:
		return false
	}
	return true
}

// hasVersion reports whether the record's ResourceVersion is a moment of the recording. Those of the objects of a list
// are not: they are older than the list.
func (r *Record) hasVersion() bool { return r.ResourceVersion != "" && r.Type != TypeListItem }
