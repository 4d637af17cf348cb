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
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// changeLines writes the first tree, and then a line for each object that changed, for programs and files.
type changeLines struct {
	options *Options
	// last are the objects of the tree before; nil before the first.
	last map[string]objectState
	// reading is the last; nil before the first, and while nothing of what was asked for exists.
	reading *reading
	// failing are the lines that were last written about what could not be read.
	failing []string
}

// objectState is what is shown of an object, and what it is called.
type objectState struct{ label, ready, status, reason, generation string }

func (d *changeLines) show(r *reading) error {
	v := &view{}
	if r != nil {
		v = rollUp(r, d.options.clock.Now())
	}
	d.reading = r
	return d.showView(v)
}

func (d *changeLines) showView(v *view) error {
	now := map[string]objectState{}
	var order []string
	notes := d.options.noteMaker(v, 0)
	for _, n := range treestatus.Each(v.nodes) {
		generation, _ := generation(n)
		uid := string(n.Branch.Node.UID)
		now[uid] = objectState{notes.label(n.Branch.Node), n.Facts.Ready, n.Status, ownReason(n), generation}
		order = append(order, uid)
	}
	before := d.last
	d.last = now
	if before == nil {
		d.failing = connect.DescribeIncomplete(v.incomplete)
		return d.options.print(v)
	}
	return d.lines(before, now, order)
}

func (d *changeLines) lines(last, now map[string]objectState, order []string) error {
	at := d.options.clock.Now().Format(time.TimeOnly)
	var err error
	line := func(what string, s objectState, text string) {
		if err == nil {
			text = render.Cut(fmt.Sprintf("%s %s %s%s", at, what, s.label, text), maxNote)
			_, err = fmt.Fprintln(d.options.streams.Out, render.Escape(text))
		}
	}
	for _, uid := range order {
		before, known := last[uid]
		switch after := now[uid]; {
		case !known:
			line("added", after, after.text())
		case before != after:
			line("changed", after, before.changes(after))
		}
	}
	for _, uid := range sortedByLabel(last) {
		if _, still := now[uid]; !still {
			line("gone", last[uid], "")
		}
	}
	return err
}

// tick writes what objects have become by time alone, and what cannot be read if that has changed. The latter is not
// written at once, for a server that goes away takes all kinds with it, one after the other.
func (d *changeLines) tick() error {
	r := d.reading
	if r == nil {
		return nil
	}
	if facts, changed := r.facts.At(d.options.clock.Now()); changed {
		aged := *r
		aged.facts = facts
		if err := d.show(&aged); err != nil {
			return err
		}
	}
	lines := connect.DescribeIncomplete(r.incomplete())
	for _, line := range connect.IncompleteChanges(d.failing, lines) {
		if _, err := fmt.Fprintln(d.options.streams.ErrOut, cli.OneLine(line)); err != nil {
			return err
		}
	}
	d.failing = lines
	return nil
}

func (d *changeLines) Close() error { return nil }

// text is the state of an object that was added.
func (s objectState) text() string {
	var out strings.Builder
	for _, part := range []string{s.ready, s.status, s.reason} {
		if part != "" {
			out.WriteString("  " + part)
		}
	}
	return out.String()
}

// changes is each part of the state that differs, before and after.
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
