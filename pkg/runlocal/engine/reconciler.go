package engine

import (
	"context"
	"time"
)

// Request identifies the object of a reconcile. It is the key of the queue.
type Request struct {
	// Namespace is empty for a cluster-scoped object.
	Namespace string
	Name      string
}

// String returns the request as controllers spell keys: namespace/name, or name.
func (r Request) String() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// Result is the result of a reconcile without an error.
type Result struct {
	// RequeueAfter is the time after which the request is added again; it is not if the time is not positive. If a
	// watch event adds it earlier, the timer remains.
	RequeueAfter time.Duration
}

// Reconciler brings the state of an object closer to the desired one.
type Reconciler interface {
	// Reconcile is called with one request at a time for each key, and concurrently for different keys. The object may
	// be gone. ctx ends only when a stop has lasted longer than its grace.
	//
	// An error brings the request back with exponential backoff until it has failed too often. A conflict
	// (apierrors.IsConflict) brings it back soon. A panic counts as an error.
	Reconcile(ctx context.Context, r Request) (Result, error)
}

// Func is a function that implements Reconciler.
type Func func(ctx context.Context, r Request) (Result, error)

var _ Reconciler = Func(nil)

// Reconcile implements Reconciler.
func (f Func) Reconcile(ctx context.Context, r Request) (Result, error) { return f(ctx, r) }
