package main

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// twig is what a tree draws as one line: an object, or several in the same state.
type twig struct {
	*limb
	// folded are the objects, if they are several; the limb is the first of them.
	folded   []*limb
	children []*twig
}

// badShown is how many objects that are in the same trouble are shown by name.
const badShown = 3

// folder decides what is drawn in one line.
type folder struct {
	// expand folds nothing; pods keeps pods apart, because their containers are shown.
	expand, pods bool
}

// tops arranges the outermost objects. One that owns something keeps a line of its own: it is what a forest is read for.
func (f folder) tops(all []*limb) []*twig {
	return f.arrange(all, func(l *limb) bool { return len(l.children) == 0 })
}

func (f folder) below(all []*limb) []*twig { return f.arrange(all, func(*limb) bool { return true }) }

// alike is what objects have in common that are drawn in one line.
type alike struct {
	group, kind, namespace, relation string
	status, reason                   string
	// owners and below tell those apart that have others: what a line says holds for each of its objects.
	owners, below string
	repeated      bool
}

func alikeOf(l *limb) alike {
	return alike{
		l.Node.Kind.Group, l.Node.Kind.Kind, l.Node.Namespace, l.Relation, l.status(), l.ownersReason(),
		ownersText(l.Node, nil), belowText(l), l.Repeated,
	}
}

// arrange sorts siblings, bad ones first, and puts those in the same state together.
func (f folder) arrange(all []*limb, may func(*limb) bool) []*twig {
	groups := map[alike][]*limb{}
	var order []alike
	var out []*twig
	for _, l := range all {
		if f.expand || !may(l) || !f.foldable(l) {
			out = append(out, f.twig(l))
			continue
		}
		key := alikeOf(l)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], l)
	}
	for _, key := range order {
		out = append(out, f.fold(groups[key])...)
	}
	slices.SortStableFunc(out, compareTwigs)
	return out
}

// foldable says whether the object needs no line of its own: it was not asked for, and nothing below it is wrong or asked
// for, drawn elsewhere, or related to something. What is related to the object itself is drawn below all that are folded.
func (f folder) foldable(l *limb) bool {
	if l.asked || l.Cycle || l.Truncated > 0 || l.facts.Drifted() || l.dangles() || f.pods && len(l.facts.containers) > 0 {
		return false
	}
	if l.Relation == "" && l.Repeated {
		return false
	}
	return !slices.ContainsFunc(l.children, func(c *limb) bool {
		return c.Relation == "" && (c.worst > calm || !f.foldable(c) || slices.ContainsFunc(c.children, (*limb).isRelated))
	})
}

// fold draws objects in the same state as one line, but some by name if they are in trouble.
func (f folder) fold(same []*limb) []*twig {
	named := 0
	if same[0].severity > calm {
		named = badShown
	}
	if len(same)-named < 2 {
		named = len(same)
	}
	var out []*twig
	for _, l := range same[:named] {
		out = append(out, f.twig(l))
	}
	if rest := same[named:]; len(rest) > 0 {
		out = append(out, &twig{limb: rest[0], folded: rest, children: f.below(related(rest))})
	}
	return out
}

func (f folder) twig(l *limb) *twig { return &twig{limb: l, children: f.below(l.children)} }

// related are the objects that several are related to, each once.
func related(all []*limb) []*limb {
	type tie struct {
		uid      types.UID
		relation string
	}
	seen := map[tie]bool{}
	var out []*limb
	for _, l := range all {
		for _, c := range l.children {
			if t := (tie{c.Node.UID, c.Relation}); c.Relation != "" && !seen[t] {
				seen[t] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// compareTwigs orders siblings: what is owned before what is related, what is worse first, single objects before many.
func compareTwigs(a, b *twig) int {
	return cmp.Or(
		cmp.Compare(min(len(a.Relation), 1), min(len(b.Relation), 1)),
		-cmp.Compare(max(a.worst, calm), max(b.worst, calm)),
		cmp.Compare(min(len(a.folded), 1), min(len(b.folded), 1)),
	)
}
