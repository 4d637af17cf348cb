package memstore

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// Write is one write of one object, as the store keeps it.
type Write struct {
	// ResourcePrefix is that of the resource, such as "/pods" or "/example.com/widgets".
	ResourcePrefix  string
	ResourceVersion uint64
	// Before and After are the versions of the object before and after the write: of a creation the first is the zero
	// value, of a deletion the second.
	Before, After Version
}

// Version is one version of an object. Mode Objects has Object, an internal object that is shared and must not be
// changed; the other modes have Data, its storage encoding, as it was transformed.
type Version struct {
	Object runtime.Object
	Data   []byte
}

// IsZero reports whether there is no version.
func (v Version) IsZero() bool { return v.Object == nil && v.Data == nil }

func versionOf(e *entry) Version {
	if e == nil {
		return Version{}
	}
	return Version{Object: e.object, Data: e.data}
}

// Writes returns the writes of all resources after a resource version, in their order. What wanted, which may be nil,
// reports false for is left out. The error is that some of them are not kept any more: see Options.History.
func (s *Store) Writes(after uint64, wanted func(resourcePrefix string) bool) ([]Write, error) {
	s.mu.Lock()
	tables := make(map[string]*table, len(s.tables))
	for name, t := range s.tables {
		if wanted == nil || wanted(name) {
			tables[name] = t
		}
	}
	s.mu.Unlock()
	var out []Write
	for name, t := range tables {
		events, err := t.eventsSince(after)
		if err != nil {
			return nil, fmt.Errorf("reading the writes of %q after %d: %w", name, after, err)
		}
		for _, ev := range events {
			out = append(out, Write{
				ResourcePrefix: name, ResourceVersion: ev.revision,
				Before: versionOf(ev.previous), After: versionOf(ev.current),
			})
		}
	}
	slices.SortFunc(out, func(a, b Write) int { return cmp.Compare(a.ResourceVersion, b.ResourceVersion) })
	return out, nil
}

// eventsSince returns the events after a revision, or an error if some are not kept any more.
func (t *table) eventsSince(revision uint64) ([]event, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.last <= revision {
		return nil, nil
	}
	if revision < t.history.dropped {
		return nil, t.expired(revision)
	}
	return t.history.since(revision), nil
}
