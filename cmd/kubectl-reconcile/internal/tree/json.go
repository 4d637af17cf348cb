package tree

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// treeDocument is what `tree -o json` prints. docs/tree.schema.json describes it: it is a promise.
type treeDocument struct {
	APIVersion string               `json:"apiVersion"`
	Kind       string               `json:"kind"`
	Trees      []*treeObject        `json:"trees"`
	Incomplete []cluster.Incomplete `json:"incomplete,omitempty"`
}

// treeObject is an object in its place.
type treeObject struct {
	Object     cli.ObjectRef `json:"object"`
	Created    metav1.Time   `json:"created"`
	Deleting   *metav1.Time  `json:"deleting,omitempty"`
	Finalizers []string      `json:"finalizers,omitempty"`
	inspect.Report
	Drifted  bool `json:"drifted"`
	NotReady bool `json:"notReady"`
	// Summary is the reason as the tree shows it: the object's own, and what is worst below.
	Summary    string              `json:"summary,omitempty"`
	LastWriter *inspect.Writer     `json:"lastWriter,omitempty"`
	Containers []inspect.Container `json:"containers,omitempty"`
	// Lacks are what the object needs and is not there, Events what was reported of it: of one that is not Current, or
	// with --events.
	Lacks  []treeLack        `json:"lacks,omitempty"`
	Events []ownertree.Event `json:"events,omitempty"`
	Owners []treeOwner       `json:"owners,omitempty"`
	Fate   *treeFate         `json:"garbageCollector,omitempty"`
	HeldBy *treeHold         `json:"heldBy,omitempty"`
	// Relation says how the object belongs to the one above if that does not own it.
	Relation string `json:"relation,omitempty"`
	// Missing means that something refers to the object, which is not there.
	Missing bool `json:"missing,omitempty"`
	Asked   bool `json:"asked,omitempty"`
	// Repeated and Cycle mean that what is below is elsewhere: at the same object, or above.
	Repeated bool `json:"repeated,omitempty"`
	Cycle    bool `json:"cycle,omitempty"`
	// Beside means that what is below is not told: the object only shares an owner with one asked for.
	Beside bool `json:"beside,omitempty"`
	// Truncated is how many dependents are left out because of --depth.
	Truncated int           `json:"truncated,omitempty"`
	Children  []*treeObject `json:"children,omitempty"`
}

// treeLack is an object that is not there, and what names it.
type treeLack struct {
	Object  cli.ObjectRef `json:"object"`
	NamedBy cli.ObjectRef `json:"namedBy"`
}

// treeOwner is an owner reference and its verdict.
type treeOwner struct {
	APIVersion         string            `json:"apiVersion"`
	Kind               string            `json:"kind"`
	Name               string            `json:"name"`
	UID                types.UID         `json:"uid"`
	Controller         bool              `json:"controller,omitempty"`
	BlockOwnerDeletion bool              `json:"blockOwnerDeletion,omitempty"`
	Verdict            ownertree.Verdict `json:"verdict"`
	Confirmed          bool              `json:"confirmed"`
	Detail             string            `json:"detail,omitempty"`
}

// treeFate is what the garbage collector will do.
type treeFate struct {
	Action ownertree.GCAction         `json:"action"`
	Policy metav1.DeletionPropagation `json:"policy,omitempty"`
	Why    string                     `json:"why,omitempty"`
	// After are the owners that have to go first.
	After []cli.ObjectRef `json:"after,omitempty"`
	// Finalizers are those that will hold the object.
	Finalizers []string `json:"finalizers,omitempty"`
}

// treeHold is what holds up a deletion.
type treeHold struct {
	Finalizers []string `json:"finalizers,omitempty"`
	// Releases are the finalizers that Kubernetes itself removes.
	Releases   []treeRelease   `json:"releases,omitempty"`
	Dependents []cli.ObjectRef `json:"dependents,omitempty"`
	// Undiscovered are the API versions whose kinds are not known, of a namespace.
	Undiscovered []cluster.Incomplete `json:"undiscovered,omitempty"`
	// Perhaps means, in a preview, that it depends on what comes first.
	Perhaps bool `json:"perhaps,omitempty"`
}

// treeRelease is a finalizer that Kubernetes itself removes.
type treeRelease struct {
	ownertree.FinalizerRemoval
	// Users may keep up the condition.
	Users []cli.ObjectRef `json:"users,omitempty"`
}

func newTreeHold(hold ownertree.DeletionBlockers) *treeHold {
	out := &treeHold{
		Finalizers: hold.Finalizers, Dependents: refsOf(hold.Dependents), Undiscovered: hold.Undiscovered,
		Perhaps: hold.Perhaps,
	}
	for _, r := range hold.Removals {
		out.Releases = append(out.Releases, treeRelease{r, refsOf(r.Users)})
	}
	return out
}

// document is the tree for programs: nothing in it is folded.
func (t *tree) document() *treeDocument {
	return &treeDocument{
		APIVersion: cli.APIVersion, Kind: "OwnerTree",
		Trees: append([]*treeObject{}, treeObjects(t.limbs(), t.graph)...), Incomplete: t.allIncomplete(),
	}
}

func treeObjects(limbs []*limb, c collector) []*treeObject {
	var out []*treeObject
	for _, l := range limbs {
		out = append(out, newTreeObject(l, c))
	}
	return out
}

func newTreeObject(l *limb, c collector) *treeObject {
	n := l.Node
	o := &treeObject{
		Object: refOf(n), Created: n.Created, Deleting: n.Deleting, Finalizers: n.Finalizers,
		Report: l.facts.Report, Drifted: l.facts.Drifted(), NotReady: l.facts.NotReady(), Summary: l.reason(),
		LastWriter: l.facts.writer, Containers: l.facts.containers,
		Relation: l.Relation, Missing: l.Missing, Asked: l.Asked,
		Repeated: l.Repeated, Cycle: l.Cycle, Beside: l.Beside, Truncated: l.Truncated,
		Children: treeObjects(l.children, c),
	}
	if l.found != nil {
		for _, lack := range l.found.lacks {
			o.Lacks = append(o.Lacks, treeLack{refOf(lack.Object), refOf(lack.NamedBy)})
		}
		o.Events = l.found.events
	}
	for i := range n.Owners {
		o.Owners = append(o.Owners, newTreeOwner(&n.Owners[i]))
	}
	if l.fate.Action != ownertree.Kept {
		o.Fate = &treeFate{l.fate.Action, l.fate.Policy, l.fate.Why, refsOf(l.fate.After), l.fate.Finalizers}
	}
	if hold, held := c.Blockers(n); held {
		o.HeldBy = newTreeHold(hold)
	}
	return o
}

func newTreeOwner(o *ownertree.Owner) treeOwner {
	return treeOwner{
		APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID,
		Controller: o.Controller != nil && *o.Controller, BlockOwnerDeletion: o.Blocks(),
		Verdict: o.Verdict, Confirmed: o.Confirmed, Detail: o.Detail,
	}
}

func refOf(n *ownertree.Node) cli.ObjectRef {
	return cli.ObjectRef{
		APIVersion: n.Kind.GroupVersion().String(), Kind: n.Kind.Kind, Namespace: n.Namespace, Name: n.Name, UID: n.UID,
	}
}

func refsOf(nodes []*ownertree.Node) []cli.ObjectRef {
	out := make([]cli.ObjectRef, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, refOf(n))
	}
	return out
}
