package recorder

import (
	"sort"
	"strconv"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/internal/apijson"
)

// listed records a list: the first one as it is, a later one as what differs from what was known.
func (s *stream) listed(items []apijson.Item, version string) error {
	j := s.recorder.journal
	trusted := s.number == 0 || !s.gap.isErring()
	if s.number == 0 {
		number, err := j.define(s.definition)
		if err != nil {
			return err
		}
		s.number = number
		if err := s.writeList(s.firstItems(items), version); err != nil {
			return err
		}
	} else {
		if err := s.recordLoss(); err != nil {
			return err
		}
		changes, err := s.differences(items, version)
		if err != nil {
			return err
		}
		if err := s.writeList(changes, version); err != nil {
			return err
		}
		s.relists++
	}
	s.version, s.expired, s.failures, s.distrusted = version, false, 0, false
	s.hear()
	s.answered = s.recorder.journal.present()
	if trusted {
		s.recorder.troubles.clear(s)
	}
	return nil
}

// recordLoss records the gap that a new list ends.
func (s *stream) recordLoss() error {
	s.gap.mu.Lock()
	begun := s.gap.current != nil
	s.gap.mu.Unlock()
	if begun {
		return s.endGap(false)
	}
	return s.recorder.journal.write(&replay.Record{
		Type: replay.TypeGap, Stream: s.number, Gap: &replay.Gap{Reason: replay.GapWatchExpired, Since: s.heard},
	})
}

// writeList writes a list with its records, some at a time: those of other streams must not wait for a long one.
func (s *stream) writeList(records []*replay.Record, version string) error {
	const together = 100
	j := s.recorder.journal
	if err := j.write(&replay.Record{Type: replay.TypeListBegin, Stream: s.number}); err != nil {
		return err
	}
	for len(records) > 0 {
		n := min(together, len(records))
		if err := j.write(records[:n]...); err != nil {
			return err
		}
		records = records[n:]
	}
	return j.write(&replay.Record{Type: replay.TypeListEnd, Stream: s.number, ResourceVersion: version})
}

// firstItems returns the records of the first list.
func (s *stream) firstItems(items []apijson.Item) []*replay.Record {
	out := make([]*replay.Record, 0, len(items))
	for i := range items {
		out = append(out, s.record(replay.TypeListItem, &items[i]))
	}
	return out
}

// differences returns what has changed between what is known and a list, as changes in the order of their resource
// versions. A deletion has the last version of the object that is known, and a resource version by which it was
// deleted: that of the list, or the one before the object that has the same name now.
func (s *stream) differences(items []apijson.Item, version string) ([]*replay.Record, error) {
	known := s.recorder.journal.known(s.number)
	var out []*replay.Record
	listed := make(map[objectKey]bool, len(items))
	for i := range items {
		one := &items[i]
		key := objectKey{one.Namespace, one.Name}
		listed[key] = true
		before, exists := known[key]
		switch {
		case exists && before.same(one):
			continue
		case exists && before.uid != one.UID:
			gone, err := s.deletion(key, before, versionBefore(one.ResourceVersion))
			if err != nil {
				return nil, err
			}
			out = append(out, gone, s.record(replay.TypeAdded, one))
		case exists:
			out = append(out, s.record(replay.TypeModified, one))
		default:
			out = append(out, s.record(replay.TypeAdded, one))
		}
	}
	for _, key := range sortedKeys(known) {
		if listed[key] {
			continue
		}
		gone, err := s.deletion(key, known[key], version)
		if err != nil {
			return nil, err
		}
		out = append(out, gone)
	}
	for _, r := range out {
		r.Relisted = r.Type.HasObject()
	}
	sort.SliceStable(out, func(i, j int) bool {
		return snapshot.IsNewer(out[j].ResourceVersion, out[i].ResourceVersion)
	})
	return out, nil
}

// deletion returns the record of an object that is known and does not exist any more.
func (s *stream) deletion(key objectKey, last knownObject, version string) (*replay.Record, error) {
	object, err := s.recorder.journal.packer.unpack(&last)
	if err != nil {
		return nil, err
	}
	return &replay.Record{
		Type: replay.TypeDeleted, Stream: s.number, Namespace: key.namespace, Name: key.name, UID: last.uid,
		ResourceVersion: version, Object: object,
	}, nil
}

// versionBefore returns the resource version before one; the same if it is not a number.
func versionBefore(version string) string {
	n := snapshot.VersionNumber(version)
	if n == 0 {
		return version
	}
	return strconv.FormatUint(n-1, 10)
}
