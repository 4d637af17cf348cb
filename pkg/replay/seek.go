package replay

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
)

// Seek implements Recording. It begins at the last snapshot before the moment.
func (r *Reader) Seek(moment Moment) (*State, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	target, ok, err := r.target(moment, &info)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, info.outside(moment, r.newestVersion())
	}
	state, err := r.restore(target)
	if err != nil {
		r.err = r.stopped(err) // Next must not continue in the snapshot
		return nil, fmt.Errorf("reading the state before %q: %w", moment.String(), r.err)
	}
	r.decoder.recycle = true
	defer func() { r.decoder.recycle, r.decoder.spare = false, nil }()
	f := finder{moment: moment}
	for {
		record, err := r.Next()
		var torn *TornError
		if errors.Is(err, io.EOF) || errors.As(err, &torn) && r.last.Number == info.Records {
			break
		} else if err != nil {
			return nil, err
		}
		include, done := f.next(record)
		if include {
			state.Apply(record)
		} else {
			r.pending = record
		}
		if done {
			break
		}
	}
	if !f.complete() {
		return nil, info.outside(moment, r.newestVersion())
	}
	return state, nil
}

// target returns the segment with the last record of a moment, or one before it, -1 for the beginning; false if the
// moment is not in the recording.
func (r *Reader) target(m Moment, info *Info) (int, bool, error) {
	if !info.contains(m) {
		return 0, false, nil
	}
	if m.Number == 0 && m.Time.IsZero() {
		if m.ResourceVersion != "" {
			return r.versionTarget(m.ResourceVersion)
		}
		if m.Start { // no snapshot is before it
			return -1, true, nil
		}
	}
	at := micro(m.Time)
	last := -1
	for i := range r.segments {
		s := &r.segments[i]
		switch {
		case s.is(segmentSnapshot):
			continue
		case m.Number != 0 && s.first > m.Number, m.Number == 0 && at != 0 && s.begin > at:
			return last, true, nil
		}
		last = i
	}
	return last, true, nil
}

// versionTarget returns the first segment that may have a resource version or a newer one. Nothing but the segments
// themselves shows that none before has: so their headers are read, even if there is an index.
func (r *Reader) versionTarget(version string) (int, bool, error) {
	wanted := snapshot.VersionNumber(version)
	for i := range r.segments {
		s := &r.segments[i]
		if s.is(segmentSnapshot) {
			continue
		}
		if err := r.check(s); err != nil {
			return 0, false, fmt.Errorf("reading the segment at byte %d: %w", s.offset, err)
		}
		if wanted != 0 && s.version >= wanted || s.is(segmentVersions) {
			return i, true, nil
		}
	}
	return 0, false, nil
}

// newestVersion returns the newest resource version of lists, events and bookmarks.
func (r *Reader) newestVersion() string {
	newest := uint64(0)
	for i := range r.segments {
		newest = max(newest, r.segments[i].version)
	}
	if newest == 0 {
		return ""
	}
	return strconv.FormatUint(newest, 10)
}

// restore returns the state of the last snapshot before a segment, and moves reading to what follows it. If that is
// damaged, it takes the one before: what is missing is read then.
func (r *Reader) restore(target int) (*State, error) {
	for end := target; end >= 0; end-- {
		if !r.segments[end].is(segmentSnapshotEnd) {
			continue
		}
		begin := end
		for !r.segments[begin].is(segmentSnapshotBegin) {
			begin--
		}
		state, err := r.snapshot(begin, end)
		if err == nil || !errors.Is(err, errDamaged) {
			return state, err
		}
		end = begin
	}
	return &State{}, r.Rewind()
}

// snapshot returns the state of the snapshot in some segments.
func (r *Reader) snapshot(begin, end int) (*State, error) {
	if err := r.Rewind(); err != nil {
		return nil, err
	}
	state := &State{}
	var raw rawRecord
	for i := begin; i <= end; i++ {
		if err := r.load(i); err != nil {
			return nil, err
		}
		for {
			more, err := r.cursor.next(&raw, &r.limits)
			if err != nil {
				return nil, err
			}
			if !more {
				break
			}
			record, err := r.decoder.record(&raw)
			if err != nil {
				return nil, err
			}
			if record != nil {
				state.Apply(record)
			}
		}
	}
	s := &r.segments[end]
	state.Number, state.Time = s.first, fromMicro(s.end)
	r.next, r.cursor = end+1, cursor{}
	r.last.Number, r.last.Time = state.Number, state.Time
	return state, nil
}
