package tree

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// row is what a tree draws as one line: an object, or several in the same state.
type row struct {
	// node is the object, or the first of folded.
	node *treestatus.StatusNode
	// folded are the objects, if they are several; else it is nil.
	folded   []*treestatus.StatusNode
	children []*row
	// elsewhere is where a Repeated object is drawn in full.
	elsewhere position
}

// position is where one row is as seen from another.
type position int

const (
	nowhere position = iota
	above
	below
)

// namedDegraded is how many of the objects that are in the same bad state have a row each.
const namedDegraded = 3

// foldOptions choose what may share a row.
type foldOptions struct {
	// expand folds nothing; pods keeps pods apart, because their containers are shown, and events objects that have
	// Events.
	expand, pods, events bool
}

// fold arranges trees in rows. It does not change the nodes.
func fold(tops []*treestatus.StatusNode, o foldOptions) []*row {
	g := &rowGrouper{
		options: o, repeated: map[*ownertree.Node]bool{}, foldable: map[*treestatus.StatusNode]bool{},
		shapes: shapes{map[string]int{}, map[*treestatus.StatusNode]int{}},
	}
	g.findRepeated(tops)
	// An outermost object that owns something keeps a row to itself: it is what a forest is read for.
	out := g.group(tops, func(n *treestatus.StatusNode) bool { return len(n.Children) == 0 })
	setElsewhere(out)
	return out
}

// rowGrouper decides which objects share a row.
type rowGrouper struct {
	options foldOptions
	// repeated are the objects that are drawn several times.
	repeated map[*ownertree.Node]bool
	// foldable has the answers of mayFold.
	foldable map[*treestatus.StatusNode]bool
	shapes   shapes
}

func (g *rowGrouper) findRepeated(all []*treestatus.StatusNode) {
	for _, n := range all {
		if n.Branch.Repeated {
			g.repeated[n.Branch.Node] = true
		}
		g.findRepeated(n.Children)
	}
}

// groupKey is what objects have in common that share a row.
type groupKey struct {
	group, kind, namespace, relation string
	status, reason                   string
	// owners and below tell apart objects that have different ones: what a row says holds for each of its objects.
	owners   string
	below    int
	repeated bool
}

func (g *rowGrouper) key(n *treestatus.StatusNode) groupKey {
	node := n.Branch.Node
	return groupKey{
		node.Kind.Group, node.Kind.Kind, node.Namespace, n.Branch.Relation, n.Status, rowReason(n),
		ownersText(node, nil), g.shapes.of(n), n.Branch.Repeated,
	}
}

// group makes rows of siblings, the worst first, and puts those in the same state together for which may is true.
func (g *rowGrouper) group(siblings []*treestatus.StatusNode, may func(*treestatus.StatusNode) bool) []*row {
	groups := map[groupKey][]*treestatus.StatusNode{}
	var order []groupKey
	var out []*row
	for _, n := range siblings {
		if g.options.expand || !may(n) || !g.mayFold(n) {
			out = append(out, g.row(n))
			continue
		}
		key := g.key(n)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], n)
	}
	for _, key := range order {
		out = append(out, g.rowsOf(groups[key])...)
	}
	slices.SortStableFunc(out, compareRows)
	return out
}

func (g *rowGrouper) groupAll(siblings []*treestatus.StatusNode) []*row {
	return g.group(siblings, func(*treestatus.StatusNode) bool { return true })
}

// row is the row of one object.
func (g *rowGrouper) row(n *treestatus.StatusNode) *row {
	return &row{node: n, children: g.groupAll(n.Children)}
}

// rowsOf draws objects in the same state in one row, but some by themselves if the state is bad.
func (g *rowGrouper) rowsOf(same []*treestatus.StatusNode) []*row {
	named := 0
	if same[0].Severity > treestatus.SeverityNormal {
		named = namedDegraded
	}
	if len(same)-named < 2 {
		named = len(same)
	}
	var out []*row
	for _, n := range same[:named] {
		out = append(out, g.row(n))
	}
	if rest := same[named:]; len(rest) > 0 {
		out = append(out, &row{node: rest[0], folded: rest, children: g.groupAll(relatedTo(rest))})
	}
	return out
}

