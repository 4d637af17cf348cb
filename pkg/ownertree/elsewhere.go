package ownertree

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// mostElsewhere bounds the owners that are looked for in other namespaces.
const mostElsewhere = 16

// FindElsewhere looks, in other namespaces, for owners of the nodes that a live read has not found in theirs, and makes the
// verdict OtherNamespace where one is. For the garbage collector that is the same as a missing one: only people want to
// know. Owners that may not be looked for stay OwnerMissing. It reads a list for each name, of the first few.
func (g *Graph) FindElsewhere(ctx context.Context, reader *cluster.Reader, nodes []*Node) {
	found := map[place]map[types.UID]string{}
	for _, n := range nodes {
		for i := range n.Owners {
			o := &n.Owners[i]
			if o.Verdict != OwnerMissing || !o.Confirmed {
				continue
			}
			kind, err := g.kindOf(o)
			if err != nil || kind == nil || !kind.Namespaced || !kind.Can("list") {
				continue
			}
			at := place{kind: kind, name: o.Name}
			if found[at] == nil {
				if len(found) == mostElsewhere {
					return
				}
				found[at] = namesakes(ctx, reader, *kind, o.Name)
			}
			if namespace, ok := found[at][o.UID]; ok {
				o.Verdict, o.Detail = OtherNamespace, fmt.Sprintf("the owner is in namespace %q", namespace)
				g.futures = nil
			}
		}
	}
}

// namesakes are the namespaces of all objects of a kind and name, by uid.
func namesakes(ctx context.Context, reader *cluster.Reader, kind cluster.Kind, name string) map[types.UID]string {
	out := map[types.UID]string{}
	_ = reader.ListObjects(ctx, cluster.Target{Kind: kind}, cluster.ListOptions{Fields: "metadata.name=" + name}, func(obj *unstructured.Unstructured) error {
		out[obj.GetUID()] = obj.GetNamespace()
		return nil
	}) // whoever may not look elsewhere does without
	return out
}
