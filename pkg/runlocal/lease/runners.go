package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Runner is another process of this program whose namespaces overlap with this one's.
type Runner struct {
	// Lease is the name of its Lease.
	Lease string
	*Holder
}

// OverlappingRunners returns the runners with Leases in namespace whose namespaces overlap with those of the shard,
// sorted by Lease: for a runner that has all namespaces, whose shard and shards are 0, those with a shard; for a shard
// those that have all namespaces, or shards of another number. Only runners that are seen to renew their Leases are
// returned, which takes up to the longest of their durations. onWait is called before, with the holders of overlapping
// Leases, if there are any. interval is as for WaitForRenewal.
func OverlappingRunners(
	ctx context.Context, client coordinationv1client.LeasesGetter, namespace string, shard, shards int,
	onWait func(held []Runner), interval time.Duration,
) ([]Runner, error) {
	list, err := client.Leases(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Leases in %q: %w", namespace, err)
	}
	var held []Runner
	for i := range list.Items {
		l := &list.Items[i]
		if holder := holderIn(l); holder != nil && overlaps(l.Name, shard, shards) {
			held = append(held, Runner{l.Name, holder})
		}
	}
	if len(held) == 0 {
		return nil, nil
	}
	slices.SortFunc(held, func(a, b Runner) int { return cmp.Compare(a.Lease, b.Lease) })
	onWait(held)
	live, errs := make([]*Holder, len(held)), make([]error, len(held))
	var looking sync.WaitGroup
	for i, s := range held {
		looking.Go(func() { live[i], errs[i] = WaitForRenewal(ctx, client, namespace, s.Lease, s.Holder, interval) })
	}
	looking.Wait()
	var out []Runner
	for i, holder := range live {
		if holder != nil {
			out = append(out, Runner{held[i].Lease, holder})
		}
	}
	return out, errors.Join(errs...)
}

// overlaps reports whether the Lease of that name is that of a runner whose namespaces overlap with the shard's. Two
// shards of the same number do not.
func overlaps(name string, shard, shards int) bool {
	var theirs, of int
	switch n, err := fmt.Sscanf(name, Name(0, 0)+"-%d-of-%d", &theirs, &of); {
	case name == Name(shard, shards):
		return false
	case name == Name(0, 0):
		return true
	case err != nil || n != 2 || name != Name(theirs, of):
		return false
	}
	return of != shards
}
