package diagnosis

import (
	"slices"

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
	if owner := controllerOf(s.Asked); owner != nil && isPod(s.Asked) && s.Asked.Deleting != nil &&
		len(d.Causes) > 0 && d.Causes[0].Type == inspect.Finalizer && d.Causes[0].Weight == inspect.Symptom {
		return []*ownertree.Node{owner} // whose controller removes it
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
