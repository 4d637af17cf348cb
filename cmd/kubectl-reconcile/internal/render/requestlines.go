package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// course is what a reconcile has come to so far: its writes, those that were refused, and those that no server got.
type course struct {
	dry, refused, unsent int
}

// after is the course after a group of events.
func (c course) after(group []*trace.Event) course {
	r, ok := group[0].Detail.(*trace.Request)
	if !ok || !r.IsWrite() || r.Recorded != nil {
		return c
	}
	n := len(group)
	if r.DryRun {
		c.dry += n
	}
	if r.NotSent {
		c.unsent += n
	}
	if r.Failed() {
		c.refused += n
	}
	return c
}

// writes counts the writes of a reconcile that ends: in a dry run there were none, but what was tried.
func (c course) writes(all int) string {
	text := count(all, "write")
	switch {
	case all == 0:
		return text
	case c.dry == 0:
	case c.unsent >= all:
		text = fmt.Sprintf("%d not sent", all)
	default:
		text = fmt.Sprintf("%d tried", all)
	}
	if c.refused > 0 {
		text += fmt.Sprintf(", %d refused", c.refused)
	}
	return text
}

func (b *Blocks) requestLines(group []*trace.Event, r *trace.Request, so course) []line {
	if r.Recorded != nil && *r.Recorded != (trace.RecordedEvent{}) {
		return []line{{"event", Escape(fmt.Sprintf("%s %s  %s", r.Recorded.Type, r.Recorded.Reason, r.Recorded.Message))}}
	}
	object := fmt.Sprintf("%s %s", kindOf(r), b.names(group))
	if r.Subresource != "" {
		object += "/" + r.Subresource
	}
	word := r.Verb
	if r.DryRun {
		word, object = "would", r.Verb+" "+object
		if r.Failed() && !r.NotSent {
			word = "tried"
		}
	}
	text := fmt.Sprintf("%-42s  %s", object, b.answer(group, r))
	if note := b.note(group, r); note != "" {
		text += "  " + note
	}
	if word == "would" && so.refused > 0 {
		text += b.o.Palette.Dim("   after a refused try")
	}
	return []line{{word, text}}
}

// answer is the code of the server's answer and how long that took; of what a server did not get there is neither.
func (b *Blocks) answer(group []*trace.Event, r *trace.Request) string {
	if r.NotSent {
		return b.o.Palette.Dim("not sent")
	}
	latency := Round(r.Latency)
	if len(group) > 1 {
		latency = Round(meanLatency(group)) + " each"
	}
	return b.code(r) + "  " + b.o.Palette.Dim(latency)
}

func kindOf(r *trace.Request) string {
	if r.Kind != "" {
		return Escape(r.Kind)
	}
	return Escape(r.Resource)
}

func (b *Blocks) code(r *trace.Request) string {
	switch {
	case r.Code == 0:
		return b.o.Palette.Trouble("---")
	case r.Failed():
		return b.o.Palette.Trouble(fmt.Sprint(r.Code))
	}
	return fmt.Sprint(r.Code)
}

// note says why a request failed, or what it changed.
func (b *Blocks) note(group []*trace.Event, r *trace.Request) string {
	switch {
	case r.Reason == "Conflict":
		return "conflict"
	case r.Failed():
		return Escape(r.Message)
	case len(group) > 1:
		return ""
	case r.Verb == "create":
		return b.o.Palette.Change(Changes(replicasOf(r.Change.Fields()), 0))
	}
	most := 4
	if b.o.Detail >= Verbose {
		most = 0
	}
	return b.o.Palette.Change(Changes(r.Change.Fields(), most))
}

// replicasOf is the one field that is worth telling of an object that was created.
func replicasOf(changes []inspect.Change) []inspect.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c inspect.Change) bool { return c.Path != "spec.replicas" })
}

func meanLatency(group []*trace.Event) trace.Duration {
	var sum trace.Duration
	for _, e := range group {
		sum += e.Detail.(*trace.Request).Latency
	}
	return sum / trace.Duration(len(group))
}

// mostNames bounds the names that are shown of one burst, unless all are asked for.
const mostNames = 5

// names lists the objects of a group, those after the first without what they share with it.
func (b *Blocks) names(group []*trace.Event) string {
	var names []string
	for _, e := range group {
		r := e.Detail.(*trace.Request)
		names = append(names, Escape(r.Name))
	}
	more := 0
	if b.o.Detail < Verbose && len(names) > mostNames {
		names, more = names[:mostNames], len(names)-mostNames
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
