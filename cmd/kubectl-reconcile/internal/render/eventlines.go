package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// groupWrites puts creations in a row of the same kind, with the same answer, together: a burst of pods is one line.
func groupWrites(events []*trace.Event) [][]*trace.Event {
	var out [][]*trace.Event
	for _, e := range events {
		if last := len(out) - 1; last >= 0 && sameWrite(out[last][0], e) {
			out[last] = append(out[last], e)
			continue
		}
		out = append(out, []*trace.Event{e})
	}
	return out
}

func sameWrite(a, b *trace.Event) bool {
	x, ok := a.Detail.(*trace.Request)
	if !ok {
		return false
	}
	y, ok := b.Detail.(*trace.Request)
	return ok && x.Verb == y.Verb && (x.Verb == "create" || x.Verb == "delete") && x.Recorded == nil && y.Recorded == nil &&
		x.Group == y.Group && x.Resource == y.Resource && x.Subresource == y.Subresource &&
		x.Namespace == y.Namespace && x.Code == y.Code && x.Message == y.Message
}

func (b *Blocks) eventLines(group []*trace.Event) []line {
	switch d := group[0].Detail.(type) {
	case *trace.Request:
		return b.requestLines(group, d)
	case *trace.Log:
		return []line{b.log(group[0].Reconcile, d)}
	case *trace.End:
		return []line{b.end(d)}
	case *trace.Dropped:
		return []line{{"gave up", fmt.Sprintf("after %d retries: %s", d.Retries, Escape(d.Error))}}
	}
	return nil
}

func (b *Blocks) requestLines(group []*trace.Event, r *trace.Request) []line {
	if r.Recorded != nil {
		return []line{{"event", Escape(fmt.Sprintf("%s %s  %s", r.Recorded.Type, r.Recorded.Reason, r.Recorded.Message))}}
	}
	object := fmt.Sprintf("%s %s", kindOf(r), b.names(group))
	if r.Subresource != "" {
		object += "/" + r.Subresource
	}
	word := r.Verb
	if r.DryRun && !r.Failed() {
		word, object = "would", r.Verb+" "+object
	}
	latency := Round(r.Latency)
	if len(group) > 1 {
		latency = Round(meanLatency(group)) + " each"
	}
	text := fmt.Sprintf("%-42s  %s  %s", object, b.code(r), b.o.Palette.Dim(latency))
	if note := b.note(group, r); note != "" {
		text += "  " + note
	}
	return []line{{word, text}}
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

func (b *Blocks) log(reconcile trace.ReconcileID, l *trace.Log) line {
	text := Escape(l.Message)
	var values []string
	for _, v := range l.Values {
		values = append(values, Escape(v.Key+" "+Cut(v.Value, 2*widest)))
	}
	if len(values) > 0 {
		text += ": " + strings.Join(values, ", ")
	}
	if l.Error != "" {
		text += ": " + b.o.Palette.Trouble(Escape(l.Error))
	}
	if l.Error != "" {
		return line{"error", text}
	}
	if l.Level > Normal.LogLevel() || reconcile == 0 {
		return line{"logged", b.o.Palette.Dim(text)}
	}
	return line{"decided", text}
}

func (b *Blocks) end(d *trace.End) line {
	text := fmt.Sprintf("%s, %s", count(d.Writes, "write"), Round(d.Duration))
	if d.Next != nil && d.Next.Retry > 0 {
		text += fmt.Sprintf("; retry %d in %s", d.Next.Retry, Round(d.Next.After))
	} else if d.Next != nil {
		text += fmt.Sprintf("; again in %s", Round(d.Next.After))
	}
	if resource, lags := lagging(d.Error); lags && d.Outcome == trace.Failed && b.o.Detail < Verbose {
		return line{"put off", text + ": its cache of " + Escape(resource) + " does not show yet what it wrote"}
	}
	if d.Error != "" {
		text += ": " + b.o.Palette.Trouble(Escape(d.Error))
	}
	switch d.Outcome {
	case trace.Done:
		return line{"done", text}
	case trace.GaveUp:
		return line{"gave up", text}
	case trace.Panicked:
		return line{"failed", "panicked; " + text}
	}
	return line{"failed", text}
}

// lagging tells the error by which a controller waits until its cache shows its own last write, and of which resource:
// nothing has gone wrong (ConsistencyError of upstream's pkg/controller/util/consistency, StaleInformerCache of
// k8s.io/endpointslice/util).
func lagging(text string) (resource string, is bool) {
	if strings.Contains(text, "EndpointSlice informer cache is out of date") {
		return "endpointslices", true
	}
	_, versions, is := strings.Cut(text, "read version: ")
	if !is || !strings.Contains(versions, " is not as new as written version: ") {
		return "", false
	}
	_, resource, is = strings.Cut(versions, " for group resource ")
	return resource, is
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
