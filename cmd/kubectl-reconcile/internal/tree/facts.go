package tree

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
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
	ListObjects(ctx context.Context, target cluster.Target, o cluster.ListOptions,
		each func(*unstructured.Unstructured) error) error
}

var _ objectReader = (*cluster.Reader)(nil)

// Read reads the nodes that are wanted, of all that are there; everywhere says that these are the cluster's. What could
// not be read is in incomplete.
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

// date reads the first objects that are behind again, whole: since when they are, managedFields tell, which lists leave
// out.
func (r *factsReader) date(ctx context.Context, wanted []*ownertree.Node) {
	var undated []*ownertree.Node
	for _, n := range wanted {
		if f := r.facts[n.UID]; f != nil && f.Drift.State == inspect.Behind && f.Drift.Since == nil && len(undated) < cli.MaxNotes {
			undated = append(undated, n)
		}
	}
	r.readEach(ctx, undated)
}

// Given are the facts of an object that need not be read; nil if it must be.
func (r *factsReader) given(n *ownertree.Node) *objectFacts {
	if known := r.known.of(n); known != nil {
		return known
	}
	if r.whole || n.Deleting != nil || !statusless(n.Kind) {
		return nil
	}
	return &objectFacts{Report: inspect.Report{
		Status: inspect.Status{Status: inspect.Current, Kstatus: inspect.Current, JudgedBy: inspect.Generic},
		Drift:  inspect.Drift{Generation: n.Generation, State: inspect.NotReported},
	}}
}

// statusless reports whether the objects of a kind certainly have nothing to report: a kind of Kubernetes itself without
// the subresource status, but for Events, and EndpointSlices, which count endpoints. Custom resources may have a status
// all the same.
func statusless(kind *cluster.Kind) bool {
	return !kind.HasStatus && scheme.Scheme.Recognizes(kind.GroupVersionKind) && kind.Kind != "Event" &&
		kind.Kind != "EndpointSlice"
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
	if n.Kind.GroupKind().String() == "Service" {
		serviceType, _, _ := unstructured.NestedString(obj.Object, "spec", "type")
		if serviceType != string(corev1.ServiceTypeExternalName) {
			facts.selector, _, _ = unstructured.NestedStringMap(obj.Object, "spec", "selector")
		}
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
	r.incomplete = append(r.incomplete, cluster.Target{Kind: *kind, Namespace: namespace}.Incomplete(err))
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
