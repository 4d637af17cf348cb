package ownertree

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Relation is how one object uses another beside owning it: it names it, or selects it by its labels.
type Relation struct {
	// From uses To. To is not in the graph, and its UID empty, if Missing is true or it could not be read.
	From, To *Node
	// Type is what From does with To, Inverse what is done to To by From: "routes to" and "routed to by".
	Type, Inverse string
	// Missing means that nothing of To's kind and name is there, as a live read has found.
	Missing bool
	// Unread means that To could not be read; it is in Incomplete.
	Unread bool
	// Optional means that From does without To if it is not there.
	Optional bool
	// Needed means that From names To and does not do without it. What From selects, what names From as its user, and
	// what From may be about to make, it may do without.
	Needed bool
}

func (r Relation) compare(other Relation) int {
	return cmp.Or(r.From.Compare(other.From), cmp.Compare(r.Type, other.Type), r.To.Compare(other.To))
}

// RelateOptions choose the relations to find. The zero value finds all.
type RelateOptions struct {
	// NeedsOnly finds only what the nodes name, and what that names, as far as they cannot do without it: it is for
	// finding out what is missing, by few requests.
	NeedsOnly bool
	// Selected finds, with NeedsOnly, also what the nodes select: the pods of a Service.
	Selected bool
	// Guessed finds, with NeedsOnly, also custom resources that custom resources seem to name, and what these have
	// applied, if they exist.
	Guessed bool
	// Makers finds, with NeedsOnly, also the custom resources in its namespace that name a Secret or a ConfigMap which
	// is missing, as the one they make: the Certificate of a Secret. From is what is missing then.
	Makers bool
}

// Relate finds what the nodes use and what uses them, and continues from there in the same direction: from the pods of
// a Deployment to the Services that select them, and to the Ingresses of these; from a StatefulSet to its claims, their
// volumes and classes; from a pod to its ServiceAccount, and what that may do. Relations are sorted, each comes once.
// Objects that are found come into the graph.
//
// What could not be read is returned beside them. The error is not nil only if ctx has ended.
func (g *Graph) Relate(
	ctx context.Context, reader *cluster.Reader, nodes []*Node, o RelateOptions,
) ([]Relation, []cluster.Incomplete, error) {
	r := &relater{
		graph: g, source: newRelationSource(reader, g, nodes, o),
		seen: map[relationKey]bool{}, followed: map[followKey]bool{}, sought: map[*Node]bool{},
	}
	r.follow(uses, nodes)
	if !o.NeedsOnly {
		r.follow(usedBy, nodes)
	}
	for len(r.next) > 0 && ctx.Err() == nil {
		step := r.next
		r.next = nil
		r.source.read(ctx, step[uses], step[usedBy])
		r.usesOf(ctx, step[uses])
		r.usersOf(ctx, step[usedBy])
		r.makersOf(ctx)
	}
	slices.SortFunc(r.found, Relation.compare)
	return r.found, cluster.SortIncomplete(r.source.incomplete), context.Cause(ctx)
}

// direction is where relations are followed.
type direction int

const (
	uses   direction = iota // from what uses to what is used
	usedBy                  // the other way
)

type relationKey struct {
	from, to *Node
	relation string
}

type followKey struct {
	node *Node
	way  direction
}

// relater follows relations, one step at a time: the lists of a step are read at once.
type relater struct {
	graph    *Graph
	source   *relationSource
	found    []Relation
	seen     map[relationKey]bool
	followed map[followKey]bool
	next     map[direction][]*Node
	lacking  []*Node // what is missing, and whose makers are to be looked for
	sought   map[*Node]bool
}

// follow adds nodes to continue from.
func (r *relater) follow(way direction, nodes []*Node) {
	for _, n := range nodes {
		if key := (followKey{n, way}); !r.followed[key] && n.UID != "" {
			r.followed[key] = true
			if r.next == nil {
				r.next = map[direction][]*Node{}
			}
			r.next[way] = append(r.next[way], n)
		}
	}
}

// usesOf finds what the nodes use: what they name, and what names them as its user.
func (r *relater) usesOf(ctx context.Context, nodes []*Node) {
	r.named(ctx, nodes, false)
	for _, n := range nodes {
		for _, to := range r.source.labelledBy(n) {
			r.add(n, target{node: to}, &reference{relation: "applies", inverse: "applied by", optional: true})
		}
	}
	if !r.source.needsOnly {
		r.naming(nodes, true)
	}
}

// usersOf finds what uses the nodes: what names them, and what they name as their users.
func (r *relater) usersOf(ctx context.Context, nodes []*Node) {
	r.naming(nodes, false)
	r.named(ctx, nodes, true)
	for _, n := range nodes {
		if isDefinition(n) && r.source.asked[n] {
			r.defined(ctx, n)
		}
	}
}

