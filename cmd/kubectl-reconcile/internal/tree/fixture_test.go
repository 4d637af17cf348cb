package tree

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// treeTime is when trees of tests are drawn; their objects are an hour old.
var treeTime = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// testTree makes trees by hand: objects and what they own, the facts of each, and what the garbage collector makes of
// them.
type testTree struct {
	facts    treestatus.FactsByUID
	outcomes map[types.UID]ownertree.GCOutcome
	kinds    map[string]*cluster.Kind
	objects  map[string]*ownertree.Node // by KIND/NAME
	findings treestatus.FindingsByUID
}

func newTestTree() *testTree {
	return &testTree{
		treestatus.FactsByUID{}, map[types.UID]ownertree.GCOutcome{}, map[string]*cluster.Kind{}, map[string]*ownertree.Node{},
		treestatus.FindingsByUID{},
	}
}

// kind is one of the kinds of test objects, which share theirs as those of a graph do.
func (g *testTree) kind(name string) *cluster.Kind {
	if g.kinds[name] == nil {
		g.kinds[name] = testKind(name)
	}
	return g.kinds[name]
}

func testKind(name string) *cluster.Kind {
	name, group, _ := strings.Cut(name, ".")
	if group == "" {
		group = map[string]string{"Deployment": "apps", "ReplicaSet": "apps"}[name]
	}
	return &cluster.Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: name},
		Resource:         strings.ToLower(name) + "s", Namespaced: true, HasStatus: name != "ConfigMap",
		Verbs: []string{"delete", "get", "list", "watch"},
	}
}

// objectOption changes a branch, or what is known of it.
type objectOption func(*testTree, *ownertree.Branch, *treestatus.Facts)

// object is KIND/NAME that is Current, with one container or replica ready, an hour old and of generation 1.
func (g *testTree) object(name string, with ...objectOption) *ownertree.Branch {
	kind, name, _ := strings.Cut(name, "/")
	b := &ownertree.Branch{Node: &ownertree.Node{
		Kind: g.kind(kind), Namespace: "shop", Name: name, UID: types.UID(kind + "-" + name), Generation: 1,
		Created: metav1.NewTime(treeTime.Add(-time.Hour)),
	}}
	g.objects[kind+"/"+name] = b.Node
	one := int64(1)
	f := &treestatus.Facts{Report: inspect.Report{
		Status: inspect.Status{Status: inspect.Current, Kstatus: inspect.Current},
		Drift:  inspect.Drift{Generation: 1, Observed: &one, State: inspect.InSync},
	}}
	g.facts[b.Node.UID] = f
	for _, change := range with {
		change(g, b, f)
	}
	return b
}

func owning(children ...*ownertree.Branch) objectOption {
	return func(_ *testTree, b *ownertree.Branch, _ *treestatus.Facts) {
		b.Children = append(b.Children, children...)
	}
}

func status(status, ready, reason string) objectOption {
	return func(_ *testTree, _ *ownertree.Branch, f *treestatus.Facts) {
		f.Status.Status, f.Ready, f.Reason = status, ready, reason
	}
}

func branch(change func(*ownertree.Branch)) objectOption {
	return func(_ *testTree, b *ownertree.Branch, _ *treestatus.Facts) { change(b) }
}

func asked() objectOption { return branch(func(b *ownertree.Branch) { b.Asked = true }) }

func relatedBy(how string) objectOption {
	return branch(func(b *ownertree.Branch) { b.Relation = how })
}

func aged(d time.Duration) objectOption {
	return branch(func(b *ownertree.Branch) { b.Node.Created = metav1.NewTime(treeTime.Add(-d)) })
}

// behind makes the controller see an older generation, since ten minutes.
func behind(generation, observed int64) objectOption {
	return func(_ *testTree, b *ownertree.Branch, f *treestatus.Facts) {
		b.Node.Generation = generation
		f.Drift = inspect.Drift{Generation: generation, Observed: &observed, State: inspect.Behind, Since: &metav1.Time{Time: treeTime.Add(-10 * time.Minute)}}
	}
}

