package ownertree

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// ownerKind is the kind that an owner reference names.
type ownerKind struct{ apiVersion, kind string }

// kindResult is what there is to know of a kind that was looked up.
type kindResult struct {
	kind *cluster.Kind // nil if the kind is not served
	err  error
}

// notRead is the detail of a reference whose owner no list should have held.
const notRead = "not read"

// kindOf finds the kind of a reference. It mirrors GarbageCollector.apiResource of
// k8s.io/kubernetes/pkg/controller/garbagecollector/operations.go.
func (g *Graph) kindOf(o *Owner) (*cluster.Kind, error) {
	key := ownerKind{o.APIVersion, o.Kind}
	if known, ok := g.lookup[key]; ok {
		return known.kind, known.err
	}
	var result kindResult
	kind, ok, err := g.kinds.Lookup(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
	if ok {
		result.kind = g.share(kind)
	}
	result.err = err
	g.lookup[key] = result
	return result.kind, result.err
}

// judgeAll judges the node's references by what the graph holds.
func (g *Graph) judgeAll(n *Node) {
	for i := range n.Owners {
		g.judge(n, i)
	}
}

// judge is isDangling of the garbage collector, on what lists have said.
func (g *Graph) judge(n *Node, index int) {
	o := &n.Owners[index]
	kind, err := g.kindOf(o)
	switch {
	case err != nil:
		o.Verdict, o.Detail = Unknown, err.Error()
		return
	case kind == nil:
		o.Verdict, o.Confirmed = UnmappableKind, true
		o.Detail = fmt.Sprintf("no kind %s is served in %s", o.Kind, o.APIVersion)
		return
	case kind.Namespaced && n.Namespace == "":
		o.Verdict, o.Confirmed, o.Impossible = OtherNamespace, true, true
		o.Detail = "an object without a namespace cannot be owned by one in a namespace"
		return
	}
	at := keyOfOwner(n, kind, o.Name)
	if owner := g.at[at]; owner != nil && owner.UID == o.UID {
		g.link(n, o, owner)
		return
	}
	g.open[at] = append(g.open[at], openReference{n, index})
	g.missed(n, o, at)
	if err, read := g.answers[at]; read {
		g.settle(o, at, err)
	}
}

// keyOfOwner is where the owner must be: in the dependent's namespace unless its kind has none.
func keyOfOwner(n *Node, kind *cluster.Kind, name string) objectKey {
	if !kind.Namespaced {
		return objectKey{kind, "", name}
	}
	return objectKey{kind, n.Namespace, name}
}

// link makes owner the node's owner.
func (g *Graph) link(n *Node, o *Owner, owner *Node) {
	if n.owner(owner) == nil {
		owner.Dependents = append(owner.Dependents, n)
	}
	o.Verdict, o.Node, o.Confirmed, o.Detail = Solid, owner, true, ""
	o.UID, o.Name = owner.UID, owner.Name // equal, and so the copies can go
	g.simulation = nil
}

// missed judges a reference whose owner is not under its key.
func (g *Graph) missed(n *Node, o *Owner, at objectKey) {
	elsewhere := g.uids[o.UID]
	if elsewhere != nil {
		g.mismatchedUIDs[elsewhere] = append(g.mismatchedUIDs[elsewhere], n)
	}
	switch found := g.at[at]; {
	case elsewhere != nil && elsewhere.Kind == at.kind && elsewhere.Name == at.name:
		o.Verdict = OtherNamespace
		o.Detail = fmt.Sprintf("the owner is in namespace %q", elsewhere.Namespace)
	case found != nil:
		o.Verdict = OtherUID
		o.Detail = fmt.Sprintf("%s has uid %s", found, found.UID)
	case g.wasRead(at):
		o.Verdict = OwnerMissing
		if elsewhere != nil {
			o.Detail = fmt.Sprintf("the uid is that of %s", elsewhere)
		}
	default:
		o.Verdict, o.Detail = Unknown, notRead
	}
}

// wasRead reports whether the graph holds every object that existed where the missing one should be.
func (g *Graph) wasRead(at objectKey) bool {
	if !at.kind.Collected() || g.scope.Kinds != nil && !g.scope.Kinds(*at.kind) || !g.scope.includes(at.namespace) {
		return false
	}
	resource := at.kind.GroupResource()
	return !g.unread[unreadKey{resource, ""}] && !g.unread[unreadKey{resource, at.namespace}]
}

// maxConcurrentReads bounds the reads of owners that are under way at a time; the reader may allow fewer.
const maxConcurrentReads = 16

// Confirm reads live every owner of the nodes that the graph does not hold, each once, and settles the verdicts. Owners
// that are there after all come into the graph. An owner that may not be read leaves its verdict Unknown, with the
// reason in Owner.Detail. The error is not nil only if ctx has ended; Confirm may then be called again.
func (g *Graph) Confirm(ctx context.Context, reader *cluster.Reader, nodes []*Node) error {
	var keys []objectKey
	wanted := map[objectKey]bool{}
	for _, n := range nodes {
		for i := range n.Owners {
			at, open := g.unsettledKey(n, &n.Owners[i])
			if _, read := g.answers[at]; open && !read && !wanted[at] {
				wanted[at] = true
				keys = append(keys, at)
			}
		}
	}
	objects, errs := readMetadata(ctx, reader, keys)
	if ctx.Err() != nil {
		return fmt.Errorf("reading owners: %w", context.Cause(ctx))
	}
	b := &builder{graph: g}
	for i, at := range keys {
		if errs[i] == nil {
			b.add(*at.kind, objects[i])
		}
	}
	g.adopt(b.nodes...)
	for i, at := range keys {
		g.answer(at, errs[i])
	}
	return nil
}

// readMetadata reads the metadata of all keys at once: of each the object, or the error.
func readMetadata(
	ctx context.Context, reader *cluster.Reader, keys []objectKey,
) ([]*metav1.PartialObjectMetadata, []error) {
	objects, errs := make([]*metav1.PartialObjectMetadata, len(keys)), make([]error, len(keys))
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for i, at := range keys {
		group.Go(func() error {
			objects[i], errs[i] = reader.Metadata(ctx, *at.kind, at.namespace, at.name)
			return nil
		})
	}
	_ = group.Wait() // errors are kept one by one, so that the first of them is always the same
	return objects, errs
}

// Ascend confirms the owners of the nodes, their owners, and so on up to objects that have none. Owners that could not
// be read earlier are read again, by it and by the next Confirm.
func (g *Graph) Ascend(ctx context.Context, reader *cluster.Reader, nodes []*Node) error {
	maps.DeleteFunc(g.answers, func(_ objectKey, err error) bool { return err != nil && !apierrors.IsNotFound(err) })
	seen := map[*Node]bool{}
	for len(nodes) > 0 {
		if err := g.Confirm(ctx, reader, nodes); err != nil {
			return err
		}
		var above []*Node
		for _, n := range nodes {
			for i := range n.Owners {
				if owner := n.Owners[i].Node; owner != nil && !seen[owner] {
					seen[owner] = true
					above = append(above, owner)
				}
			}
		}
		nodes = above
	}
	return nil
}

// unsettledKey is where to read the owner of a reference that is not settled.
func (g *Graph) unsettledKey(n *Node, o *Owner) (objectKey, bool) {
	if o.Node != nil || o.Confirmed {
		return objectKey{}, false
	}
	kind, err := g.kindOf(o)
	if err != nil || kind == nil {
		return objectKey{}, false
	}
	return keyOfOwner(n, kind, o.Name), true
}

// answer settles all references to the key after what is there, if anything, has been read live and added. A nil err
// means that it was read.
func (g *Graph) answer(at objectKey, err error) {
	g.answers[at] = err
	references := g.open[at]
	if len(references) == 0 {
		return
	}
	owner := g.at[at]
	var left []openReference
	for _, r := range references {
		o := &r.node.Owners[r.index]
		if err == nil && owner != nil && owner.UID == o.UID {
			g.link(r.node, o, owner)
			continue
		}
		g.settle(o, at, err)
		left = append(left, r)
	}
	if owner != nil {
		slices.SortFunc(owner.Dependents, (*Node).Compare)
	}
	g.open[at] = left
	g.simulation = nil
}

// settle gives a reference to nothing the verdict that a live read of its key allows.
func (g *Graph) settle(o *Owner, at objectKey, err error) {
	switch found := g.at[at]; {
	case err != nil && !apierrors.IsNotFound(err):
		o.Verdict, o.Confirmed, o.Detail = Unknown, false, cluster.Reason(err)+": "+err.Error()
		return
	case o.Verdict == OtherNamespace:
	case err == nil && found != nil:
		o.Verdict, o.Detail = OtherUID, fmt.Sprintf("%s has uid %s", found, found.UID)
	default:
		if o.Verdict == Unknown { // not read, or that failed
			o.Detail = ""
		}
		o.Verdict = OwnerMissing
	}
	o.Confirmed = true
}

// mostElsewhere bounds the names that are looked for in other namespaces.
const mostElsewhere = 16

// FindElsewhere looks, in other namespaces, for owners of the nodes that a live read has not found in theirs, and makes
// the verdict OtherNamespace where one is. For the garbage collector that is the same as a missing one: only people
// care. Owners that may not be looked for stay OwnerMissing. It reads a list for each name, of the first few, all at
// once.
func (g *Graph) FindElsewhere(ctx context.Context, reader *cluster.Reader, nodes []*Node) {
	missing := map[objectKey][]*Owner{}
	var keys []objectKey
	for _, n := range nodes {
		for i := range n.Owners {
			at, ok := g.elsewhere(&n.Owners[i])
			switch {
			case !ok:
				continue
			case missing[at] == nil && len(keys) == mostElsewhere:
				continue
			case missing[at] == nil:
				keys = append(keys, at)
			}
			missing[at] = append(missing[at], &n.Owners[i])
		}
	}
	found := make([]map[types.UID]string, len(keys))
	var group errgroup.Group
	for i, at := range keys {
		group.Go(func() error {
			found[i] = namesakes(ctx, reader, *at.kind, at.name)
			return nil
		})
	}
	_ = group.Wait() // without permission to look elsewhere, the verdict stays
	for i, at := range keys {
		for _, o := range missing[at] {
			if namespace, ok := found[i][o.UID]; ok {
				o.Verdict, o.Detail = OtherNamespace, fmt.Sprintf("the owner is in namespace %q", namespace)
				g.simulation = nil
			}
		}
	}
}

// elsewhere is where to look for a missing owner: the key has no namespace.
func (g *Graph) elsewhere(o *Owner) (objectKey, bool) {
	if o.Verdict != OwnerMissing || !o.Confirmed {
		return objectKey{}, false
	}
	kind, err := g.kindOf(o)
	if err != nil || kind == nil || !kind.Namespaced || !kind.Can("list") {
		return objectKey{}, false
	}
	return objectKey{kind: kind, name: o.Name}, true
}

// namesakes are the namespaces of all objects of a kind and name, by uid.
func namesakes(ctx context.Context, reader *cluster.Reader, kind cluster.Kind, name string) map[types.UID]string {
	out := map[types.UID]string{}
	options := cluster.ListOptions{Fields: "metadata.name=" + name}
	_ = reader.ListObjects(ctx, cluster.Target{Kind: kind}, options, func(obj *unstructured.Unstructured) error {
		out[obj.GetUID()] = obj.GetNamespace()
		return nil
	}) // what came before an error is there all the same
	return out
}