// defined relates a definition to the objects of its kind.
func (r *relater) defined(ctx context.Context, by *Node) {
	ref := definedBy(by.Name)
	for _, n := range r.source.objectsOf(ctx, by.Name) {
		r.add(n, target{node: by}, &ref)
	}
}

// named finds what the nodes name, forward or backward.
func (r *relater) named(ctx context.Context, nodes []*Node, backward bool) {
	r.source.resolve(ctx, nodes, backward)
	for _, n := range nodes {
		for _, ref := range r.source.referencesOf(n) {
			if ref.backward != backward {
				continue
			}
			for _, to := range r.source.resolved[ref] { // nothing if it was left out
				if !to.missing || !ref.backward {
					r.add(n, to, ref)
				}
			}
		}
	}
}

// naming finds, of all objects that were read, those that name the nodes, forward or backward.
func (r *relater) naming(nodes []*Node, backward bool) {
	wanted := newRelationIndex(nodes)
	matching := map[*reference][]*Node{}
	var users []*Node
	for _, user := range r.source.users {
		if r.names(user, backward, wanted, matching) {
			users = append(users, user)
		}
	}
	for _, user := range r.source.adopt(users) {
		for _, ref := range r.source.references[user] {
			for _, to := range matching[ref] {
				r.add(user, target{node: to}, ref)
			}
		}
	}
}

// names reports whether the object names something that is wanted; what each of its references matches is kept.
func (r *relater) names(user *Node, backward bool, wanted relationIndex, matching map[*reference][]*Node) bool {
	found := false
	for _, ref := range r.source.references[user] {
		if ref.backward != backward {
			continue
		}
		to, known := matching[ref]
		if !known {
			to = wanted.matching(ref)
			matching[ref] = to
		}
		found = found || len(to) > 0
	}
	return found
}

// target is what a reference leads to.
type target struct {
	node            *Node
	missing, unread bool
}

// add notes a relation of an object that refers to another, and continues from what is new in it. What one owns of the
// other is left out.
func (r *relater) add(referring *Node, to target, ref *reference) {
	from, used := referring, to.node
	if ref.backward {
		from, used = used, from
	}
	key := relationKey{from, used, ref.relation}
	if from == used || r.seen[key] || used.owner(from) != nil || ref.ifAsked && !r.source.asked[to.node] {
		return
	}
	r.seen[key] = true
	r.found = append(r.found, Relation{
		From: from, To: used, Type: ref.relation, Inverse: ref.inverse,
		Optional: ref.optional, Missing: to.missing, Unread: to.unread,
		Needed: ref.needed(),
	})
	if r.source.makers && to.missing && ref.needed() && (ref.to == secretKind || ref.to == configMapKind) {
		r.lacking = append(r.lacking, used)
	}
	if r.followed[followKey{from, uses}] && !r.source.stopsAt(used) {
		r.follow(uses, []*Node{used})
	}
	if r.followed[followKey{used, usedBy}] && !r.source.stopsAt(from) && !stopsUsersAt(used) {
		r.follow(usedBy, []*Node{from})
	}
}

// makersOf finds the custom resources that make what is missing, and continues from these.
func (r *relater) makersOf(ctx context.Context) {
	lacking := r.lacking
	r.lacking = nil
	for _, n := range lacking {
		if r.sought[n] {
			continue
		}
		r.sought[n] = true
		lists := map[list]bool{}
		r.source.customLists(n, lists)
		maps.DeleteFunc(lists, func(l list, _ bool) bool { return l.namespace != n.Namespace })
		r.source.readLists(ctx, lists, nil)
		var makers []*Node
		for _, user := range r.source.users {
			if slices.ContainsFunc(r.source.references[user], func(ref *reference) bool { return ref.makes(n) }) {
				makers = append(makers, user)
			}
		}
		for _, maker := range r.source.adopt(makers) {
			r.found = append(r.found, Relation{
				From: n, To: maker, Type: "should make " + n.Kind.Kind + "/" + n.Name, Inverse: "should be made by",
			})
			r.follow(uses, []*Node{maker})
		}
	}
}

// Lack is something that an object needs and that is not there.
type Lack struct {
	// Object is what is not there: only its kind, namespace and name are known.
	Object *Node
	// NamedBy is what names it: the object itself, or something that it needs.
	NamedBy *Node
}

// Lacks finds, of each of the nodes, what it needs and is not there: the objects of Missing relations to which the node
// leads by relations that are Needed, sorted.
func Lacks(nodes []*Node, relations []Relation) map[*Node][]Lack {
	uses := map[*Node][]Relation{}
	for _, r := range relations {
		uses[r.From] = append(uses[r.From], r)
	}
	out := map[*Node][]Lack{}
	for _, n := range nodes {
		seen, next := map[*Node]bool{n: true}, []*Node{n}
		for len(next) > 0 {
			from := next[0]
			next = next[1:]
			for _, r := range uses[from] {
				if seen[r.To] || !r.Needed {
					continue
				}
				seen[r.To] = true
				if r.Missing {
					out[n] = append(out[n], Lack{r.To, r.From})
				} else {
					next = append(next, r.To)
				}
			}
		}
		lacks := out[n]
		slices.SortFunc(lacks, func(a, b Lack) int { return a.Object.Compare(b.Object) })
	}
	return out
}

