package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// planned is a trace.Sink that counts what a dry run would have written, by kind.
type planned struct {
	mu          sync.Mutex
	of, refused map[plannedWrites]*plannedCount
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
	// Code and Message are why they were refused; Code is 0 and Message empty for those that were not. Of several messages
	// it is the last. A request that got no answer has the code 0, too.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type plannedCount struct {
	objects map[string]bool
	writes  int
	message string
}

func newPlanned() *planned {
	return &planned{of: map[plannedWrites]*plannedCount{}, refused: map[plannedWrites]*plannedCount{}}
}

// Record implements trace.Sink. Events are not counted, and neither are conflicts and writes to what is not there, which a
// dry run brings about itself: nothing of what it tries is kept.
func (p *planned) Record(e *trace.Event) {
	r, ok := e.Detail.(*trace.Request)
	if !ok || !r.DryRun || !r.IsWrite() || r.Recorded != nil || r.Resource == "events" {
		return
	}
	sort := plannedWrites{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource}
	of := p.of
	if r.Failed() {
		if r.Code == http.StatusConflict || r.Code == http.StatusNotFound {
			return
		}
		sort.Code, of = r.Code, p.refused
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	count := of[sort]
	if count == nil {
		count = &plannedCount{objects: map[string]bool{}}
		of[sort] = count
	}
	count.objects[r.Namespace+"/"+r.Name] = true
	count.writes++
	if r.Failed() {
		count.message = r.Message
	}
}

// list returns the counts of what would be written, and of what was refused, each by resource and verb.
func (p *planned) list() (would, refused []plannedWrites) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return counted(p.of), counted(p.refused)
}

func counted(of map[plannedWrites]*plannedCount) []plannedWrites {
	out := make([]plannedWrites, 0, len(of))
	for sort, count := range maps.All(of) {
		sort.Objects, sort.Writes, sort.Message = len(count.objects), count.writes, count.message
		out = append(out, sort)
	}
	slices.SortFunc(out, func(a, b plannedWrites) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// plannedRows are the rows of the table of what would be written.
func plannedRows(all []plannedWrites) [][]string {
	var rows [][]string
	for _, w := range all {
		rows = append(rows, []string{w.Verb, render.Escape(w.name()), strconv.Itoa(w.Objects), strconv.Itoa(w.Writes)})
	}
	return rows
}

// name is as in "deployments.apps/status".
func (w plannedWrites) name() string {
	name := w.Resource
	if w.Group != "" {
		name += "." + w.Group
	}
	if w.Subresource != "" {
		name += "/" + w.Subresource
	}
	return name
}

// refusal is such as "create pods was refused 3 times (403): pods is forbidden: …".
func (w plannedWrites) refusal() string {
	how := "got no answer"
	if w.Code != 0 {
		how = "was refused"
	}
	text := fmt.Sprintf("%s %s %s %s", w.Verb, w.name(), how, plural(w.Writes, "time"))
	if w.Code != 0 {
		text += fmt.Sprintf(" (%d)", w.Code)
	}
	return text + ": " + w.Message
}

// printPlanned says what a dry run would have written, and what was not shown of it.
func (o *runOptions) printPlanned(out *outputs, would, refused []plannedWrites) error {
	if o.cluster == nil || o.cluster.options.Write {
		return nil
	}
	switch {
	case len(would) > 0:
		if err := render.Section(out.out, []string{"WOULD", "RESOURCE", "OBJECTS", "WRITES"}, plannedRows(would)); err != nil {
			return err
		}
	case len(refused) == 0:
		out.say("nothing would be written")
	}
	for _, w := range refused {
		out.say("%s", w.refusal())
	}
	if len(refused) > 0 {
		out.say("so what the controllers would write is not known in full; --dry-run=client asks nobody")
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
