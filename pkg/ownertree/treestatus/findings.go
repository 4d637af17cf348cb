package treestatus

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// Findings are what other objects tell about an object. A nil *Findings has none.
type Findings struct {
	// Lacks are what the object needs and what does not exist.
	Lacks []ownertree.Lack
	// Events were reported about the object, the last first: those of the last hour, or with FindOptions.AllEvents all.
	Events []ownertree.Event
	// Cause is what its Events show to be the reason of its state; nil if they show none that the object itself does
	// not.
	Cause *inspect.Cause
}

// maxWarnings is how many Warnings of an object are returned.
const maxWarnings = 2

// Warnings returns the Warnings that explain most, the last first: of each reason the one with the longest message.
// Those that only say that a retry is put off are left out beside others.
func (f *Findings) Warnings() []ownertree.Event {
	if f == nil {
		return nil
	}
	best := map[string]ownertree.Event{}
	var order []string
	for _, e := range f.Events {
		if e.Type != corev1.EventTypeWarning {
			continue
		}
		known, seen := best[e.Reason]
		if !seen {
			order = append(order, e.Reason)
		}
		if !seen || len(e.Message) > len(known.Message) {
			best[e.Reason] = e
		}
	}
	if len(order) > 1 {
		order = slices.DeleteFunc(order, func(reason string) bool { return strings.HasSuffix(reason, "BackOff") })
	}
	var out []ownertree.Event
	for _, reason := range order[:min(len(order), maxWarnings)] {
		out = append(out, best[reason])
	}
	return out
}

// FindingsByUID are the findings of the objects of a tree. A nil map has none.
type FindingsByUID map[types.UID]*Findings

// of returns the findings of a node to be filled in.
func (f FindingsByUID) of(n *ownertree.Node) *Findings {
	if f[n.UID] == nil {
		f[n.UID] = &Findings{}
	}
	return f[n.UID]
}

// FindOptions choose what Find looks for.
type FindOptions struct {
	// Related are the relations of the tree if Graph.Relate has found them already; else Find looks for what is needed.
	Related   bool
	Relations []ownertree.Relation
	// AllEvents reads the Events of all objects; without it, only Warnings of those that are not Current.
	AllEvents bool
	// Now is the present time.
	Now time.Time
}

// Found is what Find returns.
type Found struct {
	Findings FindingsByUID
	// Searched reports whether there were objects to look for findings of.
	Searched bool
	// Incomplete is what could not be read, sorted.
	Incomplete []cluster.Incomplete
}

// maxExplained is of how many objects that are not Current the reasons are looked for, the worst of them.
const maxExplained = 16

// Find looks for reasons of what is not Current in a tree: what it needs and what does not exist, Warnings, and what
// these show to be the cause by the rules of inspect.Causes. The error is not nil only if ctx has ended.
func Find(
	ctx context.Context, reader *cluster.Reader, g *ownertree.Graph, branches []*ownertree.Branch, facts FactsByUID,
	o FindOptions,
) (*Found, error) {
	found := &Found{Findings: FindingsByUID{}}
	unwell := unexplained(RollUp(branches, g, facts, nil))
	relations := o.Relations
	if !o.Related && len(unwell) > 0 {
		staying := slices.DeleteFunc(slices.Clone(unwell), func(n *ownertree.Node) bool { return n.Deleting != nil })
		var err error
		relations, found.Incomplete, err = g.Relate(ctx, reader, staying, ownertree.RelateOptions{NeedsOnly: true})
		if err != nil {
			return nil, err
		}
	}
	objects, unread := ReadEach(ctx, reader, unwell)
	found.Incomplete = append(found.Incomplete, unread...)
	bound := map[*ownertree.Node]bool{} // the claims
	for _, r := range relations {
		bound[r.From] = bound[r.From] || r.To.Kind.Kind == "PersistentVolume" && !r.Missing
	}
	relations = slices.DeleteFunc(slices.Clone(relations), func(r ownertree.Relation) bool {
		isPast := bound[r.From] && r.To.Kind.Kind == "StorageClass"
		return r.Missing && (isPast || !facts.NeedsNow(r, objects[r.From]))
	})
	for n, lacks := range ownertree.Lacks(unwell, relations) {
		if n.Deleting == nil {
			found.Findings.of(n).Lacks = lacks
		}
	}
	about := unwell
	if o.AllEvents {
		about = slices.DeleteFunc(ownertree.NodesOf(branches), func(n *ownertree.Node) bool { return n.UID == "" })
	}
	events, unread, err := g.Events(ctx, reader, about, ownertree.EventOptions{Warnings: !o.AllEvents})
	if err != nil {
		return nil, err
	}
	for n, all := range events {
		if !o.AllEvents {
			all = inspect.RecentEvents(all, o.Now)
		}
		found.Findings.of(n).Events = all
	}
	for n, obj := range objects {
		if cause := causeOf(obj, facts.Of(n), events[n], o.Now); cause != nil {
			found.Findings.of(n).Cause = cause
		}
	}
	found.Searched = len(about) > 0
	found.Incomplete = cluster.SortIncomplete(append(found.Incomplete, unread...))
	return found, nil
}

