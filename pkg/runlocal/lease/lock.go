package lease

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
)

// DefaultNamespace is where the Leases of a control plane are.
const DefaultNamespace = metav1.NamespaceSystem

// kube-controller-manager's own times. They mirror RecommendedDefaultLeaderElectionConfiguration of
// k8s.io/component-base/config/v1alpha1/defaults.go.
const (
	DefaultDuration = 15 * time.Second
	DefaultDeadline = 10 * time.Second
	DefaultRetry    = 2 * time.Second
)

// Name returns the name of a runner's Lease. shard and shards are 0 for a runner that has all namespaces.
func Name(shard, shards int) string {
	if shards == 0 {
		return "kubectl-reconcile"
	}
	return fmt.Sprintf("kubectl-reconcile-%d-of-%d", shard, shards)
}

// Options configure Acquire.
type Options struct {
	// Client reads and writes the Lease. A request of it must not take longer than half of Deadline.
	Client coordinationv1client.LeasesGetter
	// Namespace and Name are the Lease's. It is created if it does not exist. An empty namespace means
	// DefaultNamespace.
	Namespace, Name string
	// Identity is the holder's name, which must be unique among processes.
	Identity string
	// OnWaiting, if it is not nil, is called with the holder of the Lease while Acquire waits for it, once for each
	// holder.
	OnWaiting func(holder string)
	// OnError, if it is not nil, is called with an error when the Lease cannot be read or written, and with nil when
	// that succeeds again. It is called by one goroutine at a time.
	OnError func(error)
	// Duration is how long others wait after the last change of the Lease before they acquire it. Deadline, less than
	// Duration, is how long the holder tries to renew the Lease before it counts as lost. Retry is the time between two
	// tries. 0 means the default of each. Duration is stored in whole seconds.
	Duration, Deadline, Retry time.Duration
	// Clock measures the age of the last renewal, for Valid; nil means the real clock.
	Clock clock.PassiveClock
}

func (o Options) withDefaults() Options {
	defaults := func(d *time.Duration, or time.Duration) {
		if *d == 0 {
			*d = or
		}
	}
	defaults(&o.Duration, DefaultDuration)
	defaults(&o.Deadline, DefaultDeadline)
	defaults(&o.Retry, DefaultRetry)
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.OnWaiting == nil {
		o.OnWaiting = func(string) {}
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return o
}

// Lock is a Lease that this process holds until Lost is closed or Release is called. Its methods may be called
// concurrently.
type Lock struct {
	options  Options
	observed *observedLock
	cancel   context.CancelFunc
	ended    chan struct{}         // closed when the election has ended
	closed   atomic.Pointer[error] // by Invalidate
}

// Acquire waits until this process holds the Lease. A goroutine renews it from then on, also after the end of ctx,
// until Release or until it is lost. Acquire fails for an error that waiting cannot resolve, such as a missing
// permission, and when ctx ends.
func Acquire(ctx context.Context, o Options) (*Lock, error) {
	o = o.withDefaults()
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}, Client: o.Client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
	}
	return acquire(ctx, o, lock)
}

func acquire(ctx context.Context, o Options, lock resourcelock.Interface) (*Lock, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h := &Lock{options: o, observed: newObservedLock(lock, o), cancel: cancel, ended: make(chan struct{})}
	acquired := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: h.observed, Name: o.Name, LeaseDuration: o.Duration, RenewDeadline: o.Deadline, RetryPeriod: o.Retry,
		// The elector would release the Lease before it reports it lost, which may take as long as the deadline.
		ReleaseOnCancel: false,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(acquired) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("electing the holder of Lease %q: %w", o.Name, err)
	}
	go func() {
		defer close(h.ended)
		elector.Run(withoutLogging(life))
		h.observed.lose(h.expired())
	}()
	select {
	case <-acquired:
		return h, nil
	case <-h.observed.lost:
		err = h.observed.reason()
	case <-ctx.Done():
		err = ctx.Err()
	}
	cancel()
	<-h.ended
	if ctx.Err() != nil && h.observed.mayHold() { // acquired at the last moment, but the caller will not use it
		err = errors.Join(err, h.clearHolder(context.WithoutCancel(ctx)))
	}
	return nil, fmt.Errorf("waiting for Lease %q in %q: %w", o.Name, o.Namespace, err)
}

// expired returns the error of a Lease that is lost because it was not renewed.
func (h *Lock) expired() error {
	why := fmt.Errorf("it could not be renewed for %s", h.options.Deadline)
	if trouble := h.observed.lastError(); trouble != nil {
		why = fmt.Errorf("%w: %w", why, trouble)
	}
	return &LostError{Name: h.options.Name, Namespace: h.options.Namespace, Err: why}
}

// Lost returns a channel that is closed when this process no longer holds the Lease, or may not hold it: at most
// Options.Deadline and Options.Retry after the last renewal. Release does not close it.
func (h *Lock) Lost() <-chan struct{} { return h.observed.lost }

// Err returns a *LostError once Lost is closed, nil before.
func (h *Lock) Err() error {
	select {
	case <-h.observed.lost:
		return h.observed.reason()
	default:
		return nil
	}
}

// Release clears the holder of the Lease, so that the next process need not wait until it expires. All that writes
// under the Lease must have ended before. Release does nothing if the Lease is lost, and may be called again.
func (h *Lock) Release(ctx context.Context) error {
	h.Invalidate(errReleased)
	h.observed.release()
	h.cancel()
	<-h.ended
	select {
	case <-h.observed.lost:
		return nil
	default:
		return h.clearHolder(ctx)
	}
}

// clearHolder stores the Lease without a holder, as client-go's release does. It retries on conflicts, since a renewal
// that was cut off may still reach the server. A Lease that does not exist has no holder either.
func (h *Lock) clearHolder(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.options.Deadline/2)
	defer cancel()
	lock := h.observed.Interface
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		record, _, err := lock.Get(ctx)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil || record.HolderIdentity != h.options.Identity {
			return err
		}
		now := metav1.Now()
		return lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
		})
	})
	if err != nil {
		return fmt.Errorf("releasing Lease %q in %q: %w", h.options.Name, h.options.Namespace, err)
	}
	return nil
}

// LostError is the error of a Lease that is no longer held.
type LostError struct {
	Namespace, Name string
	Err             error
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("the Lease %s/%s is lost: %v", e.Namespace, e.Name, e.Err)
}

// Unwrap returns why the Lease is lost.
func (e *LostError) Unwrap() error { return e.Err }
