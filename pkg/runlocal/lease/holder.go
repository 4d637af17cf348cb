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

// Holder is who holds a Lease by what the Lease says, which may be long ago.
type Holder struct {
	// Identity is the holder's name, for Kubernetes' own programs HOST_UID.
	Identity string
	// Renewed is when it has renewed the Lease, by its own clock; zero if it has not said.
	Renewed time.Time
	// Duration is for how long it is the holder from then on.
	Duration time.Duration

	version string // of the Lease: it changes with each renewal
}

// NewerThan reports whether h holds a Lease by a record that is not that of first, nil for no one, any more. h may be nil.
func (h *Holder) NewerThan(first *Holder) bool {
	return h != nil && (first == nil || h.version != first.version)
}

// HolderOf reads who holds a Lease, nil if no one does, and whether there is such a Lease.
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

// WaitForRenewal waits until the Lease of first is seen to be renewed, for as long as its holder may take to, which is first.Duration,
// and returns who has renewed it. It returns nil if no one has: then no one holds the Lease, whatever its times say. look is the
// time between two looks; 0 is DefaultRetry.
func WaitForRenewal(
	ctx context.Context, client coordinationv1client.LeasesGetter, namespace, name string, first *Holder, look time.Duration,
) (*Holder, error) {
	if first == nil {
		return nil, nil //nolint:nilnil // no one, as documented
	}
	if look == 0 {
		look = DefaultRetry
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
			return nil, nil //nolint:nilnil // no one, as documented
		}
		if over, err = waitPoll(ctx, timer.C, look); err != nil {
			return nil, err
		}
	}
}

// waitPoll waits for the next look, and reports whether it is the last one, as it is after end.
func waitPoll(ctx context.Context, end <-chan time.Time, look time.Duration) (last bool, err error) {
	pause := time.NewTimer(look)
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

// NewHolderOptions are those of Taken.
type NewHolderOptions struct {
	// PollInterval is the time between two reads of the Lease where it cannot be watched; 0 is DefaultRetry. Beside a watch it is read four
	// times in Deadline, for a watch may be dead and not show it.
	PollInterval time.Duration
	// Deadline is how long the Lease may be unreadable; 0 is DefaultDeadline.
	Deadline time.Duration
}

// WaitForNewHolder waits until someone holds a Lease who is not in the record of first, nil for no one, and returns who: by a watch, and
// where that is not possible by reading the Lease again and again. It fails when the Lease could not be read for o.Deadline, for
// then it is not known, and when ctx ends.
func WaitForNewHolder(
	ctx context.Context, client coordinationv1client.LeasesGetter, namespace, name string, first *Holder, o NewHolderOptions,
) (*Holder, error) {
	look, deadline := cmp.Or(o.PollInterval, DefaultRetry), cmp.Or(o.Deadline, DefaultDeadline)
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
		if next, err = watchForNewHolder(ctx, client.Leases(namespace), name, deadline/4, look, isNew); err != nil || next != nil {
			return next, err
		}
	}
}

// watchForNewHolder watches a Lease for that long, and returns the first holder that is new; nil if there is none. If it cannot be watched
// any longer, it returns after the time of a look. The error is ctx's.
func watchForNewHolder(
	ctx context.Context, client coordinationv1client.LeaseInterface, name string, long, look time.Duration, isNew func(*Holder) bool,
) (*Holder, error) {
	over := time.NewTimer(long)
	defer over.Stop()
	changes := make(<-chan watch.Event) // without a watch, of none
	w, err := client.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: name}))
	if err == nil {
		defer w.Stop()
		changes = w.ResultChan()
	} else {
		over.Reset(look)
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
				over.Reset(look)
			}
			if l, ok := e.Object.(*coordinationv1.Lease); ok && e.Type != watch.Deleted && isNew(holderIn(l)) {
				return holderIn(l), nil
			}
		}
	}
}
