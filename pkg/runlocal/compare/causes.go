package compare

import (
	"slices"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// causes is a sink that keeps why reconciles were started. Its methods may be called concurrently.
type causes struct {
	mu      sync.Mutex
	started map[trace.ReconcileID][]trace.Cause
}

// Record implements trace.Sink.
func (c *causes) Record(e *trace.Event) {
	if start, ok := e.Detail.(*trace.Start); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.started[e.Reconcile] = start.Causes
	}
}

// of returns why a reconcile was started; of one that is a retry, why the first attempt was.
func (c *causes) of(id trace.ReconcileID) []trace.Cause {
	c.mu.Lock()
	defer c.mu.Unlock()
	causes := c.started[id]
	for len(causes) > 0 && causes[0].Type == trace.CauseRetry && causes[0].Reconcile < id && causes[0].Reconcile != 0 {
		id = causes[0].Reconcile
		first := c.started[id]
		if len(first) == 0 {
			break
		}
		causes = slices.Concat(first, causes[1:])
	}
	return causes
}
