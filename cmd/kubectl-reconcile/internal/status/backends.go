package status

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// backendKinds are those that show whether the backends of Services and Ingresses can answer.
var backendKinds = []schema.GroupKind{
	{Kind: "Pod"}, {Kind: "Service"}, {Group: "discovery.k8s.io", Kind: "EndpointSlice"},
}

// judgeBackends replaces the status of Services and Ingresses that have no backend that can answer, of which their own
// status does not tell, and returns what could not be read for that. It reads nothing if there are none.
func (r *statusReader) judgeBackends(ctx context.Context, items []statusItem) []cluster.Incomplete {
	scope := ownertree.Scope{
		Kinds: func(kind cluster.Kind) bool { return slices.Contains(backendKinds, kind.GroupKind()) },
	}
	some := false
	for i := range items {
		if items[i].backends.IsZero() {
			continue
		}
		some = true
		if !r.options.targets.AllNamespaces {
			scope.Namespaces = cli.AppendUnique(scope.Namespaces, items[i].Object.Namespace)
		}
	}
	if !some {
		return nil
	}
	graph, err := ownertree.Collect(ctx, r.cluster.Reader, r.cluster.Kinds, scope)
	if err != nil {
		return nil // ctx has ended
	}
	facts := treestatus.FactsByUID{}
	var nodes, endpoints []*ownertree.Node
	at := map[*ownertree.Node]int{}
	for i := range items {
		item := &items[i]
		n := graph.Find(item.kind, item.Object.Namespace, item.Object.Name)
		if n == nil && item.backends.Services != nil { // Ingresses are not collected
			n = &ownertree.Node{
				Kind: &item.kind, Namespace: item.Object.Namespace, Name: item.Object.Name, UID: item.Object.UID,
			}
		}
		if item.backends.IsZero() || n == nil || n.UID != item.Object.UID {
			continue
		}
		facts[n.UID] = &treestatus.Facts{Report: item.reported, Backends: item.backends}
		nodes, at[n] = append(nodes, n), i
		endpoints = append(endpoints, n.Dependents...)
	}
	more, unread := treestatus.ReadFacts(ctx, r.cluster.Reader, endpoints, treestatus.ReadOptions{
		Existing: graph.Nodes(), AllNamespaces: scope.Namespaces == nil,
	})
	maps.Copy(facts, more)
	judged := facts.JudgeBackends(graph, nodes)
	for _, n := range nodes {
		items[at[n]].setReport(judged[n.UID].Report)
	}
	for _, i := range graph.Incomplete() {
		ofBackends := slices.ContainsFunc(backendKinds, func(k schema.GroupKind) bool { return k.Group == i.Group })
		if ofBackends && i.Resource != "" {
			unread = append(unread, i)
		}
	}
	return unread
}

// setReport replaces what is said of the item.
func (i *statusItem) setReport(report inspect.Report) {
	i.Report = report
	i.Drifted, i.NotReady = i.Report.Drifted(), i.Report.NotReady()
}

// backendsInterval is the least time between two judgements of backends while objects are followed.
const backendsInterval = 5 * time.Second

// judgeBackends judges the items with backends again, if it is time to, and returns those that have changed.
func (f *statusFollower) judgeBackends(ctx context.Context) []statusItem {
	now := f.options.clock.Now()
	if now.Sub(f.judged) < backendsInterval {
		return nil
	}
	f.judged = now
	var withBackends []statusItem
	for _, item := range f.items {
		if !item.backends.IsZero() {
			withBackends = append(withBackends, item)
		}
	}
	f.reader.judgeBackends(ctx, withBackends) // what cannot be read was said of the list, or is not asked for
	var changed []statusItem
	for _, item := range withBackends {
		if before := f.items[item.key()]; before.Status != item.Status {
			changed = append(changed, item)
		}
		f.items[item.key()] = item
	}
	sortStatus(changed)
	return changed
}

// keep notes an item that is new or has changed. One with backends is judged soon, and until then as it was before.
func (f *statusFollower) keep(item *statusItem) {
	if !item.backends.IsZero() {
		f.judged = time.Time{}
		if before, known := f.items[item.key()]; known && before.Object.UID == item.Object.UID {
			item.setReport(before.Report)
		}
	}
	f.items[item.key()] = *item
}
