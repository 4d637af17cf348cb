package ownertree

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// mostElsewhere bounds the names that are looked for in other namespaces.
const mostElsewhere = 16

// FindElsewhere looks, in other namespaces, for owners of the nodes that a live read has not found in theirs, and makes the
// verdict OtherNamespace where one is. For the garbage collector that is the same as a missing one: only people want to
// know. Owners that may not be looked for stay OwnerMissing. It reads a list for each name, of the first few, all at once.
func (g *Graph) FindElsewhere(ctx context.Context, reader *cluster.Reader, nodes []*Node) {
	missing := map[objectKey][]*Owner{}
	var places []objectKey
	for _, n := range nodes {
		for i := range n.Owners {
			at, ok := g.elsewhere(&n.Owners[i])
			switch {
			case !ok:
				continue
			case missing[at] == nil && len(places) == mostElsewhere:
				continue
			case missing[at] == nil:
				places = append(places, at)
			}
			missing[at] = append(missing[at], &n.Owners[i])
		}
	}
	found := make([]map[types.UID]string, len(places))
	var group errgroup.Group
	for i, at := range places {
		group.Go(func() error {
			found[i] = namesakes(ctx, reader, *at.kind, at.name)
			return nil
		})
	}
	_ = group.Wait() // whoever may not look elsewhere does without
	for i, at := range places {
		for _, o := range missing[at] {
			if namespace, ok := found[i][o.UID]; ok {
				o.Verdict, o.Detail = OtherNamespace, fmt.Sprintf("the owner is in namespace %q", namespace)
				g.simulation = nil
			}
		}
	}
}

// elsewhere is where to look for a missing owner: the place has no namespace.
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
	_ = reader.ListObjects(ctx, cluster.Target{Kind: kind}, cluster.ListOptions{Fields: "metadata.name=" + name}, func(obj *unstructured.Unstructured) error {
		out[obj.GetUID()] = obj.GetNamespace()
		return nil
	}) // what came before an error is there all the same
	return out
}
