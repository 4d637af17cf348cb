package tap

import (
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// writers remembers which reconcile wrote a resource version. It may be used concurrently.
type writers struct {
	mu   sync.Mutex
	byRV memory[uint64, writer]
}

// writer is a reconcile and its controller.
type writer struct {
	id         trace.ReconcileID
	controller string
}

func (w *writers) put(rv uint64, r *reconcile) {
	if rv == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byRV.put(rv, writer{r.id, r.c.name})
}

// offer is put for one who is told the version by an answer: a deletion of what is being deleted is answered with the
// version that another has written.
func (w *writers) offer(rv uint64, r *reconcile) {
	if w.of(rv) == (writer{}) {
		w.put(rv, r)
	}
}

// of returns the zero value for what was not written by a reconcile that is remembered.
func (w *writers) of(rv uint64) writer {
	w.mu.Lock()
	defer w.mu.Unlock()
	by, _ := w.byRV.get(rv)
	return by
}
