package diagnosis

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

const kueueGroup = "kueue.x-k8s.io"

// queuesOf has the ClusterQueue explained that the queue of the object leads to, which Kueue's label names.
func (r *situationReader) queuesOf(ctx context.Context) error {
	local, cluster := r.kind(kueueGroup, "LocalQueue"), r.kind(kueueGroup, "ClusterQueue")
	name := r.Asked.Labels[inspect.QueueLabel]
	if local == nil || cluster == nil || name == "" {
		return nil
	}
	others := func(n *ownertree.Node) bool { return !isWorkload(n) }
	r.read(ctx, slices.DeleteFunc(slices.Clone(r.Asked.Dependents), others))
	queue := r.object(ctx, *local, r.Asked.Namespace, name)
	if queue == nil {
		return nil
	}
	to := untyped.Map(queue.Object).Text("spec", "clusterQueue")
	if n, err := r.graph.Get(ctx, r.reader, ownertree.Ref{Kind: *cluster, Name: to}); err == nil {
		r.follow(ctx, r.Asked, n, "is queued in")
	}
	return nil
}

// held completes the causes of an object that a queue holds by what its Workload reports, which Kueue makes for it.
func (d *diagnoser) held(n *ownertree.Node, own []inspect.Cause) {
	i := slices.IndexFunc(own, func(c inspect.Cause) bool {
		return c.Type == inspect.HeldByQueue || c.Type == inspect.Paused || c.Type == inspect.HandedOver
	})
	if i < 0 {
		return
	}
	defer d.queueExists(&own[i])
	for _, w := range n.Dependents {
		if !isWorkload(w) {
			continue
		}
		c := &own[i]
		if c.Type == inspect.HandedOver && !slices.ContainsFunc(d.facts.Of(w).Conditions, keepsWaiting) {
			return // it was admitted
		}
		if c.Type == inspect.HandedOver {
			c.Detail = ""
		}
		c.Type, c.Certainty = inspect.HeldByQueue, inspect.Certain
		if c.Refers == nil {
			c.Detail = ""
			c.Refers = &inspect.Reference{Group: w.Kind.Group, Kind: w.Kind.Kind, Namespace: w.Namespace, Name: w.Name}
		}
		for _, condition := range d.facts.Of(w).Conditions {
			if keepsWaiting(condition) && c.Detail == "" {
				c.Detail = condition.Message
				c.Evidence = append(c.Evidence, inspect.Evidence{
					Source: inspect.FromObject, Name: "Workload/" + w.Name, Time: condition.Since,
					Text: condition.Type + "=" + condition.Status + " " + condition.Reason,
				})
			}
		}
		d.admissionChecks(w, c)
		return
	}
}

// admissionChecks adds what a Workload waits for beside quota.
func (d *diagnoser) admissionChecks(w *ownertree.Node, c *inspect.Cause) {
	obj := d.objects[w.UID]
	if obj == nil {
		return
	}
	hasQuota := slices.ContainsFunc(d.facts.Of(w).Conditions, func(c inspect.Condition) bool {
		return c.Type == "QuotaReserved" && c.Status == "True"
	})
	checks := untyped.Map(obj.Object).Maps("status", "admissionChecks")
	for _, state := range []string{"Rejected", "Retry", "Pending"} {
		at := slices.IndexFunc(checks, func(check untyped.Map) bool { return check.Text("state") == state })
		if at < 0 || !hasQuota { // before, all are pending
			continue
		}
		text := fmt.Sprintf("admission check %s is %s", checks[at].Text("name"), state)
		if message := checks[at].Text("message"); message != "" {
			text += ": " + message
		}
		c.Detail = text
		c.Evidence = append(c.Evidence, inspect.Evidence{
			Source: inspect.FromObject, Name: "Workload/" + w.Name, Text: text,
		})
		return
	}
}

func isWorkload(n *ownertree.Node) bool {
	return n.Kind.GroupKind() == schema.GroupKind{Group: kueueGroup, Kind: "Workload"}
}

// belowWorkloads puts what Workloads own in their place: what they report was told with the object that they hold.
func belowWorkloads(nodes []*treestatus.StatusNode) []*treestatus.StatusNode {
	var out []*treestatus.StatusNode
	for _, n := range nodes {
		if isWorkload(n.Branch.Node) {
			out = append(out, n.Children...)
		} else {
			out = append(out, n)
		}
	}
	return out
}

// isHeld reports whether one of the causes is that a queue holds an object.
func isHeld(own []inspect.Cause) bool {
	return slices.ContainsFunc(own, func(c inspect.Cause) bool { return c.Type == inspect.HeldByQueue })
}

// keepsWaiting reports whether a condition of a Workload of Kueue keeps its Job from being started.
func keepsWaiting(c inspect.Condition) bool {
	return c.Status == "False" && (c.Type == "QuotaReserved" || c.Type == "Admitted") ||
		c.Status == "True" && c.Type == "Evicted"
}

// queueExists notes that the queue that holds an object does not exist.
func (d *diagnoser) queueExists(c *inspect.Cause) {
	if c.Refers == nil || c.Type != inspect.HeldByQueue || c.Detail != "" {
		return
	}
	_, served, err := d.kinds.Lookup(schema.GroupVersionKind{Group: c.Refers.Group, Kind: c.Refers.Kind})
	if !served || err != nil || d.find(c.Refers) != nil {
		return
	}
	c.Detail = "it does not exist"
}
