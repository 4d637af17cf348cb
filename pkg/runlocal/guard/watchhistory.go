package guard

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
)

// watchHistories record what lists and watches of several namespaces have delivered, so that a watch can continue where
// another has ended. The one version that a client sends is not enough for that: one of two namespaces may have been
// delivered up to a later version than the other. It is safe for concurrent use.
type watchHistories struct {
	mu    sync.Mutex
	byKey map[string]*watchHistory // by watchKey
}

func newWatchHistories() *watchHistories { return &watchHistories{byKey: map[string]*watchHistory{}} }

// watchHistory is that of one watchKey, which mostly is one informer.
type watchHistory struct {
	lists   []string       // versions of the latest lists, without those that a watch has started from
	watches []*deliveryLog // the latest watches
}

// Bounds of what is kept. A client that needs more is answered with "410 Gone", and lists again.
const (
	maxLists   = 16
	maxWatches = 4
	// maxDeliveries is how many events a client may have been sent that it has not seen when it watches again; up to
	// twice as many are kept.
	maxDeliveries = 512
)

// deliveryLog records what one watch has delivered, in order.
type deliveryLog struct {
	startVersion string   // that the client has watched from
	initial      []string // the version that each namespace was watched from

	mu         sync.Mutex // guards what follows
	base       []string   // version of each namespace before the first of deliveries
	deliveries []delivery
}

// delivery records that everything of a namespace up to a version was received.
type delivery struct {
	namespace int // index
	version   string
	sent      bool // the client was sent an event or a bookmark of this version
}

// watchKey identifies what is listed or watched: resource, selectors, and whether whole objects or only metadata.
func watchKey(req *http.Request) string {
	query, form := req.URL.Query(), "whole"
	if strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata") {
		form = "metadata"
	}
	return strings.Join([]string{req.URL.Path, query.Get("fieldSelector"), query.Get("labelSelector"), form}, "\x00")
}

// of returns the history of key, which it makes if there is none. The caller holds h.mu.
func (h *watchHistories) of(key string) *watchHistory {
	one := h.byKey[key]
	if one == nil {
		one = &watchHistory{}
		h.byKey[key] = one
	}
	return one
}

// recordList records that a list returned this version.
func (h *watchHistories) recordList(key, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(key)
	one.lists = append(one.lists, version)
	one.lists = one.lists[max(0, len(one.lists)-maxLists):]
}

// beginWatch returns the log of a new watch by a client that has seen version; its base is where each namespace is to
// be watched from. It returns nil if that is not known: the client must list again.
func (h *watchHistories) beginWatch(key, version string, namespaces int) *deliveryLog {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(key)
	start := one.startVersions(version, namespaces)
	if start == nil {
		return nil
	}
	log := &deliveryLog{startVersion: version, initial: start, base: slices.Clone(start)}
	one.watches = append(one.watches, log)
	one.watches = one.watches[max(0, len(one.watches)-maxWatches):]
	return log
}

// startVersions returns where each namespace is to be watched from by a client that has seen version, nil if that is
// not known. If a watch has delivered version and a list has returned it too, the watch counts: the list may have been
// another client's, and a client that has version from the watch has not seen the other namespaces up to it. One watch
// can start from each list.
func (h *watchHistory) startVersions(version string, namespaces int) []string {
	if version == "" || version == "0" {
		return slices.Repeat([]string{version}, namespaces)
	}
	var least []string
	for _, log := range h.watches {
		at := log.positionsAt(version)
		if least == nil {
			least = at
			continue
		}
		for i := range at { // it may have been any of the watches: to deliver an event twice does no harm
			if snapshot.VersionNumber(at[i]) < snapshot.VersionNumber(least[i]) {
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

// positionsAt returns the version up to which each namespace had been delivered, at the least, when the client had seen
// version; nil if version was not sent, or too long ago. A version may be sent twice, by an event and by a bookmark:
// the client may have seen only the first, and nothing that was sent in between.
func (l *deliveryLog) positionsAt(version string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version == l.startVersion {
		return slices.Clone(l.initial)
	}
	first := slices.IndexFunc(l.deliveries, func(d delivery) bool { return d.sent && d.version == version })
	if first < 0 {
		return nil
	}
	out := slices.Clone(l.base)
	for i, d := range l.deliveries {
		if i > first && d.sent && d.version != version {
			break
		}
		out[d.namespace] = d.version
	}
	return out
}

// add records that everything of a namespace up to version was received, and whether something of that version is sent.
func (l *deliveryLog) add(namespace int, version string, sent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deliveries = append(l.deliveries, delivery{namespace, version, sent})
	if len(l.deliveries) < 2*maxDeliveries {
		return
	}
	for _, d := range l.deliveries[:maxDeliveries] {
		l.base[d.namespace] = d.version
	}
	l.deliveries = slices.Clone(l.deliveries[maxDeliveries:])
}
