package treestatus

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// Findings are what other objects tell about an object. A nil *Findings has none.
type Findings struct {
	// Lacks are what the object needs and what does not exist.
	Lacks []ownertree.Lack
	// Events were reported about the object, the last first.
	Events []ownertree.Event
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

// Find looks for reasons of what is not Current in a tree: what it needs and what does not exist, and Warnings. The
// error is not nil only if ctx has ended.
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
		found.Findings.of(n).Events = all
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
