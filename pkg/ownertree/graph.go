package ownertree

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Graph is what was read of a cluster, linked by owner references. LayOut, Get, Add, Confirm, Ascend, FindElsewhere,
// ReadNamespaces and Relate change it and must not be called while anything else is; everything else may be called
// concurrently.
type Graph struct {
	kinds *cluster.Kinds
	scope Scope
	// unread are the targets of the scope that could not be listed.
	unread map[unreadKey]bool
	// shared has one copy of each kind.
	shared map[schema.GroupResource]*cluster.Kind
	lookup map[ownerKind]kindResult

	nodes []*Node // sorted
	at    map[objectKey]*Node
	uids  map[types.UID]*Node
	// open are the references whose owner was not found, by where it should be.
	open map[objectKey][]openReference
	// answers are what live reads of owners gave: nil if something was there.
	answers map[objectKey]error
	// mismatchedUIDs are nodes that refer to the uid of a node which is not their owner.
	mismatchedUIDs map[*Node][]*Node
	incomplete     []cluster.Incomplete

	mu         sync.Mutex    // guards simulation
	simulation *gcSimulation // nil until it is needed, and after every change
}

// objectKey is where an object is, whatever its uid.
type objectKey struct {
	kind            *cluster.Kind
	namespace, name string
}

type unreadKey struct {
	resource  schema.GroupResource
	namespace string
}

// openReference is node.Owners[index].
type openReference struct {
	node  *Node
	index int
}

func newGraph(kinds *cluster.Kinds, scope Scope) *Graph {
	g := &Graph{
		kinds: kinds, scope: scope,
		unread: map[unreadKey]bool{},
		shared: map[schema.GroupResource]*cluster.Kind{},
		lookup: map[ownerKind]kindResult{},
		at:     map[objectKey]*Node{}, uids: map[types.UID]*Node{},
		open: map[objectKey][]openReference{}, answers: map[objectKey]error{},
		mismatchedUIDs: map[*Node][]*Node{},
	}
	for _, kind := range kinds.All() {
		g.share(kind)
	}
	return g
}

// Find returns the object, whatever the version of kind; nil if it is not in the graph.
func (g *Graph) Find(kind cluster.Kind, namespace, name string) *Node {
	shared, ok := g.shared[kind.GroupResource()]
	if !ok {
		return nil
	}
	return g.at[objectKey{shared, namespace, name}]
}

// ByUID returns the object with the uid; nil if it is not in the graph.
func (g *Graph) ByUID(uid types.UID) *Node { return g.uids[uid] }

// Nodes returns all objects, sorted by Node.Compare. The slice is the graph's.
func (g *Graph) Nodes() []*Node { return g.nodes }

// Incomplete returns what could not be read, discovery included, sorted.
func (g *Graph) Incomplete() []cluster.Incomplete {
	return cluster.SortIncomplete(append(g.kinds.Incomplete(), g.incomplete...))
}

// AllNamespaces reports whether the graph was made of lists of all namespaces.
func (g *Graph) AllNamespaces() bool { return !g.scope.Nothing && g.scope.Namespaces == nil }

// Covers reports whether the lists that the graph was made of hold all dependents of the node: those of a namespaced
// object are in its namespace, those of others anywhere. Kinds in Incomplete are missing all the same.
func (g *Graph) Covers(n *Node) bool {
	if n.Kind.Namespaced {
		return g.scope.includes(n.Namespace)
	}
	return g.AllNamespaces()
}

// Roots returns the objects that no object of the graph owns, sorted: the tops of the forest. Of objects that own each
// other in a circle, with no owner above, it is one.
func (g *Graph) Roots() []*Node {
	return sources(g.nodes, func(n *Node) []*Node { return n.Dependents })
}

// Get returns an object, which it reads by itself if the graph does not hold it, and adds. The error is the server's.
func (g *Graph) Get(ctx context.Context, reader *cluster.Reader, ref Ref) (*Node, error) {
	if n := g.Find(ref.Kind, ref.Namespace, ref.Name); n != nil {
		return n, nil
	}
	object, err := reader.Metadata(ctx, ref.Kind, ref.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	return g.Add(ref.Kind, object), nil
}

// Add puts an object that was read by itself into the graph and returns its node. One that is there already stays as it
// is.
func (g *Graph) Add(kind cluster.Kind, object *metav1.PartialObjectMetadata) *Node {
	shared := g.share(kind)
	if n := g.at[objectKey{shared, object.Namespace, object.Name}]; n != nil && n.UID == object.UID {
		return n
	}
	return g.adopt((&builder{graph: g}).node(shared, object))[0]
}

// adopt puts nodes that were read by themselves into the graph and returns the graph's nodes of these objects. It costs
// about as much for many as for one.
func (g *Graph) adopt(nodes ...*Node) []*Node {
	out := make([]*Node, len(nodes))
	var fresh []*Node
	for i, n := range nodes {
		out[i] = g.at[objectKey{n.Kind, n.Namespace, n.Name}]
		if out[i] != nil && out[i].UID == n.UID {
			continue
		}
		if out[i] = g.insert(n); out[i] == n {
			fresh = append(fresh, n)
		}
	}
	g.nodes = withSorted(g.nodes, fresh)
	owners := map[*Node]bool{}
	for _, n := range fresh {
		g.judgeAll(n)
		for i := range n.Owners {
			if owner := n.Owners[i].Node; owner != nil {
				owners[owner] = true
			}
		}
	}
	for owner := range owners {
		slices.SortFunc(owner.Dependents, (*Node).Compare)
	}
	for _, n := range fresh {
		g.answer(objectKey{n.Kind, n.Namespace, n.Name}, nil)
	}
	return out
}

// withSorted adds nodes to sorted ones.
func withSorted(nodes, fresh []*Node) []*Node {
	if len(fresh) == 1 {
		at, _ := slices.BinarySearchFunc(nodes, fresh[0], (*Node).Compare)
		return slices.Insert(nodes, at, fresh[0])
	}
	nodes = append(nodes, fresh...)
	slices.SortFunc(nodes, (*Node).Compare)
	return nodes
}

// insert makes the node known by its key and uid. A uid that another node has is the same object, served as another
// kind: it returns that node.
func (g *Graph) insert(n *Node) *Node {
	at := objectKey{n.Kind, n.Namespace, n.Name}
	if same := g.uids[n.UID]; same != nil && n.UID != "" {
		g.at[at] = same
		return same
	}
	g.at[at] = n
	if n.UID != "" {
		g.uids[n.UID] = n
	}
	g.simulation = nil
	return n
}

// share returns the one copy of the kind, whatever its version: that of the preferred one.
func (g *Graph) share(kind cluster.Kind) *cluster.Kind {
	shared, ok := g.shared[kind.GroupResource()]
	if !ok {
		shared = &kind
		g.shared[kind.GroupResource()] = shared
	}
	return shared
}
