package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// changeLines writes the first tree, and then a line for each object that changed, for programs and files.
type changeLines struct {
	last map[types.UID]objectState
}

// objectState is what is told of an object, and what it is called.
type objectState struct{ label, ready, status, reason, generation string }

func (d *changeLines) show(t *tree) error {
	now := map[types.UID]objectState{}
	var order []types.UID
	for _, l := range each(t.limbs()) {
		generation, _ := generation(l)
		now[l.Node.UID] = objectState{t.noteMaker().label(l.Node), l.facts.Ready, l.status(), l.facts.Reason, generation}
		order = append(order, l.Node.UID)
	}
	defer func() { d.last = now }()
	if d.last == nil {
		return t.print()
	}
	return d.lines(t, order, now)
}

func (d *changeLines) lines(t *tree, order []types.UID, now map[types.UID]objectState) error {
	at := t.clock.Now().Format(time.TimeOnly)
	var err error
	line := func(what string, s objectState, text string) {
		if err == nil {
			_, err = fmt.Fprintln(t.streams.Out, oneLine(fmt.Sprintf("%s %s %s%s", at, what, s.label, text)))
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

func (d *changeLines) tick() error { return nil }

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
		switch {
		case before == now:
		case before == "":
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

func sortedByLabel(states map[types.UID]objectState) []types.UID {
	return slices.SortedFunc(maps.Keys(states), func(a, b types.UID) int {
		return cmp.Or(cmp.Compare(states[a].label, states[b].label), cmp.Compare(a, b))
	})
}