// unexplained returns the objects that are not Current: first those with nothing below that explains it, the worst
// first.
func unexplained(tops []*StatusNode) []*ownertree.Node {
	var all []*StatusNode
	for _, n := range Each(tops) {
		if !n.Facts.NotRead && n.Branch.Node.UID != "" && n.OwnSeverity > SeverityNormal {
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b *StatusNode) int {
		return cmp.Or(cmp.Compare(a.Causes, b.Causes), cmp.Compare(b.OwnSeverity, a.OwnSeverity))
	})
	var out []*ownertree.Node
	for _, n := range all[:min(len(all), maxExplained)] {
		out = append(out, n.Branch.Node)
	}
	return out
}

// ReadEach reads nodes in full, one by one; those that have gone are left out. What could not be read is returned
// beside the objects, sorted. When ctx ends some are missing, and so the caller must check ctx.
func ReadEach(
	ctx context.Context, reader cluster.ObjectReader, nodes []*ownertree.Node,
) (map[*ownertree.Node]*unstructured.Unstructured, []cluster.Incomplete) {
	var ids []cluster.ObjectID
	for _, n := range nodes {
		ids = append(ids, idOf(n))
	}
	out := map[*ownertree.Node]*unstructured.Unstructured{}
	var mu sync.Mutex
	unread := cluster.ReadEach(ctx, reader, ids, func(i int, obj *unstructured.Unstructured) {
		if obj == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		out[nodes[i]] = obj
	})
	return out, unread
}

// causeOf is the cause that the Events of an object show; nil if they show none, or the object shows as much by itself:
// then its own reason has it.
func causeOf(obj *unstructured.Unstructured, facts *Facts, events []ownertree.Event, now time.Time) *inspect.Cause {
	report := inspect.Inspect(obj, nil).At(now)
	report.Status = facts.Status
	var best *inspect.Cause
	for _, c := range inspect.Causes(obj, report, inspect.Observations{Events: events, Now: now}) {
		if c.Weight > inspect.Symptom && (best == nil || c.Weight > best.Weight) {
			best = &c
		}
	}
	reported := func(e inspect.Evidence) bool { return e.Source == inspect.FromEvent }
	if best == nil || !slices.ContainsFunc(best.Evidence, reported) {
		return nil
	}
	return best
}

// NeedsNow reports whether it matters to the state of what a relation comes from that what it leads to does not exist,
// where that is needed at all. What a pod mounts or reads keeps its containers from starting; once they have started it
// is of no concern. Without credentials for the registry an image may be pulled all the same. The object is what the
// relation comes from; nil if it was not read.
func (f FactsByUID) NeedsNow(r ownertree.Relation, obj *unstructured.Unstructured) bool {
	facts := f.Of(r.From)
	switch r.From.Kind.GroupKind().String() {
	case "Pod":
	case "PersistentVolume": // for it, a class is a name that claims have, too
		return r.To.Kind.Kind != "StorageClass"
	case "PersistentVolumeClaim": // one that was bound says itself that its volume is gone, and needs its class no more
		named := false
		if obj != nil {
			_, named, _ = unstructured.NestedString(obj.Object, "spec", "volumeName")
		}
		switch r.To.Kind.Kind {
		case "PersistentVolume":
			return facts.Status.Status == inspect.InProgress
		case "StorageClass":
			return !named && !facts.Current()
		}
		return true
	default:
		return true
	}
	switch r.Type {
	case "pulls images with":
		return strings.Contains(facts.Reason, "Image")
	case "runs as", "of class", "runs on":
		return r.To.Kind.Kind == "Node"
	}
	return !hasStarted(obj)
}

// hasStarted reports whether a container of a pod has ever run.
func hasStarted(pod *unstructured.Unstructured) bool {
	return slices.ContainsFunc(inspect.Containers(pod), func(c inspect.Container) bool {
		return c.Type == inspect.MainContainer && (c.State == "running" || c.State == "terminated" || c.Restarts > 0)
	})
}
