package status

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// statusList is what was read, sorted.
type statusList struct {
	items []statusItem
	// incomplete is what could not be read, sorted.
	incomplete []cluster.Incomplete
	// leftOut counts the objects that the table does not show.
	leftOut int
}

// statusItem is one object as it is printed, and what is known of it beside.
type statusItem struct {
	v1alpha1.StatusItem

	kind    cluster.Kind
	version string // resourceVersion
	source  string // the key of the target that it was watched for; empty without --watch
	// routed are the facts of a Service or an Ingress by its own fields, for judgeBackends; nil for others.
	routed *treestatus.Facts
}

func newStatusList(items []statusItem, incomplete []cluster.Incomplete) *statusList {
	sortStatus(items)
	return &statusList{items: items, incomplete: cluster.SortIncomplete(incomplete)}
}

// document is the list for programs.
func (l *statusList) document() *v1alpha1.StatusList {
	out := &v1alpha1.StatusList{
		APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.StatusListKind,
		Items: make([]v1alpha1.StatusItem, len(l.items)), Incomplete: l.incomplete,
	}
	for i := range l.items {
		out.Items[i] = l.items[i].StatusItem
	}
	return out
}

// newStatusItem judges one object as of a time, and keeps nothing else of it.
func newStatusItem(kind cluster.Kind, obj *unstructured.Unstructured, p *inspect.Polarities, now time.Time) statusItem {
	facts := treestatus.FactsOf(&kind, obj, p)
	facts.Report = facts.At(now)
	item := statusItem{
		StatusItem: v1alpha1.StatusItem{
			Object: v1alpha1.ObjectRef{
				APIVersion: kind.GroupVersion().String(), Kind: kind.Kind,
				Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(),
			},
			Created:    obj.GetCreationTimestamp(),
			LastWriter: facts.Writer,
		},
		kind:    kind,
		version: obj.GetResourceVersion(),
	}
	if !facts.Backends.IsZero() {
		item.routed = facts
	}
	item.setReport(facts.Report)
	return item
}

// setReport replaces what is said of the item.
func (i *statusItem) setReport(report inspect.Report) {
	i.Report = report
	i.Drifted, i.NotReady = report.Drifted(), report.NotReady()
}

// id identifies the object.
func (i *statusItem) id() cluster.ObjectID {
	return cluster.ObjectID{
		Kind: &i.kind, Namespace: i.Object.Namespace, Name: i.Object.Name, UID: i.Object.UID,
	}
}

// name spells the object as kubectl does: deployment.apps/web.
func (i statusItem) name() string { return i.kind.String() + "/" + i.Object.Name }

// sortStatus puts the worst first, objects of the same status together; of these what has bad conditions and what is
// drifted comes first, then it orders by namespace, kind and name.
func sortStatus(items []statusItem) {
	sort.Slice(items, func(i, j int) bool {
		a, b := &items[i], &items[j]
		return cmp.Or(
			cmp.Compare(b.urgency(), a.urgency()),
			-compareBool(a.hasBad(), b.hasBad()),
			-compareBool(a.Drifted, b.Drifted),
			cmp.Compare(a.Object.Namespace, b.Object.Namespace),
			a.kind.Compare(b.kind),
			cmp.Compare(a.Object.Name, b.Object.Name),
			cmp.Compare(a.Object.UID, b.Object.UID),
		) < 0
	})
}

// urgency orders by severity. Of what is Unknown, objects without any status yet are the least urgent.
func (i *statusItem) urgency() int {
	if i.Unreported() {
		return 2*i.Severity() - 1
	}
	return 2 * i.Severity()
}

func (i *statusItem) hasBad() bool {
	return slices.ContainsFunc(i.Conditions, func(c inspect.Condition) bool { return c.Bad })
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// choose keeps in the list what gets a line, and counts what is left out of the table.
func (o *Options) choose(list *statusList) {
	list.items = slices.DeleteFunc(list.items, func(i statusItem) bool { return !o.selects(&i) })
	selected := len(list.items)
	list.items = slices.DeleteFunc(list.items, func(i statusItem) bool { return o.leavesOut(&i) })
	list.leftOut = selected - len(list.items)
}

// selects reports whether --drifted and --not-ready let the object through: with both, what is either.
func (o *Options) selects(i *statusItem) bool {
	return !o.drifted && !o.notReady || o.drifted && i.Drifted || o.notReady && i.NotReady
}

// leavesOut reports whether an object has no line in the table: it is cluster-scoped and well, as dozens are in every
// cluster, and the user did not ask for it in particular.
func (o *Options) leavesOut(i *statusItem) bool {
	inParticular := !o.guessed() || o.targets.Labels != "" || o.targets.Fields != ""
	if inParticular || o.output != "" || o.conditions || i.kind.Namespaced {
		return false
	}
	return i.Status.Status == inspect.Current && !i.Drifted && len(i.Problems) == 0
}
