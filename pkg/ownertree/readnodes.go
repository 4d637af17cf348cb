package ownertree

import (
	"context"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// readNodes reads nodes in the Go type of what fresh returns: few of a kind and namespace one by one, more by a list.
// It returns the objects by node, without those that have gone, and what could not be read.
func readNodes(
	ctx context.Context, reader *cluster.Reader, nodes []*Node, fresh func() cluster.Typed,
) (map[*Node]cluster.Typed, []cluster.Incomplete) {
	groups := map[list][]*Node{}
	for _, n := range nodes {
		l := list{kind: n.Kind, namespace: n.Namespace}
		groups[l] = append(groups[l], n)
	}
	type read struct {
		node   *Node
		object cluster.Typed
		err    error
	}
	reads := make(chan read)
	var group errgroup.Group
	for l, all := range groups {
		if len(all) <= fewObjects || !l.kind.Can("list") {
			for _, n := range all {
				group.Go(func() error {
					object, err := readTyped(ctx, reader, n, fresh)
					reads <- read{n, object, err}
					return nil
				})
			}
			continue
		}
		wanted := make(map[string]*Node, len(all))
		for _, n := range all {
			wanted[n.Name] = n
		}
		group.Go(func() error {
			var found []read
			target := cluster.Target{Kind: *l.kind, Namespace: l.namespace}
			err := reader.ListTyped(ctx, target, cluster.ListOptions{}, fresh, func(object cluster.Typed) error {
				if n := wanted[object.GetObjectMeta().GetName()]; n != nil {
					found = append(found, read{node: n, object: object})
				}
				return nil
			})
			for _, r := range found {
				reads <- r
			}
			if err != nil {
				reads <- read{node: all[0], err: err}
			}
			return nil
		})
	}
	go func() {
		_ = group.Wait() // errors are sent one by one
		close(reads)
	}()
	out := make(map[*Node]cluster.Typed, len(nodes))
	var missing []cluster.Incomplete
	for r := range reads {
		switch {
		case r.err != nil && !apierrors.IsNotFound(r.err):
			missing = append(missing, cluster.Target{Kind: *r.node.Kind, Namespace: r.node.Namespace}.Incomplete(r.err))
		case r.object != nil && (r.node.UID == "" || r.object.GetObjectMeta().GetUID() == r.node.UID):
			out[r.node] = r.object
		}
	}
	return out, cluster.SortIncomplete(missing)
}

func readTyped(
	ctx context.Context, reader *cluster.Reader, n *Node, fresh func() cluster.Typed,
) (cluster.Typed, error) {
	obj, err := reader.Object(ctx, *n.Kind, n.Namespace, n.Name)
	if err != nil {
		return nil, err
	}
	object := fresh()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, object); err != nil {
		return nil, err
	}
	return object, nil
}
