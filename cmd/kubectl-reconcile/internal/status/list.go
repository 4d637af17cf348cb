package status

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// statusList is what `status -o json` prints. docs/status.md describes it: it is a promise.
type statusList struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Items      []statusItem `json:"items"`
	// Incomplete is what could not be read, sorted.
	Incomplete []cluster.Incomplete `json:"incomplete,omitempty"`

	leftOut int // objects that the table does not show
}

// statusItem is one object. Nothing of its spec is in it.
type statusItem struct {
	Object cli.ObjectRef `json:"object"`
	// Created is when it was.
	Created metav1.Time `json:"created"`
	inspect.Report
	// Drifted and NotReady sum the report up, as --drifted and --not-ready select by them.
	Drifted  bool `json:"drifted"`
	NotReady bool `json:"notReady"`
	// LastWriter is who wrote to it last; only if managedFields were read.
	LastWriter *inspect.Writer `json:"lastWriter,omitempty"`

	kind    cluster.Kind
	version string // resourceVersion
	source  string // the key of the target that it was watched for; empty without --watch
}

func newStatusList(items []statusItem, incomplete []cluster.Incomplete) *statusList {
	if items == nil {
		items = []statusItem{}
	}
	sortStatus(items)
	return &statusList{
		APIVersion: cli.APIVersion, Kind: "StatusList", Items: items, Incomplete: cluster.SortIncomplete(incomplete),
	}
}

// newStatusItem judges one object as of a time, and keeps nothing else of it.
func newStatusItem(kind cluster.Kind, obj *unstructured.Unstructured, p *inspect.Polarities, now time.Time) statusItem {
	item := statusItem{
		Object: cli.ObjectRef{
			APIVersion: kind.GroupVersion().String(), Kind: kind.Kind,
			Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(),
		},
		Created: obj.GetCreationTimestamp(),
		Report:  inspect.Inspect(obj, p),
		kind:    kind,
		version: obj.GetResourceVersion(),
	}
	if writer, ok := inspect.LastWriter(obj); ok {
		item.LastWriter = &writer
	}
	return item.at(now)
}

// at is the item as of a time.
func (i statusItem) at(now time.Time) statusItem {
	i.Report = i.At(now)
	i.Status = i.ForKind(i.kind.HasStatus)
	i.Drifted, i.NotReady = i.Report.Drifted(), i.Report.NotReady()
	return i
}

// name spells the object as kubectl does: deployment.apps/web.
func (i statusItem) name() string { return i.kind.String() + "/" + i.Object.Name }

// sortStatus puts the worst first, objects of the same status together; of these what has bad conditions and what is drifted
// comes first, then it orders by namespace, kind and name.
func sortStatus(items []statusItem) {
	slices.SortFunc(items, func(a, b statusItem) int {
		return cmp.Or(
			cmp.Compare(b.urgency(), a.urgency()),
			-compareBool(a.hasBad(), b.hasBad()),
			-compareBool(a.Drifted, b.Drifted),
			cmp.Compare(a.Object.Namespace, b.Object.Namespace),
			a.kind.Compare(b.kind),
			cmp.Compare(a.Object.Name, b.Object.Name),
			cmp.Compare(a.Object.UID, b.Object.UID),
		)
	})
}

// urgency orders by severity. Of what is Unknown, that nobody has written a status yet is the least.
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
	list.Items = slices.DeleteFunc(list.Items, func(i statusItem) bool { return !o.selects(&i) })
	selected := len(list.Items)
	list.Items = slices.DeleteFunc(list.Items, func(i statusItem) bool { return o.leavesOut(&i) })
	list.leftOut = selected - len(list.Items)
}

// selects says what --drifted and --not-ready do: with both, what is either.
func (o *Options) selects(i *statusItem) bool {
	return !o.drifted && !o.notReady || o.drifted && i.Drifted || o.notReady && i.NotReady
}

// leavesOut reports whether an object gets no line in the table: it is the cluster's own and well, as dozens are in every
// cluster, and nobody asked for it in particular.
func (o *Options) leavesOut(i *statusItem) bool {
	inParticular := !o.guessed() || o.targets.Labels != "" || o.targets.Fields != ""
	if inParticular || o.output != "" || o.conditions || i.kind.Namespaced {
		return false
	}
	return i.Status.Status == inspect.Current && !i.Drifted && len(i.Problems) == 0
}
