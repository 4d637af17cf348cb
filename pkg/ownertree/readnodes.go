package ownertree

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	r := &nodeReader{reader: reader, fresh: fresh, found: make(map[*Node]cluster.Typed, len(nodes))}
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for l, all := range groups {
		if len(all) > fewObjects && l.kind.Can("list") {
			group.Go(func() error {
				r.list(ctx, l, all)
				return nil
			})
			continue
		}
		for _, n := range all {
			group.Go(func() error {
				r.get(ctx, n)
				return nil
			})
		}
	}
	_ = group.Wait() // errors are noted
	return r.found, cluster.SortIncomplete(r.missing)
}

// nodeReader collects what readNodes reads.
type nodeReader struct {
	reader *cluster.Reader
	fresh  func() cluster.Typed

	mu      sync.Mutex // guards what follows
	found   map[*Node]cluster.Typed
	missing []cluster.Incomplete
}

// list reads the nodes, which are of one kind and namespace, by a list.
func (r *nodeReader) list(ctx context.Context, l list, nodes []*Node) {
	wanted := make(map[string]*Node, len(nodes))
	for _, n := range nodes {
		wanted[n.Name] = n
	}
	target := cluster.Target{Kind: *l.kind, Namespace: l.namespace}
	err := r.reader.ListTyped(ctx, target, cluster.ListOptions{}, r.fresh, func(object cluster.Typed) error {
		if n := wanted[object.GetObjectMeta().GetName()]; n != nil {
			r.keep(n, object)
		}
		return nil
	})
	r.failed(l.kind, l.namespace, err)
}

// get reads one node.
func (r *nodeReader) get(ctx context.Context, n *Node) {
	object, err := readTyped(ctx, r.reader, n, r.fresh)
	if err == nil {
		r.keep(n, object)
	} else if !apierrors.IsNotFound(err) {
		r.failed(n.Kind, n.Namespace, err)
	}
}

// keep notes the object of a node, unless it is another of the same name.
func (r *nodeReader) keep(n *Node, object cluster.Typed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.UID == "" || object.GetObjectMeta().GetUID() == n.UID {
		r.found[n] = object
	}
}

// failed notes an error, unless it is nil.
func (r *nodeReader) failed(kind *cluster.Kind, namespace string, err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing = append(r.missing, cluster.Target{Kind: *kind, Namespace: namespace}.Incomplete(err))
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

// ReadNamespaces reads, of the nodes that are namespaces, the finalizers of their spec, which metadata do not have: see
// Node.SpecFinalizers. What could not be read is returned, sorted; one that has gone is left as it is. The error is not
// nil only if ctx has ended.
func (g *Graph) ReadNamespaces(
	ctx context.Context, reader *cluster.Reader, nodes []*Node,
) ([]cluster.Incomplete, error) {
	errs := make([]error, len(nodes))
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for i, n := range nodes {
		if !n.isNamespace() {
			continue
		}
		group.Go(func() error {
			var obj *unstructured.Unstructured
			if obj, errs[i] = reader.Object(ctx, *n.Kind, "", n.Name); errs[i] == nil && obj.GetUID() == n.UID {
				n.SpecFinalizers, _, _ = unstructured.NestedStringSlice(obj.Object, "spec", "finalizers")
			}
			return nil
		})
	}
	_ = group.Wait() // errors are kept one by one
	if ctx.Err() != nil {
		return nil, fmt.Errorf("reading namespaces: %w", context.Cause(ctx))
	}
	var missing []cluster.Incomplete
	for i, err := range errs {
		if err != nil && !apierrors.IsNotFound(err) {
			missing = append(missing, cluster.Target{Kind: *nodes[i].Kind}.Incomplete(err))
		}
	}
	return cluster.SortIncomplete(missing), nil
}

func (n *Node) isNamespace() bool { return n.Kind.GroupKind().String() == "Namespace" }
