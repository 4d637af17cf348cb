package ownertree

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Collect lists the metadata of what is in the scope and links it. What could not be listed is in Graph.Incomplete; the
// error is not nil only if ctx has ended.
func Collect(ctx context.Context, reader *cluster.Reader, kinds *cluster.Kinds, scope Scope) (*Graph, error) {
	g := newGraph(kinds, scope)
	b := &builder{graph: g}
	add := func(t cluster.Target, object *metav1.PartialObjectMetadata) { b.add(t.Kind, object) }
	missing, err := reader.ListMetadata(ctx, scope.targets(kinds), add)
	if err != nil {
		return nil, fmt.Errorf("collecting objects: %w", err)
	}
	g.missing(missing)
	g.build(b.nodes)
	return g, nil
}

// pending notes what could not be listed.
func (g *Graph) missing(all []cluster.Incomplete) {
	g.incomplete = append(g.incomplete, all...)
	for _, i := range all {
		g.unread[unreadKey{schema.GroupResource{Group: i.Group, Resource: i.Resource}, i.Namespace}] = true
	}
}

// build links nodes that come in any order. Of two with one key the later one was read later.
func (g *Graph) build(nodes []*Node) {
	slices.SortStableFunc(nodes, func(a, b *Node) int {
		if a.Kind != b.Kind {
			return a.Kind.Compare(*b.Kind)
		}
		return compareNames(a, b)
	})
	g.nodes = make([]*Node, 0, len(nodes))
	g.at, g.uids = make(map[objectKey]*Node, len(nodes)), make(map[types.UID]*Node, len(nodes))
	for i, n := range nodes {
		if i+1 < len(nodes) && nodes[i+1].Kind == n.Kind && compareNames(n, nodes[i+1]) == 0 {
			continue
		}
		if g.insert(n) == n {
			g.nodes = append(g.nodes, n)
		}
	}
	for _, n := range g.nodes {
		g.judgeAll(n)
	}
}

// Scope is what Collect lists. The zero value is everything that the garbage collector watches.
type Scope struct {
	// Namespaces are those whose objects are listed; then cluster-scoped kinds are not. Nil lists all, cluster-scoped
	// kinds included.
	Namespaces []string
	// Nothing lists nothing: going up from an object is done by reading one owner after the other.
	Nothing bool
	// Kinds leaves out the kinds for which it is false; nil leaves out none. What is left out can be neither a
	// dependent nor a link between two objects.
	Kinds func(cluster.Kind) bool
}

// Ref names an object, or without a name all of its kind and namespace.
type Ref struct {
	Kind cluster.Kind
	// Namespace is empty for cluster-scoped kinds, and for all namespaces.
	Namespace, Name string
}

// ScopeOf is the least scope in which the objects and all their dependents are found. A namespaced object owns only in
// its own namespace; one of a cluster-scoped kind may own anything. Without down, owners alone are asked for, which
// needs no lists but to find what has no name.
func ScopeOf(refs []Ref, down bool) Scope {
	if !down && !slices.ContainsFunc(refs, func(ref Ref) bool { return ref.Name == "" }) {
		return Scope{Nothing: true}
	}
	scope := Scope{Namespaces: []string{}}
	for _, ref := range refs {
		if !ref.Kind.Namespaced || ref.Namespace == "" {
			return Scope{}
		}
		scope.Namespaces = append(scope.Namespaces, ref.Namespace)
	}
	slices.Sort(scope.Namespaces)
	scope.Namespaces = slices.Compact(scope.Namespaces)
	return scope
}

// targets are the lists that the scope needs, sorted.
func (s Scope) targets(kinds *cluster.Kinds) []cluster.Target {
	if s.Nothing {
		return nil
	}
	namespaces := s.Namespaces
	if namespaces == nil {
		namespaces = []string{""}
	}
	var out []cluster.Target
	for _, kind := range kinds.Collected() {
		if s.Kinds != nil && !s.Kinds(kind) || s.Namespaces != nil && !kind.Namespaced {
			continue
		}
		for _, namespace := range namespaces {
			out = append(out, cluster.Target{Kind: kind, Namespace: namespace})
		}
	}
	return out
}

