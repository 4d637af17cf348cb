package tree

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// findings are what is known about an object from others: what it needs and is not there, and its Events.
type findings struct {
	lacks  []ownertree.Lack
	events []ownertree.Event
}

// mostExplained is of how many objects that are not Current reasons are looked for in other objects, the worst of them.
const mostExplained = 16

// explained is how long findings hold while a tree is followed: Events come without a change of the object.
const explained = 5 * time.Second

// Explain looks for reasons of what is not Current: what it needs and is not there, and Warnings.
// With --events it reads the Events of all objects.
func (t *tree) explain(ctx context.Context) error {
	found := &allFindings{at: t.clock.Now(), of: map[types.UID]*findings{}}
	ailing := t.ailing()
	relations := t.relations
	if !t.related && len(ailing) > 0 {
		var err error
		staying := slices.DeleteFunc(slices.Clone(ailing), func(n *ownertree.Node) bool { return n.Deleting != nil })
		needs := ownertree.RelateOptions{NeedsOnly: true}
		relations, found.incomplete, err = t.graph.Relate(ctx, t.Reader, staying, needs)
		if err != nil {
			return err
		}
	}
	for n, lacks := range ownertree.Lacks(ailing, relations) {
		if n.Deleting == nil {
			found.find(n).lacks = lacks
		}
	}
	of := ailing
	if t.events {
		of = slices.DeleteFunc(nodesOf(t.branches), func(n *ownertree.Node) bool { return n.UID == "" })
	}
	events, unread, err := t.graph.Events(ctx, t.Reader, of, ownertree.EventOptions{Warnings: !t.events})
	if err != nil {
		return err
	}
	for n, all := range events {
		found.find(n).events = all
	}
	found.incomplete = append(found.incomplete, unread...)
	found.open = len(of) > 0
	t.found, t.added = found, nil
	return nil
}

// allIncomplete is what could not be read, for the tree and for what explains it.
func (t *tree) allIncomplete() []cluster.Incomplete {
	if t.found == nil {
		return t.incomplete
	}
	return cluster.SortIncomplete(slices.Concat(t.incomplete, t.found.incomplete))
}

// allFindings are those of the objects of a tree, by uid.
type allFindings struct {
	at time.Time
	of map[types.UID]*findings
	// Open reports whether there were objects to look for findings of.
	open       bool
	incomplete []cluster.Incomplete
}

// old reports whether there may be others by now.
func (f *allFindings) old(now time.Time) bool { return now.Sub(f.at) >= explained }

func (f *allFindings) find(n *ownertree.Node) *findings {
	if f.of[n.UID] == nil {
		f.of[n.UID] = &findings{}
	}
	return f.of[n.UID]
}

// known returns nil if nothing was found of the object; so it does for nil findings.
func (f *allFindings) known(n *ownertree.Node) *findings {
	if f == nil {
		return nil
	}
	return f.of[n.UID]
}

// ailing are the objects that are not Current: first those below which nothing is that explains it, the worst first.
func (t *tree) ailing() []*ownertree.Node {
	var all []*limb
	for _, l := range each(newLimbMaker(t.facts, t.graph, nil).limbs(t.branches), true) {
		if l.facts != unreadFacts && l.Node.UID != "" && l.ailing() > calm {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(a, b *limb) int {
		return cmp.Or(cmp.Compare(a.causes, b.causes), cmp.Compare(b.ailing(), a.ailing()))
	})
	var out []*ownertree.Node
	for _, l := range all[:min(len(all), mostExplained)] {
		out = append(out, l.Node)
	}
	return out
}

// judgeServices replaces the facts of Services that select no pod, which look well by themselves.
func (t *tree) judgeServices() {
	selects := t.graph.PodSelector()
	for _, n := range nodesOf(t.branches) {
		facts := t.facts[n.UID]
		if facts == nil || len(facts.selector) == 0 || facts.Status.Status != inspect.Current {
			continue
		}
		if some, known := selects(n.Namespace, facts.selector); known && !some {
			judged := *facts
			judged.Status.Status, judged.Reason = inspect.Degraded, "selects no pod"
			t.facts[n.UID] = &judged
		}
	}
}

// short is what is found in a few words; empty if nothing is.
func (f *findings) short(kinds func(*ownertree.Node) string) string {
	if f == nil {
		return ""
	}
	if len(f.lacks) > 0 {
		text := kinds(f.lacks[0].Object) + " is not there"
		if more := len(f.lacks) - 1; more > 0 {
			text += fmt.Sprintf(", nor %d more", more)
		}
		return text
	}
	if warnings := f.warnings(); len(warnings) > 0 {
		return warnings[0].Reason
	}
	return ""
}

// mostWarnings is how many Warnings of an object are shown.
const mostWarnings = 2

// warnings are the Warnings to show: of each reason the one with the longest message, the last first. One that a retry
// is put off is left out beside others.
func (f *findings) warnings() []ownertree.Event {
	best := map[string]ownertree.Event{}
	var order []string
	for _, e := range f.events {
		if e.Type != corev1.EventTypeWarning {
			continue
		}
		known, there := best[e.Reason]
		if !there {
			order = append(order, e.Reason)
		}
		if !there || len(e.Message) > len(known.Message) {
			best[e.Reason] = e
		}
	}
	if len(order) > 1 {
		order = slices.DeleteFunc(order, func(reason string) bool { return strings.HasSuffix(reason, "BackOff") })
	}
	var out []ownertree.Event
	for _, reason := range order[:min(len(order), mostWarnings)] {
		out = append(out, best[reason])
	}
	return out
}