// mayFold reports whether the object may share a row: it was not asked for, is drawn nowhere else, and nothing below it
// is wrong or asked for, drawn elsewhere, or related to something. What is related to the object itself is drawn below
// all that are folded.
func (g *rowGrouper) mayFold(n *treestatus.StatusNode) bool {
	may, known := g.foldable[n]
	if !known {
		may = g.isFoldable(n)
		g.foldable[n] = may
	}
	return may
}

func (g *rowGrouper) isFoldable(n *treestatus.StatusNode) bool {
	switch {
	case n.Asked || n.Branch.Cycle || n.Branch.Truncated > 0 || n.Facts.Drifted() || n.LosesOwner():
		return false
	case g.options.pods && len(n.Facts.Containers) > 0:
		return false
	case g.options.events && n.Findings != nil && len(n.Findings.Events) > 0:
		return false
	case !isRelated(n) && g.repeated[n.Branch.Node]:
		return false
	}
	return !slices.ContainsFunc(n.Children, func(c *treestatus.StatusNode) bool {
		return !isRelated(c) &&
			(c.WorstSeverity > treestatus.SeverityNormal || !g.mayFold(c) || slices.ContainsFunc(c.Children, isRelated))
	})
}

// isRelated reports whether the object is drawn below one that does not own it.
func isRelated(n *treestatus.StatusNode) bool { return n.Branch.Relation != "" }

// relatedTo are the objects that several are related to, each once.
func relatedTo(all []*treestatus.StatusNode) []*treestatus.StatusNode {
	type key struct {
		uid      types.UID
		relation string
	}
	seen := map[key]bool{}
	var out []*treestatus.StatusNode
	for _, n := range all {
		for _, c := range n.Children {
			if k := (key{c.Branch.Node.UID, c.Branch.Relation}); isRelated(c) && !seen[k] {
				seen[k] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// compareRows orders siblings: what is owned before what is related, what is worse first, single objects before many.
func compareRows(a, b *row) int {
	severity := func(r *row) int { return max(r.node.WorstSeverity, treestatus.SeverityNormal) }
	return cmp.Or(
		cmp.Compare(min(len(a.node.Branch.Relation), 1), min(len(b.node.Branch.Relation), 1)),
		-cmp.Compare(severity(a), severity(b)),
		cmp.Compare(min(len(a.folded), 1), min(len(b.folded), 1)),
	)
}

// setElsewhere finds, for each row of an object that is drawn in full elsewhere, whether that is above or below.
func setElsewhere(all []*row) {
	order := map[*row]int{}
	full := map[*ownertree.Node]int{}
	var walk func([]*row)
	walk = func(all []*row) {
		for _, r := range all {
			order[r] = len(order)
			if b := r.node.Branch; !b.Repeated && !b.Cycle {
				full[b.Node] = order[r]
			}
			walk(r.children)
		}
	}
	walk(all)
	for r, at := range order {
		if there, drawn := full[r.node.Branch.Node]; r.node.Branch.Repeated && drawn {
			r.elsewhere = above
			if there > at {
				r.elsewhere = below
			}
		}
	}
}

// shapes number what is drawn below objects, so that comparing two costs no more in a deep tree than in a flat one.
type shapes struct {
	numbers map[string]int
	known   map[*treestatus.StatusNode]int
}

// of is the same number for objects with the same below them: the same objects that they are related to, and dependents
// of the same kinds that have the same other owners. Nothing below is 0.
func (s *shapes) of(n *treestatus.StatusNode) int {
	if len(n.Children) == 0 {
		return 0
	}
	if number, known := s.known[n]; known {
		return number
	}
	var out []string
	for _, c := range n.Children {
		node := c.Branch.Node
		kind := node.Kind.GroupKind().String()
		if isRelated(c) {
			out = append(out, c.Branch.Relation+" "+kind+" "+node.Namespace+"/"+node.Name)
			continue
		}
		out = append(out, kind+"<"+ownersText(node, n.Branch.Node)+">("+strconv.Itoa(s.of(c))+")")
	}
	slices.Sort(out)
	text := strings.Join(slices.Compact(out), ",")
	number, known := s.numbers[text]
	if !known {
		number = len(s.numbers) + 1
		s.numbers[text] = number
	}
	s.known[n] = number
	return number
}

// ownersText tells apart objects that have different owners, or owners with different verdicts. The owner above is left
// out.
func ownersText(n, above *ownertree.Node) string {
	var out []string
	for i := range n.Owners {
		if o := &n.Owners[i]; above == nil || o.UID != above.UID {
			out = append(out, string(o.UID)+" "+string(o.Verdict))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}
