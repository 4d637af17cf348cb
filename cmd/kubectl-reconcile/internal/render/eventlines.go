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
		return []line{b.log(group[0].Reconcile, d)}
	case *trace.End:
		return []line{b.end(d, so)}
	case *trace.Dropped:
		return []line{{"gave up", fmt.Sprintf("after %d retries: %s", d.Retries, Escape(d.Error))}}
	}
	return nil
}

func (b *Blocks) log(reconcile trace.ReconcileID, l *trace.Log) line {
	text := Escape(l.Message)
	var values []string
	for _, v := range l.Values {
		values = append(values, Escape(v.Key+" "+Cut(spelt(v.Value), 2*widest)))
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

func (b *Blocks) end(d *trace.End, so course) line {
	text := fmt.Sprintf("%s, %s", so.writes(d.Writes), Round(d.Duration))
	text += next(d.Next)
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

// PutOff says whether a reconcile that failed with that error only waits until a cache shows its own last write.
func PutOff(err string) bool {
	_, lags := lagging(err)
	return lags
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
