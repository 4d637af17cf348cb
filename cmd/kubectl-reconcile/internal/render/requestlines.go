package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// requestLines returns the line of a group of requests of which r is the first; none for the request whose conflict the
// last line of the block reports. The word is the verb; of a dry run "would", or "tried" if the server refused it.
func (b *Blocks) requestLines(group []*trace.Event, r *trace.Request, state blockState) []line {
	if r.Recorded != nil && *r.Recorded != (trace.RecordedEvent{}) {
		e := r.Recorded
		return []line{{word: "event", text: Escape(fmt.Sprintf("%s %s  %s", e.Type, e.Reason, e.Message))}}
	}
	if r == state.conflict {
		return nil // the last line of the block reports it
	}
	object := kindOf(r) + " " + subresourceOf(b.names(group), r)
	word := r.Verb
	if r.DryRun {
		word, object = "would", r.Verb+" "+object
		if r.Failed() && !r.NotSent {
			word = "tried"
		}
	}
	text := fmt.Sprintf("%-42s  %s", object, b.answer(group, r, state))
	if note := b.note(group, r); note != "" {
		text += "  " + note
	}
	if word == "would" && state.refused > 0 {
		text += b.o.Palette.Dim("   after a refused try")
	}
	return []line{{word: word, text: text}}
}

// subresourceOf adds the subresource of a request to the name of its object.
func subresourceOf(name string, r *trace.Request) string {
	if r.Subresource == "" {
		return name
	}
	return name + "/" + r.Subresource
}

// answer returns the status code and the latency of a request, or "not sent".
func (b *Blocks) answer(group []*trace.Event, r *trace.Request, state blockState) string {
	if r.NotSent {
		return b.o.Palette.Dim("not sent")
	}
	latency := FormatDuration(r.Latency)
	if len(group) > 1 {
		latency = FormatDuration(meanLatency(group)) + " each"
	}
	return b.statusCode(r, state) + "  " + b.o.Palette.Dim(latency)
}

// kindOf returns the kind of the object of a request, or its resource if the kind is not known.
func kindOf(r *trace.Request) string {
	if r.Kind != "" {
		return Escape(r.Kind)
	}
	return Escape(r.Resource)
}

// statusCode returns the HTTP status of the answer, or dashes if there was none.
func (b *Blocks) statusCode(r *trace.Request, state blockState) string {
	switch {
	case r.Code == 0:
		return b.markTrouble("---", state)
	case r.Failed():
		return b.markTrouble(strconv.Itoa(r.Code), state)
	}
	return strconv.Itoa(r.Code)
}

// note returns why a request failed, or what it changed; empty if there is nothing to add.
func (b *Blocks) note(group []*trace.Event, r *trace.Request) string {
	switch {
	case r.IsConflict():
		return "conflict"
	case r.Failed():
		return b.errorText(r.Message)
	case len(group) > 1:
		return ""
	case r.Verb == "create":
		return b.o.Palette.Change(CreatedReplicas(r.Change.Fields()))
	}
	o := ChangesOptions{Limit: 4}
	if !b.brief() {
		o = ChangesOptions{All: true}
	}
	return b.o.Palette.Change(Changes(r.Change.Fields(), o))
}

// CreatedReplicas returns the one field that is shown of a created object, spec.replicas; empty if it has none.
func CreatedReplicas(changes []fields.Change) string {
	for _, c := range changes {
		if c.Path == "spec.replicas" {
			return fieldText("replicas", c)
		}
	}
	return ""
}

// meanLatency returns the mean latency of the requests of a group.
func meanLatency(group []*trace.Event) trace.Duration {
	var sum trace.Duration
	for _, e := range group {
		sum += e.Detail.(*trace.Request).Latency
	}
	return sum / trace.Duration(len(group))
}

// maxNames bounds the names that are shown of a group of writes up to Normal.
const maxNames = 5

// names lists the objects of a group, as Names does.
func (b *Blocks) names(group []*trace.Event) string {
	var names []string
	for _, e := range group {
		r := e.Detail.(*trace.Request)
		names = append(names, nameOf(r))
	}
	limit := 0
	if b.brief() {
		limit = maxNames
	}
	return Names(names, limit)
}

// Names lists names, of which there must be one: "web-0, -1, -2" if all share a prefix up to a dash, else whole. Beyond
// the limit, unless that is 0, they are counted. The result is safe for a terminal.
func Names(names []string, limit int) string {
	out, more := make([]string, len(names)), 0
	for i, name := range names {
		out[i] = Escape(name)
	}
	if limit > 0 && len(out) > limit {
		out, more = out[:limit], len(out)-limit
	}
	shared := out[0][:strings.LastIndex(out[0], "-")+1]
	if slices.ContainsFunc(out, func(n string) bool { return !strings.HasPrefix(n, shared) }) {
		shared = ""
	}
	for i := range out[1:] {
		if shared != "" {
			out[i+1] = "-" + strings.TrimPrefix(out[i+1], shared)
		}
	}
	text := strings.Join(out, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// nameOf returns the name of the object of a request; of one that was refused before the server generated its name, the
// prefix.
func nameOf(r *trace.Request) string {
	if r.Name == "" && r.GenerateName != "" {
		return r.GenerateName + "…"
	}
	return r.Name
}
