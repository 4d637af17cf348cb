package trace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// own returns the step of a controller for a key in the tree that a step is in; nil if there is none.
func (s *Step) own(controller, key string) *Step {
	if s == nil || s.taken {
		return nil
	}
	root := s
	for root.parent != nil && !root.parent.taken {
		root = root.parent
	}
	return root.find(controller, key)
}

func (s *Step) find(controller, key string) *Step {
	if s.Controller == controller && s.keys[key] {
		return s
	}
	for _, below := range s.Steps {
		if found := below.find(controller, key); found != nil {
			return found
		}
	}
	return nil
}

// volatile matches parts of messages that differ from one occurrence to the next: numbers, the suffixes of generated
// names.
var volatile = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b|\d+`)

// add adds an act about an object to a step: to one like it, if there is one.
func (s *Step) add(act *Act, name Named, key string, then bool) {
	if s.keys != nil {
		s.keys[key] = true
	}
	act.Objects, act.Count = []Named{name}, max(act.Count, 1)
	if act.Last.IsZero() {
		act.Last = act.First
	}
	for _, c := range act.Changes {
		if c.Path == "spec.replicas" && act.Verb != "create" && act.Type != ActStatus {
			act.Replicas = []any{c.Old, c.New}
		}
	}
	act.signature = act.sign(name)
	for _, before := range s.Acts {
		if before.signature == act.signature {
			if act.created != nil && len(before.Objects) == 1 && before.Objects[0].isSame(name) {
				act.Changes = act.created.Fields() // it was deleted meanwhile
			}
			act.Objects[0].Then = then
			before.merge(act)
			return
		}
	}
	if act.created != nil {
		act.Changes, act.created = act.created.Fields(), nil
	}
	s.Acts = append(s.Acts, act)
}

func (n Named) isSame(other Named) bool {
	return n.Namespace == other.Namespace && n.Name == other.Name
}

// sign returns what acts have in common that are told as one.
func (a *Act) sign(name Named) string {
	parts := []string{string(a.Type), a.Verb, a.Of.Group, a.Of.Resource, a.Subresource, a.Operation}
	switch {
	case a.Type == ActStatus:
		for _, c := range a.Changes {
			parts = append(parts, c.Path, fmt.Sprint(c.New))
		}
	case a.Replicas != nil:
		parts = append(parts, name.Namespace, name.Name)
	case a.Message != "":
		parts = append(parts, volatile.ReplaceAllString(a.Message, ""))
	}
	return strings.Join(parts, "\x00")
}

// merge adds a later act that is like this one, or of the same objects.
func (a *Act) merge(later *Act) {
	a.Count += later.Count
	a.Again = a.Again && later.Again
	if later.Last.After(a.Last) {
		a.Last = later.Last
	}
	if a.known == nil {
		a.known = map[[2]string]bool{}
		for _, name := range a.Objects {
			a.known[[2]string{name.Namespace, name.Name}] = true
		}
	}
	for _, name := range later.Objects {
		if key := [2]string{name.Namespace, name.Name}; !a.known[key] {
			a.known[key] = true
			a.Objects = append(a.Objects, name)
		}
	}
	if len(a.Objects) > 1 {
		return // the changes are those of the first
	}
	if later.Replicas != nil && a.Replicas != nil {
		from := later.Replicas
		if fmt.Sprint(from[0]) == fmt.Sprint(a.Replicas[len(a.Replicas)-1]) {
			from = from[1:] // else somebody else has written in between
		}
		a.Replicas = append(a.Replicas, from...)
	}
	changes := slices.Clone(a.Changes) // the slice is that of the event
	for _, c := range later.Changes {
		if i := slices.IndexFunc(changes, func(o fields.Change) bool { return o.Path == c.Path }); i >= 0 {
			changes[i].New = c.New
		} else {
			changes = append(changes, c)
		}
	}
	slices.SortStableFunc(changes, func(x, y fields.Change) int { return strings.Compare(x.Path, y.Path) })
	a.Changes = changes
}

// finish makes steps ready to be told: acts that are alike but for their object become one, and all is in the order of
// its beginning.
func (s *Story) finish(steps []*Step) []*Step {
	steps = withoutEmpty(steps)
	for _, step := range steps {
		step.taken = true
		var acts []*Act
		for _, a := range step.Acts {
			for i := range a.Objects {
				if o := &a.Objects[i]; a.Subresource == "binding" {
					o.Node, _ = s.nodes.Get(o.Namespace + "/" + o.Name)
				}
			}
			if i := slices.IndexFunc(acts, a.isLike); i >= 0 {
				acts[i].merge(a)
			} else {
				acts = append(acts, a)
			}
		}
		slices.SortStableFunc(acts, func(a, b *Act) int { return a.First.Compare(b.First) })
		step.Acts = acts
		step.Steps = s.finish(step.Steps)
		if len(step.Steps) > 0 && step.Steps[0].First().Before(acts[0].First) {
			acts[0].First = step.Steps[0].First() // its answer came late: what it led to had been seen
		}
	}
	slices.SortStableFunc(steps, func(a, b *Step) int { return a.First().Compare(b.First()) })
	return steps
}

// withoutEmpty replaces steps in which nothing is told by those below them.
func withoutEmpty(steps []*Step) []*Step {
	var out []*Step
	for _, step := range steps {
		if len(step.Acts) > 0 {
			out = append(out, step)
			continue
		}
		step.taken = true
		out = append(out, withoutEmpty(step.Steps)...)
	}
	return out
}

// isLike reports whether two acts of a step differ only in their objects.
func (a *Act) isLike(b *Act) bool {
	sameChange := func(x, y fields.Change) bool { return x.Path == y.Path && fmt.Sprint(x.New) == fmt.Sprint(y.New) }
	return a.Type == b.Type && a.Verb == b.Verb && a.Of.Group == b.Of.Group && a.Of.Resource == b.Of.Resource &&
		a.Subresource == b.Subresource && a.Operation == b.Operation &&
		a.Message == b.Message && fmt.Sprint(a.Replicas) == fmt.Sprint(b.Replicas) && // they may be lists
		(a.Type != ActStatus || slices.EqualFunc(a.Changes, b.Changes, sameChange)) &&
		(a.Replicas != nil || a.Type == ActStatus)
}
