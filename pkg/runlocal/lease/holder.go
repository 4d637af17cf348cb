package lease

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// HolderOf reads who holds a Lease; nil is nobody, or that there is no such Lease.
func HolderOf(ctx context.Context, client coordinationv1client.LeasesGetter, namespace, name string) (*Holder, error) {
	l, err := client.Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nobody, as documented
	}
	if err != nil {
		return nil, fmt.Errorf("reading Lease %q in %q: %w", name, namespace, err)
	}
	return holderIn(l), nil
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

// mostObserved bounds how long a Lease is watched for a sign of life, whatever duration it says.
const mostObserved = time.Minute

// Watched is how long Live watches a Lease at most: as long as its holder may take to renew it, up to a minute.
func Watched(h *Holder) time.Duration { return min(h.Duration, mostObserved) }

// Live waits until the Lease of first is seen to be renewed, for as long as Watched says, and returns who
// has done so. It returns nil if nobody has: then nobody holds the Lease, whatever its times say. look is the time between
// two looks; 0 is DefaultRetry.
func Live(
	ctx context.Context, client coordinationv1client.LeasesGetter, namespace, name string, first *Holder, look time.Duration,
) (*Holder, error) {
	if first == nil {
		return nil, nil //nolint:nilnil // nobody, as documented
	}
	if look == 0 {
		look = DefaultRetry
	}
	timer := time.NewTimer(Watched(first))
	defer timer.Stop()
	for over := false; ; {
		next, err := HolderOf(ctx, client, namespace, name)
		switch {
		case err != nil || next == nil:
			return nil, err
		case next.version != first.version:
			return next, nil
		case over:
			return nil, nil //nolint:nilnil // nobody, as documented
		}
		if over, err = await(ctx, timer.C, look); err != nil {
			return nil, err
		}
	}
}

// await waits for the next look, and says whether it is the last one, as it is when end tells so.
func await(ctx context.Context, end <-chan time.Time, look time.Duration) (last bool, err error) {
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

// Taken waits until somebody holds a Lease who is not in the record of first, nil for nobody, and returns who. Errors of
// reading are waited out: only ctx ends it otherwise.
func Taken(
	ctx context.Context, client coordinationv1client.LeasesGetter, namespace, name string, first *Holder, look time.Duration,
) (*Holder, error) {
	if look == 0 {
		look = DefaultRetry
	}
	for {
		next, err := HolderOf(ctx, client, namespace, name)
		if err == nil && next != nil && (first == nil || next.version != first.version) {
			return next, nil
		}
		if _, err := await(ctx, nil, look); err != nil {
			return nil, err
		}
	}
}
