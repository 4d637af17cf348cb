package tap

import (
	"runtime/pprof"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// handed are the keys of a controller that one goroutine has taken for another, by their text. Its zero value is empty;
// it may be used concurrently.
type handed struct {
	mu   sync.Mutex
	keys map[string]handover
}

// handover is a reconcile that is yet to begin.
type handover struct {
	run   *run
	start *trace.Start
}

func (h *handed) put(key string, o handover) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keys == nil {
		h.keys = map[string]handover{}
	}
	h.keys[key] = o
}

// begin begins the reconcile of the key on the calling goroutine, if it is yet to begin.
func (h *handed) begin(key string) {
	h.mu.Lock()
	o, ok := h.keys[key]
	delete(h.keys, key)
	h.mu.Unlock()
	if ok {
		o.run.begin(o.start)
	}
}

// begin puts the calling goroutine into the reconcile, and tells why there is one.
func (v *run) begin(start *trace.Start) {
	r := v.reconcile
	v.labels = (&scope{controller: r.c, reconcile: r}).enter(keyLabels(r))
	r.c.tap.rec.Emit(r.c.name, r.id, r.key, start)
}

// keyLabels tell the goroutines of a reconcile apart in a profile.
func keyLabels(r *reconcile) pprof.LabelSet {
	return pprof.Labels("controller", r.c.name, "key", r.key)
}
