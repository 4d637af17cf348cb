package memstore

import (
	"slices"
	"sort"
)

// lagFactor times the limit is how many events a history keeps at most, for watchers that read slowly.
const lagFactor = 16

// history is the recent events of a table, oldest first. Events are numbered from 0 on; the numbers only grow. It has no
// lock of its own. A slice of events that was handed out stays as it is: events are appended behind it, and trimming
// makes a copy.
type history struct {
	events    []event
	first     int    // number of events[0]
	compacted uint64 // states before this revision cannot be told
	dropped   uint64 // the newest revision of an event that is not kept any more
	limit     int    // events kept whoever needs them
	slack     int    // events above the limit that were kept for slow watchers
}

// end returns the number that the next event will have.
func (h *history) end() int {
	return h.first + len(h.events)
}

func (h *history) append(ev event) {
	h.events = append(h.events, ev)
}

// full reports whether it is worth trimming: once a quarter of the limit has come on top of what was kept.
func (h *history) full() bool {
	return len(h.events) > h.limit+h.limit/4+h.slack
}

// trim drops events from before the number wanted, but neither of the newest limit ones, and keeps no more than
// lagFactor times as many even if they are wanted.
func (h *history) trim(wanted int) {
	keep := max(h.limit, h.end()-wanted)
	keep = min(keep, h.limit*lagFactor, len(h.events))
	h.drop(len(h.events) - keep)
	h.slack = len(h.events) - h.limit
}

// compact forgets the states before revision. The events are kept.
func (h *history) compact(revision uint64) {
	h.compacted = max(h.compacted, revision)
}

// drop forgets the oldest n events.
func (h *history) drop(n int) {
	if n <= 0 {
		return
	}
	h.dropped = h.events[n-1].revision
	h.compact(h.dropped)
	h.events = slices.Clone(h.events[n:])
	h.first += n
}

// index returns the index of the first event after revision.
func (h *history) index(revision uint64) int {
	return sort.Search(len(h.events), func(i int) bool { return h.events[i].revision > revision })
}

// after returns the number of the first event after revision.
func (h *history) after(revision uint64) int {
	return h.first + h.index(revision)
}

// since returns the events after revision.
func (h *history) since(revision uint64) []event {
	return h.events[h.index(revision):]
}

// read copies events from the number next on into buf, as many as it holds; false says that they are dropped.
func (h *history) read(next int, buf []event) ([]event, bool) {
	if next < h.first {
		return nil, false
	}
	n := copy(buf[:cap(buf)], h.events[next-h.first:])
	return buf[:n], true
}
