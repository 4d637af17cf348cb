package tree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// changeLines writes the first tree, and then a line for each object that changed, for programs and files.
type changeLines struct {
	// last are the objects of the tree before; nil before the first.
	last map[string]objectState
	// tree is the last, failing the lines that were last written about what of a tree is incomplete.
	tree    *tree
	failing []string
}

// objectState is what is told of an object, and what it is called.
type objectState struct{ label, ready, status, reason, generation string }

func (d *changeLines) show(t *tree, limbs []*limb) error {
	now := map[string]objectState{}
	var order []string
	for _, l := range each(limbs, true) {
		generation, _ := generation(l)
		uid := string(l.Node.UID)
		now[uid] = objectState{t.noteMaker().label(l.Node), l.facts.Ready, l.status(), l.ownReason(), generation}
		order = append(order, uid)
	}
	defer func() { d.last, d.tree = now, t }()
	if d.last == nil {
		d.failing = connect.DescribeIncomplete(t.allIncomplete())
		return t.print()
	}
	return d.lines(t, order, now)
}

func (d *changeLines) lines(t *tree, order []string, now map[string]objectState) error {
	at := t.clock.Now().Format(time.TimeOnly)
	var err error
	line := func(what string, s objectState, text string) {
		if err == nil {
			text = render.Cut(fmt.Sprintf("%s %s %s%s", at, what, s.label, text), mostNote)
			_, err = fmt.Fprintln(t.streams.Out, render.Escape(text))
		}
	}
	for _, uid := range order {
		before, known := d.last[uid]
		switch after := now[uid]; {
		case !known:
			line("added", after, after.text())
		case before != after:
			line("changed", after, before.changes(after))
		}
	}
	for _, uid := range sortedByLabel(d.last) {
		if _, still := now[uid]; !still {
			line("gone", d.last[uid], "")
		}
	}
	return err
}

// tick writes what has become of objects by time alone, and what cannot be read if that has changed. The latter is not
// written at once, for a server that goes away takes all kinds with it, one after the other.
func (d *changeLines) tick() error {
	if d.tree == nil {
		return nil
	}
	if facts, changed := d.tree.facts.at(d.tree.clock.Now()); changed {
		aged := *d.tree
		aged.facts, aged.added = facts, nil
		if err := d.show(&aged, aged.limbs()); err != nil {
			return err
		}
	}
	lines := connect.DescribeIncomplete(d.tree.allIncomplete())
	for _, line := range connect.IncompleteChanges(d.failing, lines) {
		if _, err := fmt.Fprintln(d.tree.streams.ErrOut, cli.OneLine(line)); err != nil {
			return err
		}
	}
	d.failing = lines
	return nil
}

func (d *changeLines) Close() error { return nil }

// text is the state of an object that is new.
func (s objectState) text() string {
	var out strings.Builder
	for _, part := range []string{s.ready, s.status, s.reason} {
		if part != "" {
			out.WriteString("  " + part)
		}
	}
	return out.String()
}

// changes is what became of each part of the state that differs.
func (s objectState) changes(after objectState) string {
	var out strings.Builder
	part := func(name, before, now string) {
		switch before {
		case now:
		case "":
			out.WriteString("  " + name + now)
		default:
			out.WriteString("  " + name + before + " -> " + cmp.Or(now, "-"))
		}
	}
	part("", s.ready, after.ready)
	part("", s.status, after.status)
	part("generation ", s.generation, after.generation)
	if after.reason != "" && s.reason != after.reason {
		out.WriteString("  " + after.reason)
	}
	return out.String()
}

func sortedByLabel(states map[string]objectState) []string {
	return slices.SortedFunc(maps.Keys(states), func(a, b string) int {
		return cmp.Or(cmp.Compare(states[a].label, states[b].label), cmp.Compare(a, b))
	})
}
