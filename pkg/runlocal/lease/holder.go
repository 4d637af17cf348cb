package lease

import (
	"cmp"
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// ManagerName is the name of kube-controller-manager's Lease, in DefaultNamespace, unless its flag
// --leader-elect-resource-name says otherwise.
const ManagerName = "kube-controller-manager"

// Holder is the holder that a Lease names, which may have ended long ago.
type Holder struct {
	// Identity is the holder's name. Kubernetes' programs use HOST_UID.
	Identity string
	// Renewed is when the holder renewed the Lease last, by its own clock; zero if the Lease does not say.
	Renewed time.Time
	// Duration is how long it remains the holder from then on.
	Duration time.Duration

	version string // resourceVersion of the Lease, which changes with each renewal
}

// NewerThan reports whether h is a holder, and was read from another version of the Lease than first. Both may be nil,
// for a Lease without a holder.
func (h *Holder) NewerThan(first *Holder) bool {
	return h != nil && (first == nil || h.version != first.version)
}

// HolderOf reads the holder of a Lease, which is nil if the Lease names none, and whether the Lease exists.
func HolderOf(
	ctx context.Context, client coordinationv1client.LeasesGetter, namespace, name string,
) (holder *Holder, exists bool, err error) {
	l, err := client.Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading Lease %q in %q: %w", name, namespace, err)
	}
	return holderIn(l), true, nil
}

// holderIn returns the holder that l names, nil if it names none.
func holderIn(l *coordinationv1.Lease) *Holder {
	s := l.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" {
		return nil
	}
	h := &Holder{Identity: *s.HolderIdentity, Duration: DefaultDuration, version: l.ResourceVersion}
	if s.LeaseDurationSeconds != nil && *s.LeaseDurationSeconds > 0 {
		h.Duration = time.Duration(*s.LeaseDurationSeconds) * time.Second
	}
	if s.RenewTime != nil {
		h.Renewed = s.RenewTime.Time
	}
	return h
}

// WaitForRenewal waits until the Lease that first was read from is renewed, for at most first.Duration, and returns the
// holder then. It returns nil if it was not renewed: then no process holds the Lease, whatever its times say. interval
// is the time between two reads; 0 means DefaultRetry.
func WaitForRenewal(
	ctx context.Context, client coordinationv1client.LeasesGetter, namespace, name string,
	first *Holder, interval time.Duration,
) (*Holder, error) {
	if first == nil {
		return nil, nil //nolint:nilnil // no holder, as documented
	}
	if interval == 0 {
		interval = DefaultRetry
	}
	timer := time.NewTimer(first.Duration)
	defer timer.Stop()
	for over := false; ; {
		next, _, err := HolderOf(ctx, client, namespace, name)
		switch {
		case err != nil || next == nil:
			return nil, err
		case next.version != first.version:
			return next, nil
		case over:
			return nil, nil //nolint:nilnil // no holder, as documented
		}
		if over, err = waitPoll(ctx, timer.C, interval); err != nil {
			return nil, err
		}
	}
}

// waitPoll waits for the interval between two reads, and reports whether the next one is the last, as it is once end
// has fired.
func waitPoll(ctx context.Context, end <-chan time.Time, interval time.Duration) (last bool, err error) {
	pause := time.NewTimer(interval)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-end:
		return true, nil
	case <-pause.C:
		return false, nil
	}
}

// NewHolderOptions configure WaitForNewHolder.
type NewHolderOptions struct {
	// PollInterval is the time between two reads of the Lease where it cannot be watched; 0 means DefaultRetry. A Lease
	// that is watched is also read four times in Deadline, for a dead watch may not show it.
	PollInterval time.Duration
	// Deadline is how long the Lease may be unreadable; 0 means DefaultDeadline.
	Deadline time.Duration
}

// WaitForNewHolder waits until a Lease has a holder that is newer than first, which may be nil, and returns it. It
// watches the Lease, or polls it where it cannot be watched. It fails when the Lease could not be read for o.Deadline,
// since its holder is not known then, and when ctx ends.
func WaitForNewHolder(
	ctx context.Context, client coordinationv1client.LeasesGetter, namespace, name string,
	first *Holder, o NewHolderOptions,
) (*Holder, error) {
	interval, deadline := cmp.Or(o.PollInterval, DefaultRetry), cmp.Or(o.Deadline, DefaultDeadline)
	isNew := func(h *Holder) bool { return h.NewerThan(first) }
	for read := time.Now(); ; {
		limited, cancel := context.WithTimeout(ctx, deadline)
		next, _, err := HolderOf(limited, client, namespace, name)
		cancel()
		switch {
		case err == nil && isNew(next):
			return next, nil
		case err == nil:
			read = time.Now()
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case time.Since(read) >= deadline:
			return nil, err
		}
		next, err = watchForNewHolder(ctx, client.Leases(namespace), name, deadline/4, interval, isNew)
		if err != nil || next != nil {
			return next, err
		}
	}
}

// watchForNewHolder watches a Lease for the given time, and returns the first holder that is new, nil if there is none.
// If the Lease cannot be watched, or not any longer, it returns after interval. It fails only when ctx ends.
func watchForNewHolder(
	ctx context.Context, client coordinationv1client.LeaseInterface, name string,
	long, interval time.Duration, isNew func(*Holder) bool,
) (*Holder, error) {
	over := time.NewTimer(long)
	defer over.Stop()
	changes := make(<-chan watch.Event) // never receives without a watch
	w, err := client.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: name}))
	if err == nil {
		defer w.Stop()
		changes = w.ResultChan()
	} else {
		over.Reset(interval)
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over.C:
			return nil, nil //nolint:nilnil // no change, as documented
		case e, open := <-changes:
			if !open {
				changes = nil
				over.Reset(interval)
			}
			if l, ok := e.Object.(*coordinationv1.Lease); ok && e.Type != watch.Deleted && isNew(holderIn(l)) {
				return holderIn(l), nil
			}
		}
	}
}