// withOwner gives the object an owner with a verdict, and an outcome.
func withOwner(verdict ownertree.Verdict, outcome ownertree.GCOutcome) objectOption {
	return func(g *testTree, b *ownertree.Branch, _ *treestatus.Facts) {
		b.Node.Owners = append(b.Node.Owners, ownertree.Owner{
			OwnerReference: metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "old", UID: "3f2a7c11-0000"},
			Verdict:        verdict, Confirmed: true,
		})
		g.outcomes[b.Node.UID] = outcome
	}
}

// deleting makes the object one that is being deleted since ten minutes, held by finalizers.
func deleting(finalizers ...string) objectOption {
	return branch(func(b *ownertree.Branch) {
		b.Node.Deleting, b.Node.Finalizers = &metav1.Time{Time: treeTime.Add(-10 * time.Minute)}, finalizers
	})
}

var deletedOutcome = ownertree.GCOutcome{Action: ownertree.Deleted, Policy: metav1.DeletePropagationBackground, Why: "its owner Deployment old does not exist"}

// find returns what was found of the object of a branch, to be filled in.
func (g *testTree) find(b *ownertree.Branch) *treestatus.Findings {
	if g.findings[b.Node.UID] == nil {
		g.findings[b.Node.UID] = &treestatus.Findings{}
	}
	return g.findings[b.Node.UID]
}

// needing makes the object need another that is not there, named by a third; empty for itself.
func needing(other, namedBy string) objectOption {
	return func(g *testTree, b *ownertree.Branch, _ *treestatus.Facts) {
		node := func(name string) *ownertree.Node {
			kind, name, _ := strings.Cut(name, "/")
			return &ownertree.Node{Kind: g.kind(kind), Namespace: "shop", Name: name}
		}
		lack := ownertree.Lack{Object: node(other), NamedBy: b.Node}
		if namedBy != "" {
			lack.NamedBy = node(namedBy)
		}
		g.find(b).Lacks = append(g.find(b).Lacks, lack)
	}
}

// reported adds an Event of five minutes ago.
func reported(kind, reason, message string, count int32) objectOption {
	return func(g *testTree, b *ownertree.Branch, _ *treestatus.Facts) {
		g.find(b).Events = append(g.find(b).Events, ownertree.Event{
			Type: kind, Reason: reason, Message: message, Count: count, Last: metav1.NewTime(treeTime.Add(-5 * time.Minute)),
		})
	}
}

// GCOutcome implements garbageCollector.
func (g *testTree) GCOutcome(n *ownertree.Node) ownertree.GCOutcome {
	if outcome, ok := g.outcomes[n.UID]; ok {
		return outcome
	}
	return ownertree.GCOutcome{Action: ownertree.Kept}
}

// Blockers implements garbageCollector.
func (g *testTree) Blockers(n *ownertree.Node) (ownertree.DeletionBlockers, bool) {
	own := func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	}
	return ownertree.DeletionBlockers{Node: n, Finalizers: slices.DeleteFunc(slices.Clone(n.Finalizers), own)}, n.Deleting != nil
}

func (g *testTree) nodes(branches ...*ownertree.Branch) []*treestatus.StatusNode {
	return treestatus.RollUp(branches, g, g.facts, g.findings)
}

// render is the tree as it is printed.
func (g *testTree) render(o foldOptions, branches ...*ownertree.Branch) string {
	items := itemMaker{now: treeTime, events: o.events, kinds: kindNamesOf(ownertree.NodesOf(branches))}.items(fold(g.nodes(branches...), o))
	var out strings.Builder
	if err := render.Tree(&out, items, render.TreeOptions{}); err != nil {
		panic(err) // a strings.Builder has no errors
	}
	return "\n" + out.String()
}

// ownedByDeleting gives the object an owner that is there, is being deleted and waits for it: the garbage collector
// deletes it at once.
func ownedByDeleting(owner string) objectOption {
	return func(g *testTree, b *ownertree.Branch, _ *treestatus.Facts) {
		kind, name, _ := strings.Cut(owner, "/")
		b.Node.Owners = []ownertree.Owner{{
			OwnerReference: metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(kind + "-" + name)},
			Node:           &ownertree.Node{Kind: g.kind(kind), Name: name}, Verdict: ownertree.Solid, Confirmed: true,
		}}
		g.outcomes[b.Node.UID] = ownertree.GCOutcome{
			Action: ownertree.Deleted, Policy: metav1.DeletePropagationBackground, Why: "its owner " + kind + " " + name + " is being deleted",
		}
	}
}
