package ownertree

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// ownerKind is what an owner reference says about its kind.
type ownerKind struct{ apiVersion, kind string }

// kindResult is what there is to know of a kind that was looked up.
type kindResult struct {
	kind *cluster.Kind // nil if the kind is not served
	err  error
}

// notRead is the detail of a reference whose owner no list should have held.
const notRead = "not read"

// kindOf finds the kind of a reference: apiResource of the garbage collector's operations.go.
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
		o.Verdict, o.Confirmed, o.Detail = UnmappableKind, true, fmt.Sprintf("no kind %s is served in %s", o.Kind, o.APIVersion)
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

// missed judges a reference whose owner is not in its place.
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

// wasRead reports whether the graph holds every object that there was beside the one missing at the place.
func (g *Graph) wasRead(at objectKey) bool {
	if !at.kind.Collected() || g.scope.Kinds != nil && !g.scope.Kinds(*at.kind) || !g.scope.includes(at.namespace) {
		return false
	}
	resource := at.kind.GroupResource()
	return !g.unread[unreadKey{resource, ""}] && !g.unread[unreadKey{resource, at.namespace}]
}
