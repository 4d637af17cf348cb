package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// mostCauses bounds the causes that are shown of one reconcile, unless all are asked for.
const mostCauses = 6

func (b *Blocks) causes(s *trace.Start) []line {
	var out []line
	causes, more := s.Causes, s.MoreCauses
	if b.o.Detail < Verbose && len(causes) > mostCauses {
		causes, more = causes[:mostCauses], more+len(causes)-mostCauses
	}
	for _, c := range causes {
		out = append(out, line{"", b.cause(c)})
	}
	if more > 0 {
		out = append(out, line{"", fmt.Sprintf("and %d more", more)})
	}
	if len(out) == 0 {
		out = append(out, line{"", "its cause was not seen"})
	}
	out[0].word = "because"
	return out
}

func (b *Blocks) cause(c trace.Cause) string {
	text := b.causeText(c)
	if c.Handler != "" {
		text += ", " + seenOrAdded(c) + Escape(c.Handler)
	}
	if c.Type == trace.CauseTimer && c.Watch != nil {
		text += ", put off for " + Round(c.Delay)
	}
	if c.Watch != nil && c.Watch.WrittenBy != 0 {
		text += b.o.Palette.Dim("   written by " + writer(c.Watch))
	}
	return text
}

// writer names the reconcile that wrote what a watch event tells, with its controller: its own block may not be shown.
func writer(w *trace.Watch) string {
	return strings.TrimSpace(w.Writer + " " + number(w.WrittenBy))
}

func seenOrAdded(c trace.Cause) string {
	if c.Type == trace.CauseWatch || c.Watch != nil {
		return "seen by "
	}
	return "added by "
}

func (b *Blocks) causeText(c trace.Cause) string {
	switch c.Type {
	case trace.CauseWatch:
		return b.watch(c.Watch)
	case trace.CauseRetry:
		return fmt.Sprintf("retry %d%s, after %s", c.Retry, of(c.Reconcile), Round(c.Delay))
	case trace.CauseTimer:
		if c.Watch != nil {
			return b.watch(c.Watch)
		}
		if c.Delay == 0 {
			return "a timer of its own"
		}
		return fmt.Sprintf("timer of %s%s", Round(c.Delay), setBy(c.Reconcile))
	case trace.CauseReconcile:
		return "reconcile " + number(c.Reconcile)
	}
	return "the controller itself"
}

func of(id trace.ReconcileID) string {
	if id == 0 {
		return ""
	}
	return " of " + number(id)
}

func setBy(id trace.ReconcileID) string {
	if id == 0 {
		return ""
	}
	return " set by " + number(id)
}

func (b *Blocks) watch(w *trace.Watch) string {
	if w == nil {
		return "a watch event"
	}
	text := fmt.Sprintf("%s %s %s v%s", w.Event, w.Kind, Escape(w.Name), w.ResourceVersion)
	if w.Initial {
		text += " (there before the start)"
	}
	most := 3
	if b.o.Detail >= Verbose {
		most = 0
	}
	if changes := Changes(w.Change.Fields(), most); changes != "" {
		text += " (" + b.o.Palette.Change(changes) + ")"
	}
	return text
}

// Round makes a duration short: three digits are enough to compare by.
func Round(d trace.Duration) string {
	v := time.Duration(d)
	step := time.Duration(1)
	for limit := time.Duration(1000); v >= limit && limit < time.Minute; limit *= 10 {
		step *= 10
	}
	if v >= time.Minute {
		step = time.Second
	}
	text := v.Round(step).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}
