package engine

import (
	"context"
	"errors"
	"time"
)

// Request names the object that a reconcile is about. It is the key of the queue.
type Request struct {
	// Namespace is empty for an object of the cluster.
	Namespace string
	Name      string
}

// String spells the request as controllers spell keys: namespace/name, or name.
func (r Request) String() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// Result says what shall happen after a reconcile without an error.
type Result struct {
	// RequeueAfter brings the request back after that time. 0 or less means not at all; a watch event may bring it back
	// sooner and does not take the place of the timer.
	RequeueAfter time.Duration
}

// Reconciler brings one object closer to what it should be.
type Reconciler interface {
	// Reconcile is called with one request at a time for each key, and concurrently for different keys. The object may be
	// gone. ctx ends only when a stop has lasted longer than its grace.
	//
	// An error brings the request back with exponential backoff until it has failed too often. A conflict
	// (apierrors.IsConflict) brings it back soon; an error made by Terminal, not at all. A panic counts as an error.
	Reconcile(ctx context.Context, r Request) (Result, error)
}

// Func is a function as a Reconciler.
type Func func(ctx context.Context, r Request) (Result, error)

var _ Reconciler = Func(nil)

// Reconcile implements Reconciler.
func (f Func) Reconcile(ctx context.Context, r Request) (Result, error) { return f(ctx, r) }

type terminalError struct{ err error }

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// Terminal marks err as one that no retry mends: the request is given up until an event or timer adds it again. The text
// stays that of err; Terminal(nil) is nil.
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
