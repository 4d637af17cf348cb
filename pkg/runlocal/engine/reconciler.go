package engine

import (
	"context"
	"errors"
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
	// (apierrors.IsConflict) brings it back soon; an error made by Terminal, not at all. A panic counts as an error.
	Reconcile(ctx context.Context, r Request) (Result, error)
}

// Func is a function that implements Reconciler.
type Func func(ctx context.Context, r Request) (Result, error)

var _ Reconciler = Func(nil)

// Reconcile implements Reconciler.
func (f Func) Reconcile(ctx context.Context, r Request) (Result, error) { return f(ctx, r) }

// terminalError is an error of Terminal.
type terminalError struct{ err error }

// Error implements error.
func (e *terminalError) Error() string { return e.err.Error() }

// Unwrap returns the error that Terminal was called with.
func (e *terminalError) Unwrap() error { return e.err }

// Terminal returns an error with the text of err that is not retried: the request is given up until an event or a timer
// adds it again. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

// IsTerminal reports whether err was made by Terminal, or wraps such an error.
func IsTerminal(err error) bool {
	var t *terminalError
	return errors.As(err, &t)
}
