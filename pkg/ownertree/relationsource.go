package ownertree

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// relationSource reads what relations are made of, each thing once. Of objects it keeps nodes and references.
type relationSource struct {
	reader *cluster.Reader
	graph  *Graph
	// asked are the nodes whose relations were asked for.
	asked map[*Node]bool
	// needsOnly, selected, guessed and makers are RelateOptions.NeedsOnly, Selected, Guessed and Makers.
	needsOnly, selected, guessed, makers bool
	named                                *kindIndex

	mu         sync.Mutex // guards what follows, and the graph, while requests are under way
	incomplete []cluster.Incomplete
	builder    *builder
	interned   map[reference]*reference
	served     map[schema.GroupVersionKind]kindResult
	// users are all objects read that may refer to others, in the graph or not.
	users      []*Node
	references map[*Node][]*reference
	installed  map[*Node][]*reference // to the releases that installed nodes
	at         map[objectKey]*Node    // the users
	listed     map[list]bool          // or tried
	custom     map[list]int           // see customCounts; nil until it is asked for
	applied    int                    // references to what was applied that were resolved

	resolved map[*reference][]target
	answers  map[objectKey]target // of objects that were looked up live
}

func newRelationSource(reader *cluster.Reader, g *Graph, nodes []*Node, o RelateOptions) *relationSource {
	asked := make(map[*Node]bool, len(nodes))
	for _, n := range nodes {
		asked[n] = true
	}
	return &relationSource{
		reader: reader, graph: g, asked: asked, needsOnly: o.NeedsOnly, selected: o.Selected, guessed: o.Guessed,
		makers: o.Makers,
		named:  newKindIndex(g.kinds.All()), builder: &builder{graph: g},
		interned: map[reference]*reference{}, served: map[schema.GroupVersionKind]kindResult{},
		references: map[*Node][]*reference{}, installed: map[*Node][]*reference{}, at: map[objectKey]*Node{},
		listed:   map[list]bool{},
		resolved: map[*reference][]target{}, answers: map[objectKey]target{},
	}
}

// failed notes what could not be read.
func (s *relationSource) failed(kind *cluster.Kind, namespace string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incomplete = append(s.incomplete, cluster.Target{Kind: *kind, Namespace: namespace}.Incomplete(err))
}

// read reads what the users name, and all objects that may name those used, or the users as theirs.
func (s *relationSource) read(ctx context.Context, users, used []*Node) {
	wanted := s.userLists(used)
	if !s.needsOnly {
		s.attachedLists(users, wanted)
	}
	named := slices.Clone(users)
	for _, n := range used {
		if r, ok := s.referringOf(n.Kind); ok && len(r.userKinds) > 0 {
			named = append(named, n)
		}
	}
	single := s.listsOrSingles(named, wanted)
	s.readLists(ctx, wanted, slices.Concat(users, used))
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for _, n := range single {
		group.Go(func() error {
			s.readObject(ctx, n)
			return nil
		})
	}
	_ = group.Wait() // errors are noted
	if !s.needsOnly {
		s.readReleases(ctx, users, used)
	}
}

// referencesOf are the references of a node, as far as they have been read.
func (s *relationSource) referencesOf(n *Node) []*reference {
	if installed := s.installed[n]; installed != nil {
		return slices.Concat(s.references[n], installed)
	}
	return s.references[n]
}

// leavesOut reports whether the reference is not of interest.
func (s *relationSource) leavesOut(ref *reference) bool {
	selects := s.selected && ref.match != nil && !ref.optional && !ref.backward
	guessed := s.guessed && ref.optional && !ref.backward && ref.match == nil && ref.to != definition &&
		(ref.applied || isCustomGroup(ref.to.Group))
	return s.needsOnly && !ref.needed() && !selects && !guessed
}

// fewObjects is up to how many objects of a kind in a namespace are read one by one, rather than by a list.
const fewObjects = 4

// listsOrSingles adds to the lists wanted those in which the nodes are that refer to others, but returns the nodes
// where they are few.
func (s *relationSource) listsOrSingles(nodes []*Node, wanted map[list]bool) []*Node {
	groups := map[list][]*Node{}
	for _, n := range nodes {
		if _, refers := s.referringOf(n.Kind); refers && !s.known(n) {
			l := list{kind: n.Kind, namespace: n.Namespace}
			groups[l] = append(groups[l], n)
		}
	}
	var out []*Node
	for l, nodes := range groups {
		switch {
		case len(nodes) > mostCustom && isCustom(l.kind):
			s.leaveOut(l, len(nodes))
		case s.covered(l) || wanted[l] || wanted[list{kind: l.kind}]:
		case len(nodes) <= fewObjects || !l.kind.Can("list"):
			out = append(out, nodes...)
		default:
			wanted[l] = true
		}
	}
	return out
}

