package diagnosis

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// Unsure returns the objects whose controllers should be tried because what was read leaves the cause open, the object
// asked for first; nil if it does not, or if no controller would tell. It leaves the cause open if nothing was found
// but symptoms, and objects wait for nothing but their controllers; or if a controller seems not to act, which may be
// because what it writes is refused. The diagnosis must be of this Situation.
func (s *Situation) Unsure(d *Diagnosis) []*ownertree.Node {
	if d.Converged {
		return nil
	}
	if len(d.Causes) > 0 && d.Causes[0].Type == inspect.Finalizer && d.Causes[0].Weight == inspect.Symptom {
		owner := controllerOf(s.Asked)
		switch {
		case IsOrphanOfJob(s.Asked):
			return []*ownertree.Node{s.Asked}
		case owner != nil && isPod(s.Asked) && s.Asked.Deleting != nil:
			return []*ownertree.Node{owner} // whose controller removes it
		}
	}
	inactive := len(d.Causes) > 0 && isInactive(d.Causes[0])
	if len(d.Causes) > 0 && d.Causes[0].Weight != inspect.Symptom && !inactive {
		return nil
	}
	var out []*ownertree.Node
	for _, n := range s.explained {
		obj := s.objects[n.UID]
		drifted := inactive && slices.ContainsFunc(d.Causes, func(c *Cause) bool {
			return isInactive(c) && c.Node() == n
		})
		if obj != nil && (drifted || inspect.WaitsForController(obj)) {
			out = append(out, n)
		}
	}
	return out
}

// IsOrphanOfJob reports whether an object is a pod that is being deleted, and from which the controller of Jobs has to
// remove its finalizer although its Job is gone.
func IsOrphanOfJob(n *ownertree.Node) bool {
	owner := controllerOf(n)
	return (owner == nil || owner.UID == "") && isPod(n) && n.Deleting != nil &&
		n.Finalized(batchv1.JobTrackingFinalizer)
}

// isInactive reports whether the cause is that a controller does not act, and that this is no more than likely.
func isInactive(c *Cause) bool {
	return c.Type == inspect.GenerationNotSeen && c.Certainty == inspect.Likely
}

// Explained returns the objects whose causes were looked for: the one asked for first, then what is wrong below it and
// what that uses.
func (s *Situation) Explained() []*ownertree.Node { return slices.Clone(s.explained) }

// ObjectsIn counts the objects of a namespace that were listed.
func (s *Situation) ObjectsIn(namespace string) int {
	count := 0
	for _, n := range s.graph.Nodes() {
		if n.Namespace == namespace {
			count++
		}
	}
	return count
}
