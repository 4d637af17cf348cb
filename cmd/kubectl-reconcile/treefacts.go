package main

import (
	"context"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// factsReader reads the objects of trees in full, and keeps what a tree shows of them.
type factsReader struct {
	reader objectReader
	// whole wants managedFields, containers those of pods.
	whole, containers bool
	// known need not be read again; it may be nil.
	known *knownFacts

	mu         sync.Mutex
	facts      factsByUID
	incomplete []cluster.Incomplete
}

// objectReader reads objects in full. A cluster.Reader does.
type objectReader interface {
	Object(ctx context.Context, kind cluster.Kind, namespace, name string) (*unstructured.Unstructured, error)
	ListObjects(ctx context.Context, target cluster.Target, o cluster.ListOptions, each func(*unstructured.Unstructured) error) error
}

var _ objectReader = (*cluster.Reader)(nil)

// worthListing is how many times more objects a list may hold than are needed of it, to be cheaper than as many single reads.
const worthListing = 20

// read reads the nodes that are wanted, of all that are there; everywhere says that these are the cluster's. What could not be
// read is in incomplete.
func (r *factsReader) read(ctx context.Context, wanted, all []*ownertree.Node, everywhere bool) {
	r.facts = make(factsByUID, len(wanted))
	targets := map[targetKey]*factsTarget{}
	for _, n := range wanted {
		if n.UID == "" {
			continue // something refers to it, and it is not there, or was not read
		}
		if facts := r.given(n); facts != nil {
			r.facts[n.UID] = facts
			continue
		}
		key := targetKey{n.Kind, n.Namespace}
		if targets[key] == nil {
			targets[key] = &factsTarget{}
		}
		targets[key].wanted = append(targets[key].wanted, n)
	}
	for _, n := range all {
		if t := targets[targetKey{n.Kind, n.Namespace}]; t != nil {
			t.there++
		}
	}
	if everywhere {
		join(targets)
	}
	var running sync.WaitGroup
	for key, t := range targets {
		running.Go(func() { r.readTarget(ctx, cluster.Target{Kind: *key.kind, Namespace: key.namespace}, t) })
	}
	running.Wait()
	r.date(ctx, wanted)
	r.incomplete = cluster.SortIncomplete(r.incomplete)
}

// date reads the first objects that are behind again, whole: since when they are, managedFields tell, which lists leave out.
func (r *factsReader) date(ctx context.Context, wanted []*ownertree.Node) {
	var undated []*ownertree.Node
	for _, n := range wanted {
		if f := r.facts[n.UID]; f != nil && f.Drift.State == inspect.Behind && f.Drift.Since == nil && len(undated) < mostOfASort {
			undated = append(undated, n)
		}
	}
	r.readEach(ctx, undated)
}

// given are the facts of an object that need not be read; nil if it must be.
func (r *factsReader) given(n *ownertree.Node) *objectFacts {
	if known := r.known.of(n); known != nil {
		return known
	}
	if r.whole || n.Deleting != nil || !statusless(n.Kind) {
		return nil
	}
	return &objectFacts{Report: inspect.Report{
		Status: inspect.Status{Status: inspect.Current, Kstatus: inspect.Current},
		Drift:  inspect.Drift{Generation: n.Generation, State: inspect.NotReported},
	}}
}

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

// statusless says whether the objects of a kind certainly have nothing to report: a kind of Kubernetes itself without the
// subresource status, but for Events, and EndpointSlices, which count endpoints. Custom resources may have a status all the same.
func statusless(kind *cluster.Kind) bool {
	return !kind.HasStatus && scheme.Scheme.Recognizes(kind.GroupVersionKind) && kind.Kind != "Event" && kind.Kind != "EndpointSlice"
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

// keep keeps what a tree shows of an object.
func (r *factsReader) keep(n *ownertree.Node, obj *unstructured.Unstructured) {
	facts := &objectFacts{Report: inspect.Inspect(obj, nil)}
	facts.Status = facts.ForKind(n.Kind.HasStatus)
	if w, ok := inspect.LastWriter(obj); ok && r.whole {
		facts.writer = &w
	}
	if r.containers {
		facts.containers = inspect.Containers(obj)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts[n.UID] = facts
}

// lost notes the objects, of those, that have gone since their metadata were read.
func (r *factsReader) lost(nodes []*ownertree.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range nodes {
		if r.facts[n.UID] == nil {
			r.facts[n.UID] = goneFacts
		}
	}
}

// goneFacts stand for those of an object that was deleted while the tree was read.
var goneFacts = &objectFacts{Report: inspect.Report{
	Status: inspect.Status{Status: inspect.Terminating, Reason: "deleted just now"},
	Drift:  inspect.Drift{State: inspect.NotReported},
}}

func (r *factsReader) failed(kind *cluster.Kind, namespace string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.incomplete = append(r.incomplete, cluster.Incomplete{
		Group: kind.Group, Version: kind.Version, Resource: kind.Resource, Namespace: namespace,
		Reason: cluster.Reason(err), Message: err.Error(),
	})
}

// nodesOf lists the objects of trees, each once, as they are first drawn.
func nodesOf(branches []*ownertree.Branch) []*ownertree.Node {
	var out []*ownertree.Node
	seen := map[*ownertree.Node]bool{}
	stack := slices.Clone(branches)
	slices.Reverse(stack)
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !seen[b.Node] {
			seen[b.Node] = true
			out = append(out, b.Node)
		}
		for _, child := range slices.Backward(b.Children) {
			stack = append(stack, child)
		}
	}
	return out
}
