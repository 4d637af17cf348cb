package tree

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// reading is what the third stage returns: the facts of a layout. Nothing but findAgain changes it.
type reading struct {
	layout *ownertree.Layout
	facts  treestatus.FactsByUID
	// unread is what could not be read for them.
	unread []cluster.Incomplete
	// found are the reasons found in other objects, as of foundAt. Nil with -o name, which shows none.
	found   *treestatus.Found
	foundAt time.Time
}

// previous is what was shown before a change. A nil *previous knows nothing.
type previous struct {
	// reading is nil if nothing of what was asked for existed.
	reading *reading
	// touched reports whether an object has changed since.
	touched ownertree.Touched
}

// facts returns those of an object that has not changed; nil for others.
func (p *previous) facts(n *ownertree.Node) *treestatus.Facts {
	if p == nil || p.reading == nil || p.touched(n) {
		return nil
	}
	return p.reading.facts[n.UID]
}

// findings returns those that still hold; nil if there are none. If there was nothing to search for before, nothing has
// been searched for what is not Current now.
func (p *previous) findings(now time.Time) *treestatus.Found {
	if p == nil || p.reading == nil {
		return nil
	}
	found := p.reading.found
	if found == nil || !found.Searched || p.reading.findingsOld(now) {
		return nil
	}
	return found
}

// findingsHold is how long findings are used again while a tree is followed: Events come without a change of the
// object.
const findingsHold = 5 * time.Second

// readFacts reads the objects of a layout, but those that are known, and looks for reasons of what is not Current. The
// error is not nil only if ctx has ended.
func readFacts(ctx context.Context, q *query, l *ownertree.Layout, before *previous) (*reading, error) {
	o := q.options
	facts, unread := treestatus.ReadFacts(ctx, q.cluster.Reader, l.Graph, l.Nodes, treestatus.ReadOptions{
		ManagedFields: o.managedFields(), Containers: o.containers, Known: before.facts,
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &reading{layout: l, facts: facts, unread: unread}
	if last := before.findings(o.clock.Now()); last != nil {
		r.found, r.foundAt = last, before.reading.foundAt
		return r, nil
	}
	if o.output == "name" {
		return r, nil
	}
	return r, r.findAgain(ctx, q)
}

// findAgain looks for reasons in other objects.
func (r *reading) findAgain(ctx context.Context, q *query) error {
	at := q.options.clock.Now()
	l, o := r.layout, treestatus.FindOptions{
		Related: q.options.related, Relations: r.layout.Relations, AllEvents: q.options.events, Now: at,
	}
	found, err := treestatus.Find(ctx, q.cluster.Reader, l.Graph, l.Branches, r.facts, o)
	if err != nil {
		return err
	}
	r.found, r.foundAt = found, at
	return nil
}

// findingsOld reports whether there may be other findings by now.
func (r *reading) findingsOld(now time.Time) bool { return now.Sub(r.foundAt) >= findingsHold }

// findings may be nil.
func (r *reading) findings() treestatus.FindingsByUID {
	if r.found == nil {
		return nil
	}
	return r.found.Findings
}

// incomplete is what could not be read, for the layout, the facts and the findings.
func (r *reading) incomplete() []cluster.Incomplete {
	all := slices.Concat(r.layout.Incomplete, r.unread)
	if r.found != nil {
		all = append(all, r.found.Incomplete...)
	}
	return cluster.SortIncomplete(all)
}

// managedFields reports whether the output shows who wrote objects last.
func (o *Options) managedFields() bool {
	return o.output == "wide" || o.output == "json" || o.output == "yaml"
}