// PodSelector returns a function that reports whether labels select a pod of a namespace; known is false if not all
// pods of the namespace have been read. It holds for the graph as it is now.
func (g *Graph) PodSelector() func(namespace string, selector map[string]string) (selects, known bool) {
	kind, served, err := g.kinds.Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	if err != nil || !served {
		return func(string, map[string]string) (bool, bool) { return false, false }
	}
	shared := g.share(kind)
	var in relationIndex // made when it is asked for
	return func(namespace string, selector map[string]string) (selects, known bool) {
		if !g.wasRead(objectKey{kind: shared, namespace: namespace}) {
			return false, false
		}
		if in == nil {
			pods := slices.DeleteFunc(slices.Clone(g.nodes), func(n *Node) bool { return n.Kind != shared })
			in = newRelationIndex(pods)
		}
		match := &matcher{labels: labels.SelectorFromSet(selector)}
		ref := reference{to: shared.GroupKind(), namespace: namespace, match: match}
		return len(in.matching(&ref)) > 0, true
	}
}

// Exists returns a function that reports whether an object of a kind is in the graph; known is false if not all of its
// namespace have been read. It holds for the graph as it is now.
func (g *Graph) Exists(of schema.GroupKind) func(namespace, name string) (exists, known bool) {
	kind, served, err := g.kinds.Lookup(of.WithVersion(""))
	if err != nil || !served {
		return func(string, string) (bool, bool) { return false, false }
	}
	shared := g.share(kind)
	return func(namespace, name string) (exists, known bool) {
		at := objectKey{shared, namespace, name}
		return g.at[at] != nil, g.wasRead(at)
	}
}

// Related draws relations into trees that Graph.Tree has laid out: below an object what it uses and what uses it, after
// what it owns, and below that what follows in the same direction. An object is drawn in full once; where it comes
// again it is Repeated, if something is below it there. What is optional and not there is left out. The branches are
// changed.
func Related(tops []*Branch, relations []Relation) {
	r := &relatedLayout{ends: map[*Node][]relationEnd{}, drawn: map[*Node]*Branch{}}
	for _, relation := range relations {
		if relation.Missing && relation.Optional {
			continue
		}
		used := relationEnd{relation.To, uses, relation.Inverse, relation.Missing}
		r.ends[relation.From] = append(r.ends[relation.From], used)
		r.ends[relation.To] = append(r.ends[relation.To], relationEnd{relation.From, usedBy, relation.Type, false})
	}
	branches := inFull(tops)
	for _, b := range branches {
		r.drawn[b.Node] = b
	}
	for _, b := range branches {
		r.attach(b, nil, uses, usedBy)
	}
}

// inFull are the branches below which something may be drawn, each after those that it owns: there what they are
// related to is drawn.
func inFull(tops []*Branch) []*Branch {
	var out []*Branch // the last first
	next := slices.Clone(tops)
	for len(next) > 0 {
		b := next[len(next)-1]
		next = next[:len(next)-1]
		if !b.Repeated && !b.Cycle && !b.Beside {
			out = append(out, b)
		}
		next = append(next, b.Children...)
	}
	slices.Reverse(out)
	return out
}

// relationEnd is a relation as one of the two sees it.
type relationEnd struct {
	other   *Node
	way     direction
	word    string // what the other does, or is done to
	missing bool
}

func (t relationEnd) compare(other relationEnd) int {
	return cmp.Or(cmp.Compare(t.way, other.way), cmp.Compare(t.word, other.word), t.other.Compare(other.other))
}

type relatedLayout struct {
	ends  map[*Node][]relationEnd
	drawn map[*Node]*Branch // in full
}

// attach draws what the object is tied to in these directions, but the one that it is drawn below.
func (r *relatedLayout) attach(b *Branch, above *Node, ways ...direction) {
	ties := slices.Clone(r.ends[b.Node])
	slices.SortFunc(ties, relationEnd.compare)
	for _, t := range ties {
		if !slices.Contains(ways, t.way) || t.other == above {
			continue
		}
		child := &Branch{Node: t.other, Relation: t.word, Missing: t.missing}
		b.Children = append(b.Children, child)
		if full := r.drawn[t.other]; full != nil {
			child.Repeated = len(full.Children) > 0
			continue
		}
		r.drawn[t.other] = child
		r.attach(child, b.Node, t.way)
	}
}
