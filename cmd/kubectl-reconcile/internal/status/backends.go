package status

import (
	"context"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// judgeBackends replaces the status of Services and Ingresses that have no backend that can answer, of which their own
// status does not tell, and returns what could not be read for that. It reads nothing if there are none.
func (r *statusReader) judgeBackends(ctx context.Context, items []statusItem) []cluster.Incomplete {
	var routed []treestatus.Routed
	for i := range items {
		if item := &items[i]; item.routed != nil {
			routed = append(routed, treestatus.Routed{ObjectID: item.id(), Facts: item.routed})
		}
	}
	judged, unread := treestatus.JudgeRouted(
		ctx, r.cluster.Reader, r.cluster.Kinds, routed, r.options.targets.AllNamespaces)
	for i := range items {
		if facts := judged[items[i].Object.UID]; facts != nil {
			items[i].setReport(facts.Report)
		}
	}
	return unread
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
		if item.routed != nil {
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
	if item.routed != nil {
		f.judged = time.Time{}
		if before, known := f.items[item.key()]; known && before.Object.UID == item.Object.UID {
			item.setReport(before.Report)
		}
	}
	f.items[item.key()] = *item
}
