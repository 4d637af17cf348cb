package replay

import (
	"time"
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
	// SkipSubresource means that a write to a subresource, such as an eviction, was answered with something else than the
	// object that it changed.
	SkipSubresource SkipReason = "Subresource"
)
