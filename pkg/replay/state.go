package replay

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// State is what a recording had said up to a moment: its streams, and the last version of each object that was not
// deleted. The zero value is the state before the first record. It may not be used concurrently.
type State struct {
	// Number and Time are those of the last record that was applied.
	Number int64
	Time   time.Time

	streams map[int]*StreamState
	objects map[Key]*Record
}

// StreamState is what is known about a stream at a moment.
type StreamState struct {
	Stream
	// Listed is true once the first list was complete: before, objects may be missing.
	Listed bool
	// ResourceVersion is that of the newest list, event or bookmark; empty before the first.
	ResourceVersion string
}

// Apply adds a record to the state, and keeps it: a caller whose records do not stay valid passes a clone.
func (s *State) Apply(r *Record) {
	if s.streams == nil {
		s.streams, s.objects = map[int]*StreamState{}, map[Key]*Record{}
	}
	s.Number = r.Number
	if !r.Time.IsZero() {
		s.Time = r.Time
	}
	if r.Type == TypeStream && r.NewStream != nil {
		s.streams[r.Stream] = &StreamState{Stream: *r.NewStream}
		return
	}
	stream := s.streams[r.Stream]
	if stream == nil {
		return
	}
	switch r.Type {
	case TypeListItem, TypeAdded, TypeModified:
		s.objects[r.Key()] = r
	case TypeDeleted:
		delete(s.objects, r.Key())
	case TypeListEnd:
		stream.Listed = true
	case TypeStream, TypeListBegin, TypeBookmark, TypeError, TypeGap, TypeTrace, TypeAlive, TypeEnd:
	}
	if r.ResourceVersion != "" && r.Type != TypeListItem {
		stream.ResourceVersion = r.ResourceVersion
	}
}

// Streams returns the streams that are defined, in the order of their numbers.
func (s *State) Streams() []*StreamState {
	out := make([]*StreamState, 0, len(s.streams))
	for _, number := range slices.Sorted(maps.Keys(s.streams)) {
		out = append(out, s.streams[number])
	}
	return out
}

// Stream returns a stream by its number; nil if there is none.
func (s *State) Stream(number int) *StreamState { return s.streams[number] }

// Object returns the record with the last version of an object; nil if there is none.
func (s *State) Object(k Key) *Record { return s.objects[k] }

// Len returns the number of objects.
func (s *State) Len() int { return len(s.objects) }

// Objects yields the last version of each object, in the order of their keys.
func (s *State) Objects() iter.Seq2[Key, *Record] {
	return func(yield func(Key, *Record) bool) {
		for _, k := range slices.SortedFunc(maps.Keys(s.objects), Key.Compare) {
			if !yield(k, s.objects[k]) {
				return
			}
		}
	}
}

// Clone returns a copy that is independent of the state. They share the records, which must not be changed.
func (s *State) Clone() *State {
	out := &State{Number: s.Number, Time: s.Time, objects: maps.Clone(s.objects)}
	if s.streams != nil {
		out.streams = make(map[int]*StreamState, len(s.streams))
	}
	for number, stream := range s.streams {
		clone := *stream
		out.streams[number] = &clone
	}
	return out
}
