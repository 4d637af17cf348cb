package render

import (
	"fmt"
	"strings"

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

// eventLines are those of a group. so is what the reconcile came to before it.
func (b *Blocks) eventLines(group []*trace.Event, so course) []line {
	switch d := group[0].Detail.(type) {
	case *trace.Request:
		return b.requestLines(group, d, so)
	case *trace.Log:
		return []line{b.log(group[0].Reconcile, d, so)}
	case *trace.End:
		return []line{b.end(d, so)}
	case *trace.Dropped:
		return []line{{"gave up", fmt.Sprintf("after %d retries: %s", d.Retries, b.reason(d.Error)), ToneTrouble}}
	}
	return nil
}

func (b *Blocks) log(reconcile trace.ReconcileID, l *trace.Log, so course) line {
	text := Escape(l.Message)
	var values []string
	for _, v := range l.Values {
		values = append(values, Escape(v.Key+" "+Cut(spelt(v.Value), 2*widest)))
	}
	if len(values) > 0 {
		text += ": " + strings.Join(values, ", ")
	}
	if l.Error != "" {
		return line{word: "error", text: text + ": " + b.trouble(b.reason(l.Error), so)}
	}
	if l.Level > Normal.LogLevel() || reconcile == 0 || isThrottling(l) {
		return line{word: "logged", text: b.o.Palette.Dim(text)}
	}
	return line{word: "decided", text: text}
}

// trouble marks a text if the reconcile that it is of has failed.
func (b *Blocks) trouble(text string, so course) string {
	if so.fails {
		return b.o.Palette.Trouble(text)
	}
	return text
}

// reason is an error, safe for a terminal; unless all is asked for, without what an API server says each time.
func (b *Blocks) reason(text string) string {
	if b.brief() {
		text = Reason(text)
	}
	return Escape(text)
}

func (b *Blocks) end(d *trace.End, so course) line {
	if so.conflict != nil {
		return line{"conflict", b.o.Palette.Dim(conflictText(so.conflict, d)), ToneDim}
	}
	text := fmt.Sprintf("%s, %s", so.writes(d), Round(d.Duration)) + next(d.Next)
	if d.Outcome == trace.Done {
		return line{"done", b.o.Palette.Dim(text), ToneDim}
	}
	if d.PutOff != "" && b.brief() {
		text += ": its cache of " + Escape(d.PutOff) + " does not show yet what it wrote"
		return line{word: "put off", text: text}
	}
	tone := TonePlain
	if so.fails {
		tone = ToneTrouble
	}
	if d.Error != "" {
		text += ": " + b.trouble(b.reason(d.Error), so)
	}
	switch d.Outcome {
	case trace.GaveUp:
		return line{"gave up", text, tone}
	case trace.Panicked:
		return line{"failed", "panicked; " + text, tone}
	}
	return line{"failed", text, tone}
}

// next is the end of a sentence about when a key comes back; empty if it does not by itself.
func next(n *trace.Next) string {
	switch {
	case n == nil:
		return ""
	case n.Retry > 0:
		return fmt.Sprintf("; retry %d in %s", n.Retry, Round(n.After))
	}
	return "; again in " + Round(n.After)
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
