package tree

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// worthListing is how many times more objects a list may hold than are needed of it, to be cheaper than as many single
// reads.
const worthListing = 20

// join makes one list of those of many namespaces, where most of it is wanted.
func join(targets map[targetKey]*factsTarget) {
	type sum struct{ lists, wanted, there int }
	sums := map[*cluster.Kind]sum{}
	for key, t := range targets {
		s := sums[key.kind]
		sums[key.kind] = sum{s.lists + 1, s.wanted + len(t.wanted), s.there + t.there}
	}
	for key, t := range targets {
		s := sums[key.kind]
		if key.namespace == "" || s.lists < worthJoining || 2*s.wanted < s.there {
			continue
		}
		all := targets[targetKey{key.kind, ""}]
		if all == nil {
			all = &factsTarget{}
			targets[targetKey{key.kind, ""}] = all
		}
		all.wanted, all.there = append(all.wanted, t.wanted...), all.there+t.there
		delete(targets, key)
	}
}

// worthJoining is how many lists are worth to be read as one, which whoever may read those may not be permitted.
const worthJoining = 4

// targetKey is a list that may be read.
type targetKey struct {
	kind      *cluster.Kind
	namespace string
}

// factsTarget is what is wanted of a list, and how long it is.
type factsTarget struct {
	wanted []*ownertree.Node
	there  int
}

// Objects of a list are judged by so many goroutines while the next arrive, of which so many may wait.
const (
	judges  = 2
	waiting = 256
)

// readTarget lists the target if that is cheaper than to read the objects one by one.
func (r *factsReader) readTarget(ctx context.Context, target cluster.Target, t *factsTarget) {
	if len(t.wanted) == 1 || len(t.wanted)*worthListing < t.there || !target.Kind.Can("list") {
		r.readEach(ctx, t.wanted)
		return
	}
	err := r.readList(ctx, target, t.wanted)
	switch {
	case err == nil:
		r.lost(t.wanted)
	case ctx.Err() != nil:
	case target.Kind.Namespaced && target.Namespace == "" && apierrors.IsForbidden(err):
		r.readEach(ctx, t.wanted)
	default:
		r.failed(&target.Kind, target.Namespace, err)
	}
}

// readList lists the target and keeps what is wanted of it.
func (r *factsReader) readList(ctx context.Context, target cluster.Target, nodes []*ownertree.Node) error {
	wanted := make(map[types.UID]*ownertree.Node, len(nodes))
	for _, n := range nodes {
		wanted[n.UID] = n
	}
	arrived := make(chan *unstructured.Unstructured, waiting)
	var judging sync.WaitGroup
	for range judges {
		judging.Go(func() {
			for obj := range arrived {
				r.keep(wanted[obj.GetUID()], obj)
			}
		})
	}
	err := r.reader.ListObjects(ctx, target, cluster.ListOptions{Whole: r.whole}, func(obj *unstructured.Unstructured) error {
		if wanted[obj.GetUID()] != nil {
			arrived <- obj
		}
		return nil
	})
	close(arrived)
	judging.Wait()
	return err
}

// readEach reads objects one by one; the reader bounds how many at a time.
func (r *factsReader) readEach(ctx context.Context, nodes []*ownertree.Node) {
	var running sync.WaitGroup
	for _, n := range nodes {
		running.Go(func() {
			obj, err := r.reader.Object(ctx, *n.Kind, n.Namespace, n.Name)
			switch {
			case err == nil && obj.GetUID() == n.UID:
				r.keep(n, obj)
			case err == nil, apierrors.IsNotFound(err):
				r.lost([]*ownertree.Node{n})
			case ctx.Err() == nil:
				r.failed(n.Kind, n.Namespace, err)
			}
		})
	}
	running.Wait()
}
