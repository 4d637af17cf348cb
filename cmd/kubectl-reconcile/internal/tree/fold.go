package tree

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// twig is what a tree draws as one line: an object, or several in the same state.
type twig struct {
	*limb
	// folded are the objects, if they are several; the limb is the first of them.
	folded   []*limb
	children []*twig
	// elsewhere is where a Repeated one is drawn in full.
	elsewhere side
}

// side is where one line is as another sees it.
type side int

const (
	nowhere side = iota
	above
	below
)

// badShown is how many objects that are in the same trouble are shown by name.
const badShown = 3

// foldOptions are what may be drawn in one line.
type foldOptions struct {
	// expand folds nothing; pods keeps pods apart, because their containers are shown, and events objects that have
	// Events.
	expand, pods, events bool
}

// fold arranges trees for drawing.
func fold(all []*limb, o foldOptions) []*twig {
	f := &folder{
		foldOptions: o, again: map[*ownertree.Node]bool{}, may: map[*limb]bool{},
		shapes: shapes{map[string]int{}, map[*limb]int{}},
	}
	for _, l := range each(all, false) {
		if l.Repeated {
			f.again[l.Node] = true
		}
	}
	// An outermost object that owns something keeps a line to itself: it is what a forest is read for.
	out := f.arrange(all, func(l *limb) bool { return len(l.children) == 0 })
	locate(out)
	return out
}

// folder decides what is drawn in one line.
type folder struct {
	foldOptions
	// again are the objects that are drawn several times.
	again map[*ownertree.Node]bool
	// may are the answers of foldable.
	may    map[*limb]bool
	shapes shapes
}

func (f *folder) below(all []*limb) []*twig { return f.arrange(all, func(*limb) bool { return true }) }

// locate notes of each line that stands for one drawn elsewhere whether that is above or below.
func locate(all []*twig) {
	order := map[*twig]int{}
	full := map[*ownertree.Node]int{}
	var walk func([]*twig)
	walk = func(all []*twig) {
		for _, t := range all {
			order[t] = len(order)
			if !t.Repeated && !t.Cycle {
				full[t.Node] = order[t]
			}
			walk(t.children)
		}
	}
	walk(all)
	for t, at := range order {
		if there, drawn := full[t.Node]; t.Repeated && drawn {
			t.elsewhere = above
			if there > at {
				t.elsewhere = below
			}
		}
	}
}

// alike is what objects have in common that are drawn in one line.
type alike struct {
	group, kind, namespace, relation string
	status, reason                   string
	// owners and below tell those apart that have others: what a line says holds for each of its objects.
	owners   string
	below    int
	repeated bool
}

func (f *folder) alike(l *limb) alike {
	return alike{
		l.Node.Kind.Group, l.Node.Kind.Kind, l.Node.Namespace, l.Relation, l.status(), l.ownersReason(),
		ownersText(l.Node, nil), f.shapes.of(l), l.Repeated,
	}
}

// arrange sorts siblings, bad ones first, and puts those in the same state together.
func (f *folder) arrange(all []*limb, may func(*limb) bool) []*twig {
	groups := map[alike][]*limb{}
	var order []alike
	var out []*twig
	for _, l := range all {
		if f.expand || !may(l) || !f.foldable(l) {
			out = append(out, f.twig(l))
			continue
		}
		key := f.alike(l)
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

// foldable reports whether the object may share a line: it was not asked for, is drawn nowhere else, and nothing below
// it is wrong or asked for, drawn elsewhere, or related to something. What is related to the object itself is drawn
// below all that are folded.
func (f *folder) foldable(l *limb) bool {
	may, known := f.may[l]
	if !known {
		may = f.mayFold(l)
		f.may[l] = may
	}
	return may
}

func (f *folder) mayFold(l *limb) bool {
	if l.asked || l.Cycle || l.Truncated > 0 || l.facts.Drifted() || l.dangles() || f.pods && len(l.facts.containers) > 0 {
		return false
	}
	if f.events && l.found != nil && len(l.found.events) > 0 {
		return false
	}
	if l.Relation == "" && f.again[l.Node] {
		return false
	}
	return !slices.ContainsFunc(l.children, func(c *limb) bool {
		return c.Relation == "" && (c.worst > calm || !f.foldable(c) || slices.ContainsFunc(c.children, (*limb).isRelated))
	})
}

// fold draws objects in the same state as one line, but some by name if they are in trouble.
func (f *folder) fold(same []*limb) []*twig {
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

func (f *folder) twig(l *limb) *twig { return &twig{limb: l, children: f.below(l.children)} }

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
