package engine

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// Options configure a Controller. Name and Reconciler are needed.
type Options struct {
	// Name appears in logs and errors.
	Name       string
	Reconciler Reconciler
	// Workers is how many reconciles may run at once; 0 means 1, less than 0 is an error.
	Workers int
	// BaseDelay is the delay after the first failure, and doubles with each one in a row; 0 means 5 milliseconds.
	BaseDelay time.Duration
	// MaxDelay bounds it; 0 means 1,000 seconds.
	MaxDelay time.Duration
	// MaxRetries is how often a request that fails is tried again before it is given up; 0 means 15, less than 0 means
	// without end.
	MaxRetries int
	// ConflictDelay is the delay after a conflict; 0 means 10 milliseconds. After five of them in a row, a conflict counts as
	// any other error; before, it is a retry that does not count against MaxRetries.
	ConflictDelay time.Duration
	// Grace is how long running reconciles may go on after a stop before their context ends, and then how long they may take
	// to notice; 0 means one second.
	Grace time.Duration
	// Clock is the time of the queue's delays and of Grace; nil means the real one.
	Clock clock.WithTicker
	// Observer may be nil.
	Observer Observer
}

// complete returns o with its defaults filled in.
func (o Options) complete() (Options, error) {
	if o.Name == "" || o.Reconciler == nil {
		return o, errors.New("a controller needs a name and a reconciler")
	}
	if o.Workers < 0 {
		return o, fmt.Errorf("%d workers cannot be", o.Workers)
	}
	o.Workers = defaultTo(o.Workers, 1)
	o.BaseDelay = defaultTo(o.BaseDelay, 5*time.Millisecond)
	o.MaxDelay = defaultTo(o.MaxDelay, 1000*time.Second)
	o.MaxRetries = defaultTo(o.MaxRetries, 15)
	o.ConflictDelay = defaultTo(o.ConflictDelay, 10*time.Millisecond)
	o.Grace = defaultTo(o.Grace, time.Second)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	return o, nil
}

func defaultTo[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
