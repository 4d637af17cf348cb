package diagnosis

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// The components whose Leases show whether they run, and the namespace of these.
const (
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	leaseNamespace    = "kube-system"
)

// leasesOf reads the Leases of the components that should act on the objects.
func (r *situationReader) leasesOf(ctx context.Context) error {
	facts, _ := r.facts.At(r.now)
	wanted := map[string]bool{}
	for _, n := range r.explained {
		if name := actsOn(n, facts.Of(n)); name != "" {
			wanted[name] = true
		}
	}
	kind, ok, err := r.kinds.Lookup(schema.GroupVersionKind{Group: "coordination.k8s.io", Kind: "Lease"})
	if err != nil || !ok {
		return nil //nolint:nilerr // discovery's failure is in Graph.Incomplete
	}
	for _, name := range []string{controllerManager, scheduler} {
		if !wanted[name] {
			continue
		}
		// Where the control plane is hidden there is none.
		if obj := r.object(ctx, kind, leaseNamespace, name); obj != nil {
			r.leases[name] = leaseOf(name, obj)
		}
	}
	return nil
}

// mostWritten bounds the objects of a kind that are looked at to find out whether anything writes to them.
const mostWritten = 300

// writesOf finds out who writes to objects of the kinds whose controllers have not seen a change.
func (r *situationReader) writesOf(ctx context.Context) error {
	facts, _ := r.facts.At(r.now)
	counts := map[*cluster.Kind]int{}
	for _, n := range r.graph.Nodes() {
		if n.Namespace == r.Asked.Namespace {
			counts[n.Kind]++
		}
	}
	for _, n := range r.explained {
		_, tried := r.writes[n.Kind]
		if !facts.Of(n).Drifted() || tried || counts[n.Kind] < 2 || counts[n.Kind] > mostWritten {
			continue
		}
		writes := &inspect.Writes{}
		target := cluster.Target{Kind: *n.Kind, Namespace: n.Namespace}
		whole := cluster.ListOptions{Whole: true}
		err := r.reader.ListObjects(ctx, target, whole, func(obj *unstructured.Unstructured) error {
			writes.Add(obj)
			return nil
		})
		if err != nil {
			r.unread = append(r.unread, target.Incomplete(err))
			writes = nil
		}
		r.writes[n.Kind] = writes
	}
	return nil
}

// actsOn names the component that should act on an object and seems not to; empty if none does.
func actsOn(n *ownertree.Node, f *treestatus.Facts) string {
	switch {
	case f.Drifted() && isBuiltIn(n.Kind):
		return controllerManager
	case n.Kind.GroupKind() == schema.GroupKind{Kind: "Pod"} && f.Reason == "waiting to be scheduled":
		return scheduler
	}
	return ""
}

// isBuiltIn reports whether kube-controller-manager acts on objects of the kind.
func isBuiltIn(kind *cluster.Kind) bool {
	switch kind.Group {
	case "", "apps", "batch", "autoscaling", "policy":
		return true
	}
	return false
}

// leaseOf reads the Lease of a component; nil if it does not say when it was renewed, and for how long that holds:
// whether the component runs is not known then.
func leaseOf(name string, obj *unstructured.Unstructured) *inspect.Lease {
	var lease coordinationv1.Lease
	if runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &lease) != nil ||
		lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return nil
	}
	out := &inspect.Lease{
		Name: name, Renewed: lease.Spec.RenewTime.Time,
		Lasts: time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second,
	}
	if lease.Spec.HolderIdentity != nil {
		out.Holder = *lease.Spec.HolderIdentity
	}
	return out
}
