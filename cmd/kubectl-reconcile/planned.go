package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// planned is a trace.Sink that counts what a dry run would have written, by kind.
type planned struct {
	mu sync.Mutex
	of map[plannedWrites]*plannedCount
}

// plannedWrites is a sort of writes that a dry run came to, in a summary as JSON.
type plannedWrites struct {
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	// Objects counts them; of those that are created under names that the server makes, each time counts.
	Objects int `json:"objects"`
	// Writes counts the requests, repeated ones included.
	Writes int `json:"writes"`
}

type plannedCount struct {
	objects map[string]bool
	writes  int
}

func newPlanned() *planned { return &planned{of: map[plannedWrites]*plannedCount{}} }

// Record implements trace.Sink. Events are not counted, and neither is what was refused.
func (p *planned) Record(e *trace.Event) {
	r, ok := e.Detail.(*trace.Request)
	if !ok || !r.DryRun || !r.IsWrite() || r.Failed() || r.Recorded != nil || r.Resource == "events" {
		return
	}
	sort := plannedWrites{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource}
	p.mu.Lock()
	defer p.mu.Unlock()
	count := p.of[sort]
	if count == nil {
		count = &plannedCount{objects: map[string]bool{}}
		p.of[sort] = count
	}
	count.objects[r.Namespace+"/"+r.Name] = true
	count.writes++
}

// list returns the counts, by resource and verb.
func (p *planned) list() []plannedWrites {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]plannedWrites, 0, len(p.of))
	for sort, count := range maps.All(p.of) {
		sort.Objects, sort.Writes = len(count.objects), count.writes
		out = append(out, sort)
	}
	slices.SortFunc(out, func(a, b plannedWrites) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Verb, b.Verb))
	})
	return out
}

// plannedRows are the rows of the table of what would be written.
func plannedRows(all []plannedWrites) [][]string {
	var rows [][]string
	for _, w := range all {
		name := w.Resource
		if w.Group != "" {
			name += "." + w.Group
		}
		if w.Subresource != "" {
			name += "/" + w.Subresource
		}
		rows = append(rows, []string{w.Verb, render.Escape(name), strconv.Itoa(w.Objects), strconv.Itoa(w.Writes)})
	}
	return rows
}

// printPlanned says what a dry run would have written, and what was not shown of it.
func (o *runOptions) printPlanned(out *outputs, all []plannedWrites) error {
	if o.cluster == nil || o.cluster.options.Write {
		return nil
	}
	if len(all) == 0 {
		out.say("nothing would be written")
	} else if err := render.Section(out.out, []string{"WOULD", "RESOURCE", "OBJECTS", "WRITES"}, plannedRows(all)); err != nil {
		return err
	}
	return nil
}

// spared says how much was left out of the blocks; empty if nothing was.
func spared(s render.Spared) string {
	var parts []string
	if s.Idle > 0 {
		parts = append(parts, plural(s.Idle, "reconcile")+" wrote nothing")
	}
	if s.Repeated > 0 {
		parts = append(parts, strconv.Itoa(s.Repeated)+" came to the same as before")
	}
	if len(parts) == 0 {
		return ""
	}
	return "not shown: " + strings.Join(parts, ", ") + "; -v shows them"
}
