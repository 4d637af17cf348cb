package guard

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// histories remember what lists and watches of several namespaces have told, so that a watch can go on where another has
// ended. One version does not tell that: of two namespaces, the one may have been told up to a later version than the
// other.
type histories struct {
	mu  sync.Mutex
	all map[string]*history // by watchKey
}

func newHistories() *histories { return &histories{all: map[string]*history{}} }

// history is that of one resource, with one selector, whole objects or metadata: mostly of one client.
type history struct {
	lists   []string // versions of the latest lists that no watch was begun from
	streams []*told  // the latest watches
}

const (
	keptLists   = 16
	keptStreams = 4
	// keptEvents is how many events a client may be behind of what it was sent.
	keptEvents = 512
)

// told is what a watch has told, in order.
type told struct {
	from  string   // version that the client has begun from
	begin []string // and that of each namespace

	mu     sync.Mutex
	start  []string // version of each namespace before the log
	events []event
}

// event is that a namespace was told up to a version.
type event struct {
	namespace int
	version   string
	handed    bool // the client was sent something of that version; else it is only known that there is no more up to it
}

// watchKey names what is listed or watched. Clients that want the metadata alone are told from the others.
func watchKey(req *http.Request) string {
	query, form := req.URL.Query(), "whole"
	if strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata") {
		form = "metadata"
	}
	return strings.Join([]string{req.URL.Path, query.Get("fieldSelector"), query.Get("labelSelector"), form}, "\x00")
}

func (h *histories) of(key string) *history {
	one := h.all[key]
	if one == nil {
		one = &history{}
		h.all[key] = one
	}
	return one
}

// listed remembers that a list was of this version.
func (h *histories) listed(key, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(key)
	one.lists = append(one.lists, version)
	one.lists = one.lists[max(0, len(one.lists)-keptLists):]
}

// begin finds where each of so many namespaces is to be watched from by a client that has seen this version, and notes
// a new watch. It returns nil if nobody knows; the client must list again.
func (h *histories) begin(key, version string, namespaces int) *told {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(key)
	start := one.start(version, namespaces)
	if start == nil {
		return nil
	}
	stream := &told{from: version, begin: start, start: slices.Clone(start)}
	one.streams = append(one.streams, stream)
	one.streams = one.streams[max(0, len(one.streams)-keptStreams):]
	return stream
}

// start finds where each namespace is to be watched from by a client that has seen this version; nil if that is not known. A
// list of this version may be another client's than one that has been told it by a watch, and then that client has not seen
// the other namespaces up to it: the watch counts. From each list one watch is begun.
func (h *history) start(version string, namespaces int) []string {
	if version == "" || version == "0" {
		return slices.Repeat([]string{version}, namespaces)
	}
	var least []string
	for _, stream := range h.streams {
		at := stream.at(version)
		if least == nil {
			least = at
			continue
		}
		for i := range at { // which of the watches it was does not matter: what is told twice does no harm
			if compareVersions(at[i], least[i]) < 0 {
				least[i] = at[i]
			}
		}
	}
	if i := slices.Index(h.lists, version); least == nil && i >= 0 {
		h.lists = slices.Delete(h.lists, i, i+1)
		return slices.Repeat([]string{version}, namespaces)
	}
	return least
}

// at is how far each namespace was told, at the least, when a client had seen this version; nil if it was not handed on, or too
// long ago. A version may be handed on twice, by an event and by a bookmark: the client may have seen no more than the first,
// and nothing that was handed on in between.
func (t *told) at(version string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if version == t.from {
		return slices.Clone(t.begin)
	}
	first := slices.IndexFunc(t.events, func(e event) bool { return e.handed && e.version == version })
	if first < 0 {
		return nil
	}
	out := slices.Clone(t.start)
	for i, e := range t.events {
		if i > first && e.handed && e.version != version {
			break
		}
		out[e.namespace] = e.version
	}
	return out
}

// add notes that a namespace is told up to a version, and whether something of that version is handed on.
func (t *told) add(namespace int, version string, handed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, event{namespace, version, handed})
	if len(t.events) < 2*keptEvents {
		return
	}
	for _, e := range t.events[:keptEvents] {
		t.start[e.namespace] = e.version
	}
	t.events = slices.Clone(t.events[keptEvents:])
}