// readObject reads one object. One that has gone is left out.
func (s *relationSource) readObject(ctx context.Context, n *Node) {
	obj, err := s.reader.Object(ctx, *n.Kind, n.Namespace, n.Name)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		s.failed(n.Kind, n.Namespace, err)
	default:
		if r, refers := s.referringOf(n.Kind); refers {
			if object := r.typed(obj); object != nil {
				s.keep(n.Kind, r, object)
			}
		}
	}
}

// readList lists objects of a kind that refers to others.
func (s *relationSource) readList(ctx context.Context, l list) error {
	options := cluster.ListOptions{Fields: l.fields}
	target := cluster.Target{Kind: *l.kind, Namespace: l.namespace}
	r, refers := s.referringOf(l.kind)
	if !refers {
		return s.readNames(ctx, target)
	}
	return s.reader.ListTyped(ctx, target, options, r.fresh, func(object cluster.Typed) error {
		s.keep(l.kind, r, object)
		return nil
	})
}

// readNames lists the metadata of objects of a kind that does not refer to others.
func (s *relationSource) readNames(ctx context.Context, target cluster.Target) error {
	kind := s.graph.share(target.Kind)
	keep := func(_ cluster.Target, object *metav1.PartialObjectMetadata) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keepNode(kind, &object.ObjectMeta)
	}
	missing, err := s.reader.ListMetadata(ctx, []cluster.Target{target}, keep)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incomplete = append(s.incomplete, missing...)
	return err
}

// known reports whether the references of the node have been read.
func (s *relationSource) known(n *Node) bool {
	_, read := s.references[n]
	return read
}

// keep notes the references of an object.
func (s *relationSource) keep(kind *cluster.Kind, r referring, object cluster.Typed) {
	references := r.references(object)
	meta, ok := object.GetObjectMeta().(*metav1.ObjectMeta)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.keepNode(kind, meta)
	if s.known(n) {
		return
	}
	kept := make([]*reference, len(references))
	for i, ref := range references {
		kept[i] = s.intern(ref)
	}
	s.references[n] = kept
}

// keepNode notes an object that was read and returns its node. The caller holds mu.
func (s *relationSource) keepNode(kind *cluster.Kind, meta *metav1.ObjectMeta) *Node {
	at := objectKey{kind, meta.Namespace, meta.Name}
	if known := s.at[at]; known != nil && known.UID == meta.UID {
		return known
	}
	n := s.graph.at[at]
	if n == nil || n.UID != meta.UID {
		n = s.builder.node(kind, &metav1.PartialObjectMetadata{ObjectMeta: *meta})
		at.name, at.namespace = n.Name, n.Namespace
	}
	s.users, s.at[at] = append(s.users, n), n
	return n
}

// intern keeps equal references once: pods of one owner mostly refer to the same.
func (s *relationSource) intern(ref reference) *reference {
	known := s.interned[ref]
	if known == nil {
		known = &ref
		s.interned[ref] = known
	}
	return known
}

// adopt puts objects that were read into the graph.
func (s *relationSource) adopt(nodes []*Node) []*Node {
	out := s.graph.adopt(nodes...)
	for i, n := range out {
		if n != nodes[i] {
			s.references[n] = s.references[nodes[i]]
		}
	}
	return out
}

var (
	serviceAccount = schema.GroupKind{Kind: rbacv1.ServiceAccountKind}
	definition     = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// referringOf is how objects of the kind refer to others; false if they do not.
func (s *relationSource) referringOf(kind *cluster.Kind) (referring, bool) {
	r, known := relating[kind.GroupKind()]
	if known || !isCustom(kind) {
		return r, known
	}
	return s.customReferring(kind), true
}

// stopsAt reports whether relations are not followed beyond the node: the definition of a kind leads to all objects of
// that, and to the Service that converts them, and a release to all that it has installed. That is of
// little interest for one of them.
func (s *relationSource) stopsAt(n *Node) bool {
	return (isDefinition(n) || isRelease(n)) && !s.asked[n]
}

// stopsUsersAt reports whether what uses the node has nothing to do with each other beside that: accounts that a
// binding gives rights to, and objects of the kind that a definition defines. What uses these is not looked for.
func stopsUsersAt(n *Node) bool {
	isBinding := n.Kind.Kind == "RoleBinding" || n.Kind.Kind == "ClusterRoleBinding"
	return isBinding && n.Kind.Group == rbacv1.GroupName || isDefinition(n)
}

func isDefinition(n *Node) bool { return n.Kind.GroupKind() == definition }
