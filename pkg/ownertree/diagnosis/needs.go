package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// uses returns causes for what the object needs and does not exist, and visits what it uses and is not well. Its own
// causes are completed by what is wrong with the volumes that it could use.
func (d *diagnoser) uses(
	n *ownertree.Node, status *treestatus.StatusNode, chain []Link, own []inspect.Cause,
) []inspect.Cause {
	if !d.looksAtUses(n, status) && !isHeld(own) {
		return nil
	}
	var out []inspect.Cause
	static := d.misfits(n, own)
	for _, r := range d.relations[n] {
		switch {
		case n.Deleting != nil && isPod(n) && r.To.Kind.Kind != "Node": // its kubelet has to end it
		case static && r.Missing && r.To.Kind.Kind == "StorageClass":
		case r.Missing && r.Needed && d.facts.NeedsNow(r, d.objects[n.UID]):
			out = append(out, missing(r))
			for _, maker := range d.relations[r.To] {
				d.visit(append(slices.Clip(chain),
					Link{Node: maker.To, Facts: d.facts.Of(maker.To), Relation: maker.Type}))
			}
		case r.Missing || r.Unread || r.To.UID == "" || r.Type == runBy:
		case d.mayExplain(n, r):
			to := d.facts.Of(r.To)
			d.visit(append(slices.Clip(chain), Link{Node: r.To, Facts: to, Relation: r.Type}))
		}
	}
	return out
}

// governingService is the cause of a StatefulSet that the Service does not exist by which its pods have names: if what
// one of them reports has its name, or else, as a note, if the set is as requested.
func (d *diagnoser) governingService(n *ownertree.Node, status *treestatus.StatusNode) (inspect.Cause, bool) {
	var s appsv1.StatefulSet
	if n.Deleting != nil || !d.typed(n, &s) || s.Spec.ServiceName == "" || ptr.Deref(s.Spec.Replicas, 1) == 0 {
		return inspect.Cause{}, false
	}
	exists, known := d.graph.Exists(schema.GroupKind{Kind: "Service"})(n.Namespace, s.Spec.ServiceName)
	to := &inspect.Reference{Kind: "Service", Namespace: n.Namespace, Name: s.Spec.ServiceName}
	isNamed := slices.ContainsFunc(d.causes, func(c *Cause) bool {
		return isPod(c.Node()) && strings.Contains(c.Detail, "."+to.Name+".")
	})
	if exists || !known || !isNamed && !status.Facts.Current() {
		return inspect.Cause{}, false
	}
	c := inspect.Cause{
		Type: inspect.MissingObject, Certainty: inspect.Possible, Weight: inspect.General, Refers: to,
		Detail:   "names its pods by",
		Evidence: []inspect.Evidence{{Source: inspect.FromField, Name: "spec.serviceName", Text: to.Name}},
	}
	if isNamed {
		c.Certainty, c.Weight = inspect.Likely, inspect.Specific
	}
	return c, true
}

// looksAtUses reports whether what the object uses may be wrong: it is not well, or its status says nothing of that.
func (d *diagnoser) looksAtUses(n *ownertree.Node, status *treestatus.StatusNode) bool {
	switch n.Kind.GroupKind().String() {
	case "CustomResourceDefinition.apiextensions.k8s.io", "Node":
		return true
	}
	return isUnwell(status) || hasBackends(n)
}

// missing is the cause that what a relation leads to does not exist.
func missing(r ownertree.Relation) inspect.Cause {
	to, certainty := r.To, inspect.Certain
	if r.Type == reportedGone {
		certainty = inspect.Likely // by its words alone: they do not name the namespace
	}
	return inspect.Cause{
		Type: inspect.MissingObject, Certainty: certainty, Weight: inspect.Specific,
		Refers: &inspect.Reference{Group: to.Kind.Group, Kind: to.Kind.Kind, Namespace: to.Namespace, Name: to.Name},
		Detail: r.Type,
		Evidence: []inspect.Evidence{{
			Source: inspect.FromObject, Name: to.Kind.Kind + "/" + to.Name, Text: "does not exist",
		}},
	}
}

func isPod(n *ownertree.Node) bool { return n.Kind.GroupKind() == schema.GroupKind{Kind: "Pod"} }

// mayExplain reports whether the state of what a relation leads to may be the cause of that of the object.
func (d *diagnoser) mayExplain(n *ownertree.Node, r ownertree.Relation) bool {
	to, status := d.facts.Of(r.To), d.nodes[r.To]
	if status == nil || to.NotRead {
		return false
	}
	switch r.To.Kind.GroupKind().String() {
	case "Node":
		return (to.Status.Status == inspect.Failed || to.Status.Status == inspect.Unknown) && !d.ended(n)
	case "Pod": // selected by a Service, which needs one of them, or by a Deployment, which needs all
		enough := hasBackends(n) && d.someReady(n)
		return isUnwell(status) && !enough && !d.isReplaced(r.To) && !d.isOutdated(r.To)
	case "Service", "Ingress.networking.k8s.io":
		return true
	}
	return isUnwell(status) || status.WorstSeverity >= treestatus.SeverityDegraded
}

// ended reports whether a pod has ended, which its node cannot change any more.
func (d *diagnoser) ended(n *ownertree.Node) bool {
	var pod corev1.Pod
	return isPod(n) && d.typed(n, &pod) &&
		(pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded)
}

// isReplaced reports whether a pod has ended, and its owner makes another for it.
func (d *diagnoser) isReplaced(pod *ownertree.Node) bool {
	owner := controllerOf(pod)
	return d.facts.Of(pod).Ended && owner != nil && treestatus.ReplacesPods(owner.Kind.GroupKind())
}

// someReady reports whether a pod that the object selects is ready.
func (d *diagnoser) someReady(n *ownertree.Node) bool {
	return len(readyPods(d.facts, d.selected(n))) > 0
}

// dangling is the cause of an object that loses its owner.
func (d *diagnoser) dangling(n *ownertree.Node, status *treestatus.StatusNode) (inspect.Cause, bool) {
	if !status.LosesOwner() {
		return inspect.Cause{}, false
	}
	for i := range n.Owners {
		o := &n.Owners[i]
		if !o.Dangling() && !o.Impossible {
			continue
		}
		group := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group
		return inspect.Cause{
			Type: DanglingOwner, Certainty: inspect.Certain, Weight: inspect.Specific, Detail: status.Outcome.Why,
			Refers: &inspect.Reference{Group: group, Kind: o.Kind, Namespace: n.Namespace, Name: o.Name},
			Evidence: []inspect.Evidence{{
				Source: inspect.FromField, Name: "metadata.ownerReferences",
				Text: fmt.Sprintf("%s %s, uid %s: %s", o.Kind, o.Name, o.UID, o.Verdict),
			}},
		}, true
	}
	return inspect.Cause{}, false
}
