package guard

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// watchHistories remember what lists and watches of several namespaces have told, so that a watch can go on where another has
// ended. One version does not tell that: of two namespaces, the one may have been told up to a later version than the
// other.
type watchHistories struct {
	mu    sync.Mutex
	byKey map[string]*watchHistory // by watchKey
}

func newWatchHistories() *watchHistories { return &watchHistories{byKey: map[string]*watchHistory{}} }

// watchHistory is that of one resource, with one selector, whole objects or metadata: mostly of one client.
type watchHistory struct {
	lists   []string       // versions of the latest lists that no watch was begun from
	watches []*deliveryLog // the latest watches
}

const (
	maxLists   = 16
	maxWatches = 4
	// maxDeliveries is how many events a client may be behind of what it was sent.
	maxDeliveries = 512
)

// log is what a watch has told, in order.
type deliveryLog struct {
	startVersion string   // version that the client has begun from
	initial      []string // and that of each namespace

	mu         sync.Mutex
	base       []string // version of each namespace before the log
	deliveries []delivery
}

// delivery is that a namespace was told up to a version.
type delivery struct {
	namespace int
	version   string
	sent      bool // the client was sent something of that version; else it is only known that there is no more up to it
}

// watchKey names what is listed or watched. Clients that want the metadata alone are told from the others.
func watchKey(req *http.Request) string {
	query, form := req.URL.Query(), "whole"
	if strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata") {
		form = "metadata"
	}
	return strings.Join([]string{req.URL.Path, query.Get("fieldSelector"), query.Get("labelSelector"), form}, "\x00")
}

func (h *watchHistories) of(key string) *watchHistory {
	one := h.byKey[key]
	if one == nil {
		one = &watchHistory{}
		h.byKey[key] = one
	}
	return one
}

// recordList remembers that a list was of this version.
func (h *watchHistories) recordList(key, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(key)
	one.lists = append(one.lists, version)
	one.lists = one.lists[max(0, len(one.lists)-maxLists):]
}

// beginWatch finds where each of so many namespaces is to be watched from by a client that has seen this version, and notes
// a new watch. It returns nil if nobody knows; the client must list again.
func (h *watchHistories) beginWatch(key, version string, namespaces int) *deliveryLog {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(key)
	start := one.startVersions(version, namespaces)
	if start == nil {
		return nil
	}
	stream := &deliveryLog{startVersion: version, initial: start, base: slices.Clone(start)}
	one.watches = append(one.watches, stream)
	one.watches = one.watches[max(0, len(one.watches)-maxWatches):]
	return stream
}

// base finds where each namespace is to be watched from by a client that has seen this version; nil if that is not known. A
// list of this version may be another client's than one that has been told it by a watch, and then that client has not seen
// the other namespaces up to it: the watch counts. From each list one watch is begun.
func (h *watchHistory) startVersions(version string, namespaces int) []string {
	if version == "" || version == "0" {
		return slices.Repeat([]string{version}, namespaces)
	}
	var least []string
	for _, stream := range h.watches {
		at := stream.positionsAt(version)
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

// positionsAt is how far each namespace was told, at the least, when a client had seen this version; nil if it was not handed on, or too
// long ago. A version may be handed on twice, by an event and by a bookmark: the client may have seen no more than the first,
// and nothing that was handed on in between.
func (t *deliveryLog) positionsAt(version string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if version == t.startVersion {
		return slices.Clone(t.initial)
	}
	first := slices.IndexFunc(t.deliveries, func(e delivery) bool { return e.sent && e.version == version })
	if first < 0 {
		return nil
	}
	out := slices.Clone(t.base)
	for i, e := range t.deliveries {
		if i > first && e.sent && e.version != version {
			break
		}
		out[e.namespace] = e.version
	}
	return out
}

// add notes that a namespace is told up to a version, and whether something of that version is handed on.
func (t *deliveryLog) add(namespace int, version string, handed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deliveries = append(t.deliveries, delivery{namespace, version, handed})
	if len(t.deliveries) < 2*maxDeliveries {
		return
	}
	for _, e := range t.deliveries[:maxDeliveries] {
		t.base[e.namespace] = e.version
	}
	t.deliveries = slices.Clone(t.deliveries[maxDeliveries:])
}
