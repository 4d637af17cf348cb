package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/recorder"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// startLine says what is going to be recorded, and what is redacted.
func (r *recording) startLine() string {
	where := "all namespaces"
	if r.what.namespace != "" {
		where = fmt.Sprintf("namespace %q", r.what.namespace)
	}
	to := r.output.path
	if r.output.stdout != nil {
		to = "stdout"
	}
	return fmt.Sprintf("recording %s of %s to %s; %s", where, r.connection.Endpoint(), to, r.redaction.Text())
}

// progressLine returns the text that is shown while it records: on a terminal what liveLine returns, elsewhere how much
// has been read, until all has.
func (r *recording) progressLine() func(context.Context) string {
	if r.terminal {
		return r.liveLine()
	}
	return func(context.Context) string {
		select {
		case <-r.recorder.Started():
			return ""
		default:
			stats := r.recorder.Stats()
			kinds := max(stats.Streams, len(r.selections))
			return fmt.Sprintf("reading: %d of %s", stats.Watching, cli.Plural(kinds, "kind"))
		}
	}
}

// liveLine returns the text that is shown while it records.
func (r *recording) liveLine() func(context.Context) string {
	rate := rateMeter{at: r.began}
	return func(context.Context) string {
		stats, now := r.recorder.Stats(), r.clock.Now()
		parts := []string{
			fmt.Sprintf("%s (%.0f/s)", cli.Plural(int(stats.Events), "event"), rate.next(stats.Events, now)),
			cli.Plural(stats.Objects, "object"), sizeText(r.out.written()),
			fmt.Sprintf("%d dropped", stats.Dropped), cli.Plural(len(stats.Gaps), "gap"),
		}
		if stats.Watching < stats.Streams {
			parts = append(parts, fmt.Sprintf("%d of %d kinds connected", stats.Watching, stats.Streams))
		}
		return fmt.Sprintf("%s: %s", now.Sub(r.began).Truncate(time.Second), strings.Join(parts, ", "))
	}
}

// sizeText writes a number of bytes for people, in the units that the flags take.
func sizeText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return render.FormatNumber(value) + " " + units[unit]
}

// rateMeter computes how much is counted a second, over the last few seconds.
type rateMeter struct {
	at    time.Time
	count int64
	rate  float64
}

// next returns the rate at a time, when count were counted in all.
func (m *rateMeter) next(count int64, now time.Time) float64 {
	const period = 2 * time.Second
	if passed := now.Sub(m.at); passed >= period || m.rate == 0 && passed > 0 {
		m.rate = float64(count-m.count) / passed.Seconds()
		m.at, m.count = now, count
	}
	return m.rate
}

// summary says what was recorded.
func (r *recording) summary(cause error) {
	stats := r.recorder.Stats()
	if stats.Streams == 0 {
		return
	}
	if errors.Is(cause, errFull) {
		r.notes.line("ended: --max-size %s is reached", sizeText(r.output.maxSize))
	}
	names := r.output.path
	switch {
	case r.output.stdout != nil:
		names = "stdout"
	case r.out.number > 0:
		names = fmt.Sprintf("%s to %s", r.firstFile(), r.out.name())
	}
	r.notes.line("recorded %s in %s: %s, %s in %s", cli.Plural(int(stats.Events), "event"),
		render.FormatDuration(trace.Duration(r.clock.Since(r.began))), cli.Plural(stats.Objects, "object"),
		sizeText(r.out.written()), names)
	for _, gap := range stats.Gaps {
		r.notes.line("%s", gapText(&gap, stats.Streams))
	}
	if stats.Dropped > 0 {
		r.notes.line("warning: %s left out, because they could not be redacted or are too large",
			cli.Plural(int(stats.Dropped), "version")+" of objects "+cli.PluralOf(int(stats.Dropped), "was", "were"))
	}
}

// firstFile returns the oldest file that is left.
func (r *recording) firstFile() string {
	if len(r.out.files) > 0 {
		return r.out.files[0].path
	}
	return r.out.name()
}

// gapText describes a gap of a recording of so many kinds.
func gapText(g *recorder.GapSpan, kinds int) string {
	reason := "the server was not reached"
	switch g.Reason {
	case replay.GapWatchExpired:
		reason = "the server no longer had the events"
	case replay.GapSleep:
		reason = "this machine slept, or the recording was stopped"
	case replay.GapRefused:
		reason = "the server answered with errors"
	case replay.GapUnreachable:
	}
	lost := "nothing was lost"
	switch slept := g.Reason == replay.GapSleep; {
	case slept && g.Complete:
		lost = "what happened meanwhile was received afterwards"
	case slept && g.Streams > 0:
		lost = fmt.Sprintf("the server was not heard from again about %d of %s: what happened meanwhile may be missing",
			g.Streams, cli.Plural(kinds, "kind"))
	case slept:
		lost = "not all that happened meanwhile was received"
	case !g.Complete:
		lost = "what changed meanwhile is marked as relisted"
	}
	return fmt.Sprintf("gap at %s for %s: %s; %s", g.Since.Local().Format(time.TimeOnly),
		render.FormatDuration(trace.Duration(g.Till.Sub(g.Since))), reason, lost)
}
