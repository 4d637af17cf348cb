package treestatus

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// Facts are what an object reports beyond its metadata. They do not change once they have been read.
type Facts struct {
	inspect.Report
	// Writer wrote to the object last; nil if managedFields were not read, or do not have it, and in a tree unless
	// ReadOptions.ManagedFields is set.
	Writer *fields.Writer
	// Containers are those of a pod, if ReadOptions.Containers is set.
	Containers []inspect.Container
	// Ended reports that it is a pod that has failed or completed, which is for good.
	Ended bool
	// Backends are those of a Service or an Ingress; zero while it is being deleted.
	Backends Backends
	// NotRead reports that the object does not exist, or could not be read: its status is Unknown.
	NotRead bool
	// own are the facts by the fields of the object alone, if its backends show others; else nil.
	own *Facts
}

// FactsOf returns what an object of a kind reports by its own fields, as inspect.Inspect does. Nil polarities are
// inspect.DefaultPolarities.
func FactsOf(kind *cluster.Kind, obj *unstructured.Unstructured, p *inspect.Polarities) *Facts {
	facts := &Facts{
		Report:   inspect.Inspect(obj, &inspect.Options{Polarities: p, NoStatus: !kind.HasStatus}),
		Backends: backendsOf(kind, obj),
	}
	if phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase"); kind.GroupKind().String() == "Pod" {
		facts.Ended = phase == string(corev1.PodFailed) || phase == string(corev1.PodSucceeded)
	}
	if w, ok := fields.LastWriter(obj); ok {
		facts.Writer = &w
	}
	return facts
}

// FactsByUID are the facts of the objects of a tree.
type FactsByUID map[types.UID]*Facts

// Of returns the facts of a node. They are never nil: those of an object that was not read are Unknown.
func (f FactsByUID) Of(n *ownertree.Node) *Facts {
	if facts := f[n.UID]; facts != nil {
		return facts
	}
	return &Facts{NotRead: true, Report: inspect.Report{
		Status: inspect.Status{Status: inspect.Unknown, Reason: "not read"},
		Drift:  inspect.Drift{State: inspect.NotReported},
	}}
}

// WithEvents returns the facts in the light of Events of the object: see inspect.Report.WithEvents. It does not change
// f.
func (f *Facts) WithEvents(all []ownertree.Event) *Facts {
	seen := *f
	seen.Report = f.Report.WithEvents(all)
	if seen.Drift.State == f.Drift.State && seen.Later == f.Later {
		return f
	}
	return &seen
}

// At returns the facts as of a time, and whether any of them differ by then. It does not change f, which others may be
// reading at the same time.
func (f FactsByUID) At(now time.Time) (facts FactsByUID, changed bool) {
	facts = f
	for uid, known := range f {
		if known.Later == nil || now.Before(known.Later.From) {
			continue
		}
		if !changed {
			facts, changed = maps.Clone(f), true
		}
		aged := *known
		aged.Report = known.At(now)
		facts[uid] = &aged
	}
	return facts, changed
}

// ReadOptions choose what ReadFacts reads.
type ReadOptions struct {
	// ManagedFields finds out the last writer of each object.
	ManagedFields bool
	// Containers keeps the containers of pods.
	Containers bool
	// Known returns facts of an object that need not be read again, and nil for others; it may itself be nil.
	Known func(*ownertree.Node) *Facts
}

// maxDated bounds the objects that ReadFacts reads a second time to find out since when their controllers are behind:
// that is in managedFields, which lists leave out.
const maxDated = 10

// ReadFacts reads nodes of a graph in full, but those of kinds that have no status to report, and judges Services and
// Ingresses by their backends. What could not be read is returned beside the facts, sorted. When ctx ends some are
// missing, and so the caller must check ctx.
func ReadFacts(
	ctx context.Context, reader cluster.ObjectReader, g *ownertree.Graph, nodes []*ownertree.Node, o ReadOptions,
) (FactsByUID, []cluster.Incomplete) {
	facts, incomplete := readOwn(ctx, reader, nodes, o, cluster.ReadOptions{
		Whole: o.ManagedFields, Existing: countExisting(g.Nodes()), AllNamespaces: g.AllNamespaces(),
	})
	return facts.judgeBackends(g, nodes), incomplete
}

