package engine

import (
	"context"

	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Queue is the queue of a Controller.
type Queue = workqueue.TypedRateLimitingInterface[Request]

// Observer sees what a Controller does. Its methods may be called concurrently.
type Observer interface {
	// Context returns the context that reconciles get, derived from ctx; its logger may be another one.
	Context(ctx context.Context) context.Context
	// Queue returns what the Controller uses in place of q, whose rate limiter must go on to be asked: it gives the delays, and
	// counts the failures. It is called once, by New.
	Queue(q Queue) Queue
	// Outcome tells how the reconcile ended that the calling goroutine works on, before its key is added again or marked
	// done. err is nil for trace.Done only.
	Outcome(outcome trace.Outcome, err error)
}

// unobserved is the Observer of a Controller that has none.
type unobserved struct{}

var _ Observer = unobserved{}

func (unobserved) Context(ctx context.Context) context.Context { return ctx }
func (unobserved) Queue(q Queue) Queue                         { return q }
func (unobserved) Outcome(trace.Outcome, error)                {}
