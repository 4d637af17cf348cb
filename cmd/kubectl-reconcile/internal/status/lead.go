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

// leadKinds are those that show where Services and Ingresses lead to.
var leadKinds = []schema.GroupKind{{Kind: "Pod"}, {Kind: "Service"}, {Group: "discovery.k8s.io", Kind: "EndpointSlice"}}

// judgeLeads replaces the status of Services and Ingresses that lead nowhere, of which their own status does not tell,
// and returns what could not be read for that. It reads nothing if there are none.
func (r *statusReader) judgeLeads(ctx context.Context, items []statusItem) []cluster.Incomplete {
	scope := ownertree.Scope{
		Kinds: func(kind cluster.Kind) bool { return slices.Contains(leadKinds, kind.GroupKind()) },
	}
	some := false
	for i := range items {
		if items[i].lead.IsZero() {
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
		if n == nil && item.lead.Backends != nil { // Ingresses are not collected
			n = &ownertree.Node{
				Kind: &item.kind, Namespace: item.Object.Namespace, Name: item.Object.Name, UID: item.Object.UID,
			}
		}
		if item.lead.IsZero() || n == nil || n.UID != item.Object.UID {
			continue
		}
		facts[n.UID] = &treestatus.Facts{Report: item.reported, Lead: item.lead}
		nodes, at[n] = append(nodes, n), i
		endpoints = append(endpoints, n.Dependents...)
	}
	more, unread := treestatus.ReadFacts(ctx, r.cluster.Reader, endpoints, treestatus.ReadOptions{
		Existing: graph.Nodes(), AllNamespaces: scope.Namespaces == nil,
	})
	maps.Copy(facts, more)
	judged := facts.JudgeLeads(graph, nodes)
	for _, n := range nodes {
		items[at[n]].setReport(judged[n.UID].Report)
	}
	for _, i := range graph.Incomplete() {
		ofLead := slices.ContainsFunc(leadKinds, func(k schema.GroupKind) bool { return k.Group == i.Group })
		if ofLead && i.Resource != "" {
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

// leadsHold is how long what was found out of leads holds while objects are followed.
const leadsHold = 5 * time.Second

// judgeLeads judges the items that lead to others again, if it is time to, and returns those that have changed.
func (f *statusFollower) judgeLeads(ctx context.Context) []statusItem {
	now := f.options.clock.Now()
	if now.Sub(f.judged) < leadsHold {
		return nil
	}
	f.judged = now
	var leading []statusItem
	for _, item := range f.items {
		if !item.lead.IsZero() {
			leading = append(leading, item)
		}
	}
	f.reader.judgeLeads(ctx, leading) // what cannot be read was said of the list, or is not asked for
	var changed []statusItem
	for _, item := range leading {
		if before := f.items[item.key()]; before.Status != item.Status {
			changed = append(changed, item)
		}
		f.items[item.key()] = item
	}
	sortStatus(changed)
	return changed
}

// keep notes an item that is new or has changed. One that leads to others is judged soon, and until then as it was
// before.
func (f *statusFollower) keep(item *statusItem) {
	if !item.lead.IsZero() {
		f.judged = time.Time{}
		if before, known := f.items[item.key()]; known && before.Object.UID == item.Object.UID {
			item.setReport(before.Report)
		}
	}
	f.items[item.key()] = *item
}