// readOwn is ReadFacts by the fields of each object alone; by tells how objects are read.
func readOwn(
	ctx context.Context, reader cluster.ObjectReader, nodes []*ownertree.Node, o ReadOptions, by cluster.ReadOptions,
) (FactsByUID, []cluster.Incomplete) {
	r := &factsReader{options: o, facts: make(FactsByUID, len(nodes))}
	var ids []cluster.ObjectID
	for _, n := range nodes {
		if n.UID == "" {
			continue // something refers to it, and it does not exist, or was not read
		}
		if facts := r.given(n); facts != nil {
			r.facts[n.UID] = facts
			continue
		}
		ids = append(ids, idOf(n))
	}
	incomplete := cluster.ReadObjects(ctx, reader, ids, by, func(i int, obj *unstructured.Unstructured) {
		r.keep(ids[i], obj)
	})
	var undated []cluster.ObjectID
	for _, n := range nodes {
		f := r.facts[n.UID]
		if f != nil && f.Drift.State == inspect.Behind && f.Drift.Since == nil && len(undated) < maxDated {
			undated = append(undated, idOf(n))
		}
	}
	again := cluster.ReadEach(ctx, reader, undated, func(i int, obj *unstructured.Unstructured) {
		r.keep(undated[i], obj)
	})
	return r.facts, cluster.SortIncomplete(append(incomplete, again...))
}

func idOf(n *ownertree.Node) cluster.ObjectID {
	return cluster.ObjectID{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name, UID: n.UID, Labels: n.Labels}
}

// countExisting counts nodes by kind and namespace, and of these the nodes with labels. Nodes of a kind share it.
func countExisting(nodes []*ownertree.Node) func(*cluster.Kind, string, map[string]string) int {
	type key struct {
		kind      *cluster.Kind
		namespace string
	}
	of := map[key][]*ownertree.Node{}
	for _, n := range nodes {
		of[key{n.Kind, n.Namespace}] = append(of[key{n.Kind, n.Namespace}], n)
	}
	return func(kind *cluster.Kind, namespace string, having map[string]string) int {
		count := 0
		for _, n := range of[key{kind, namespace}] {
			if labels.SelectorFromSet(having).Matches(labels.Set(n.Labels)) {
				count++
			}
		}
		return count
	}
}

// factsReader gathers the facts of one call of ReadFacts.
type factsReader struct {
	options ReadOptions

	mu    sync.Mutex // guards facts while objects are read
	facts FactsByUID
}

// given returns the facts of an object that need not be read; nil if it must be.
func (r *factsReader) given(n *ownertree.Node) *Facts {
	if r.options.Known != nil {
		if known := r.options.Known(n); known != nil {
			return cmp.Or(known.own, known)
		}
	}
	if r.options.ManagedFields || n.Deleting != nil || !statusless(n.Kind) {
		return nil
	}
	return &Facts{Report: inspect.Report{
		Status: inspect.Status{Status: inspect.Current, Kstatus: inspect.Current, JudgedBy: inspect.Generic},
		Drift:  inspect.Drift{Generation: n.Generation, State: inspect.NotReported},
	}}
}

// statusless reports whether the objects of a kind certainly have nothing to report: a kind of Kubernetes itself
// without the subresource status, but for Events, and EndpointSlices, which count endpoints. Custom resources may have
// a status all the same.
func statusless(kind *cluster.Kind) bool {
	return !kind.HasStatus && scheme.Scheme.Recognizes(kind.GroupVersionKind) && kind.Kind != "Event" &&
		kind.Kind != "EndpointSlice"
}

// keep notes the facts of an object; obj is nil if it was deleted since its metadata were read.
func (r *factsReader) keep(id cluster.ObjectID, obj *unstructured.Unstructured) {
	facts := &Facts{Report: inspect.Report{
		Status: inspect.Status{Status: inspect.Terminating, Reason: "deleted just now"},
		Drift:  inspect.Drift{State: inspect.NotReported},
	}}
	if obj != nil {
		facts = FactsOf(id.Kind, obj, nil)
		if !r.options.ManagedFields {
			facts.Writer = nil
		}
		if r.options.Containers {
			facts.Containers = inspect.Containers(obj)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if obj == nil && r.facts[id.UID] != nil {
		return
	}
	r.facts[id.UID] = facts
}
