package render

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestRecent(t *testing.T) {
	r := recent[int, string]{room: 2}
	get := func(k int, want string) {
		t.Helper()
		if got, known := r.get(k); got != want || known != (want != "") {
			t.Errorf("%d is %q, known: %t; want %q", k, got, known, want)
		}
	}
	get(1, "")
	r.put(1, "a")
	r.put(2, "b")
	r.put(2, "c")
	get(1, "a") // what is put again takes no other's room
	get(2, "c")
	r.put(3, "d")
	r.put(1, "e") // and is remembered for longer
	r.put(4, "f")
	get(1, "e")
	get(2, "")
	get(3, "d")
	r.put(1, "g")
	r.drop(1) // old and young
	get(1, "")
	if r.len() != 2 {
		t.Errorf("%d are remembered, want 3 and 4", r.len())
	}
}

// TestBlocksForget: a run may last for weeks, and meet ever new keys.
func TestBlocksForget(t *testing.T) {
	b := NewBlocks(&bytes.Buffer{}, BlocksOptions{Detail: Normal})
	b.StartAt(began())
	const many = 3 * mostRecent
	for n := range many {
		key := fmt.Sprintf("default/web%d", n)
		e := reconcileEvents("replicaset", trace.ReconcileID(3*n+1), key)
		record(b, e(&trace.Start{}), e(dryWrite("update", key, 1)), e(&trace.End{Outcome: trace.Done, Writes: 1}))
		e = reconcileEvents("replicaset", trace.ReconcileID(3*n+2), key)
		record(b, e(&trace.Start{}), e(&trace.End{Outcome: trace.Failed, Error: "no"}))
		e = reconcileEvents("replicaset", trace.ReconcileID(3*n+3), key)
		record(b, e(&trace.Start{}), e(&trace.End{Outcome: trace.Failed, PutOff: "pods"}))
		record(b, ofNone("replicaset", &trace.Log{Message: "no", Error: key}))
	}
	for what, n := range map[string]int{
		"dry writes": b.seen.len(), "failures": b.failed.len(), "reconciles": b.ids.len(), "errors": b.said.len(),
	} {
		if n < mostRecent || n > 2*mostRecent {
			t.Errorf("%d %s are remembered, want %d or some more", n, what, mostRecent)
		}
	}
	if n := b.putOff.len(); n < mostPutOff || n > 2*mostPutOff {
		t.Errorf("%d reconciles that were put off are remembered, want %d or some more", n, mostPutOff)
	}
	if _, known := b.ids.get(1); known {
		t.Error("the first reconcile is remembered")
	}
	if _, known := b.ids.get(3 * many); !known {
		t.Error("the last reconcile is not remembered")
	}
}