// includes reports whether objects of the namespace are listed; the empty one is for cluster-scoped kinds.
func (s Scope) includes(namespace string) bool {
	return !s.Nothing && (s.Namespaces == nil || slices.Contains(s.Namespaces, namespace))
}

// builder makes nodes of metadata. Thousands of objects have the same namespace, labels and owners, so equal strings
// and equal sets of labels are kept once.
type builder struct {
	graph   *Graph
	nodes   []*Node
	strings map[string]string
	labels  map[string]map[string]string
	yes, no *bool
}

func (b *builder) add(kind cluster.Kind, object *metav1.PartialObjectMetadata) {
	b.nodes = append(b.nodes, b.node(b.graph.share(kind), object))
}

// deletionRequested returns when a deletion was requested, nil if it was not: deletionTimestamp is when the grace
// period ends.
func deletionRequested(o *metav1.PartialObjectMetadata) *metav1.Time {
	if o.DeletionTimestamp == nil || o.DeletionGracePeriodSeconds == nil {
		return o.DeletionTimestamp
	}
	const longest = 100 * 365 * 24 * 60 * 60 // seconds; a longer period would overflow a Duration
	grace := time.Duration(min(max(*o.DeletionGracePeriodSeconds, 0), longest)) * time.Second
	return &metav1.Time{Time: o.DeletionTimestamp.Add(-grace)}
}

// node copies what it needs, so that the page that the object came in can go.
func (b *builder) node(kind *cluster.Kind, o *metav1.PartialObjectMetadata) *Node {
	n := &Node{
		Kind: kind, Namespace: b.intern(o.Namespace), Name: o.Name, UID: o.UID,
		Generation: o.Generation, Created: o.CreationTimestamp, Deleting: deletionRequested(o),
		Labels: b.labelSet(o.Labels),
	}
	for _, f := range o.Finalizers {
		n.Finalizers = append(n.Finalizers, b.intern(f))
	}
	if len(o.OwnerReferences) > 0 {
		n.Owners = make([]Owner, len(o.OwnerReferences))
	}
	for i, ref := range o.OwnerReferences {
		ref.APIVersion, ref.Kind = b.intern(ref.APIVersion), b.intern(ref.Kind)
		ref.Controller, ref.BlockOwnerDeletion = b.shared(ref.Controller), b.shared(ref.BlockOwnerDeletion)
		n.Owners[i].OwnerReference = ref
	}
	return n
}

func (b *builder) intern(s string) string {
	if known, ok := b.strings[s]; ok {
		return known
	}
	if b.strings == nil {
		b.strings = map[string]string{}
	}
	b.strings[s] = s
	return s
}

// labelSet keeps equal sets once: pods of one owner mostly have the same labels.
func (b *builder) labelSet(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		key.WriteString(name + "\x00" + labels[name] + "\x00")
	}
	if known, ok := b.labels[key.String()]; ok {
		return known
	}
	if b.labels == nil {
		b.labels = map[string]map[string]string{}
	}
	b.labels[key.String()] = labels
	return labels
}

// shared returns an equal pointer that many references have.
func (b *builder) shared(flag *bool) *bool {
	if flag == nil {
		return nil
	}
	known := &b.no
	if *flag {
		known = &b.yes
	}
	if *known == nil {
		*known = flag
	}
	return *known
}

// forget drops what it knows of strings and labels when that has become much for so many objects, as it does over time.
func (b *builder) forget(objects int) {
	if limit := 2*objects + 1000; len(b.strings) > limit || len(b.labels) > limit {
		b.strings, b.labels = nil, nil
	}
}
