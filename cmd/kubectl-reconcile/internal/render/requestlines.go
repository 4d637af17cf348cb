package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func (b *Blocks) requestLines(group []*trace.Event, r *trace.Request, so blockState) []line {
	if r.Recorded != nil && *r.Recorded != (trace.RecordedEvent{}) {
		e := r.Recorded
		return []line{{word: "event", text: Escape(fmt.Sprintf("%s %s  %s", e.Type, e.Reason, e.Message))}}
	}
	if r == so.conflict {
		return nil // its last line
	}
	object := kindOf(r) + " " + subresourceOf(b.names(group), r)
	word := r.Verb
	if r.DryRun {
		word, object = "would", r.Verb+" "+object
		if r.Failed() && !r.NotSent {
			word = "tried"
		}
	}
	text := fmt.Sprintf("%-42s  %s", object, b.answer(group, r, so))
	if note := b.note(group, r); note != "" {
		text += "  " + note
	}
	if word == "would" && so.refused > 0 {
		text += b.o.Palette.Dim("   after a refused try")
	}
	return []line{{word: word, text: text}}
}

// subresourceOf adds the subresource that was asked for to the name of its object.
func subresourceOf(name string, r *trace.Request) string {
	if r.Subresource == "" {
		return name
	}
	return name + "/" + r.Subresource
}

// answer is the code of the server's answer and how long that took; of what a server did not get there is neither.
func (b *Blocks) answer(group []*trace.Event, r *trace.Request, so blockState) string {
	if r.NotSent {
		return b.o.Palette.Dim("not sent")
	}
	latency := Round(r.Latency)
	if len(group) > 1 {
		latency = Round(meanLatency(group)) + " each"
	}
	return b.statusCode(r, so) + "  " + b.o.Palette.Dim(latency)
}

func kindOf(r *trace.Request) string {
	if r.Kind != "" {
		return Escape(r.Kind)
	}
	return Escape(r.Resource)
}

func (b *Blocks) statusCode(r *trace.Request, so blockState) string {
	switch {
	case r.Code == 0:
		return b.markTrouble("---", so)
	case r.Failed():
		return b.markTrouble(strconv.Itoa(r.Code), so)
	}
	return strconv.Itoa(r.Code)
}

// note says why a request failed, or what it changed.
func (b *Blocks) note(group []*trace.Event, r *trace.Request) string {
	switch {
	case r.Reason == "Conflict":
		return "conflict"
	case r.Failed():
		return b.errorText(r.Message)
	case len(group) > 1:
		return ""
	case r.Verb == "create":
		return b.o.Palette.Change(createdReplicas(r.Change.Fields()))
	}
	o := ChangesOptions{Limit: 4}
	if !b.brief() {
		o = ChangesOptions{All: true}
	}
	return b.o.Palette.Change(Changes(r.Change.Fields(), o))
}

// createdReplicas is the one field that is shown of an object that was created; empty if it has none.
func createdReplicas(changes []inspect.Change) string {
	for _, c := range changes {
		if c.Path == "spec.replicas" {
			return fieldText("replicas", c)
		}
	}
	return ""
}

func meanLatency(group []*trace.Event) trace.Duration {
	var sum trace.Duration
	for _, e := range group {
		sum += e.Detail.(*trace.Request).Latency
	}
	return sum / trace.Duration(len(group))
}

// maxNames bounds the names that are shown of one burst, unless all are asked for.
const maxNames = 5

// names lists the objects of a group, those after the first without what they share with it.
func (b *Blocks) names(group []*trace.Event) string {
	var names []string
	for _, e := range group {
		r := e.Detail.(*trace.Request)
		names = append(names, Escape(nameOf(r)))
	}
	more := 0
	if b.brief() && len(names) > maxNames {
		names, more = names[:maxNames], len(names)-maxNames
	}
	shared := names[0][:strings.LastIndex(names[0], "-")+1]
	if slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, shared) }) {
		shared = ""
	}
	for i := range names[1:] {
		if shared != "" {
			names[i+1] = "-" + strings.TrimPrefix(names[i+1], shared)
		}
	}
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// nameOf is the name of the object that a request is for; of one that was refused before it got a name, the part of it
// that is known.
func nameOf(r *trace.Request) string {
	if r.Name == "" && r.GenerateName != "" {
		return r.GenerateName + "…"
	}
	return r.Name
}
