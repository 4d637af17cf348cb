package replay

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// printer is a sink that writes entries as lines.
type printer struct {
	out     io.Writer
	palette render.Palette
	width   int // of the terminal; 0 if stdout is none
	verbose bool
	// allFields shows fields although they change with every write.
	allFields bool
	// namespaces reports whether objects of several namespaces were seen: then lines have them.
	namespaces func() bool

	date           string // of the last line
	objects, inner int    // the widths of the columns of objects and of namespaces
	atStart        []string
	err            error
}

var _ sink = (*printer)(nil)

// The least and the greatest width of the column of objects: one long name does not move all others.
const (
	leastObject = 28
	mostObject  = 48
	mostInner   = 24
)

// end implements sink.
func (p *printer) end() error {
	p.writeStart(nil)
	return p.err
}

// add implements sink.
func (p *printer) add(e *timeline.Entry) error {
	if e.Type == timeline.Listed && e.List != nil && e.List.First {
		if e.List.Objects > 0 {
			p.atStart = append(p.atStart, fmt.Sprintf("%s %d", render.Escape(e.Resource), e.List.Objects))
		}
		return p.err
	}
	if e.Type != timeline.Existing && e.Type != timeline.Begin {
		p.writeStart(e)
	}
	switch e.Type {
	case timeline.Added, timeline.Modified, timeline.Deleted, timeline.Existing:
		p.line(e, e.Object.Namespace, objectText(e.Object), p.changeText(e), byText(e.Writer))
	case timeline.Reported:
		p.event(e)
	case timeline.Reconciled:
		p.reconcile(e)
	case timeline.Listed:
		p.listed(e)
	case timeline.Gap:
		p.line(e, "", aboutText(e), p.palette.Trouble(gapText(e)), "")
	case timeline.Failed:
		p.line(e, "", aboutText(e), p.palette.Trouble("error of the server: "+render.Escape(e.Message)), "")
	case timeline.Begin:
		if text := beginText(e.Recording); text != "" {
			p.line(e, "", "", p.palette.Dim(text), "")
		}
	case timeline.End:
		p.line(e, "", "", p.palette.Dim("end of the recording"+render.Escape(withColon(e.Message))), "")
	case timeline.Torn: // said on stderr
	}
	return p.err
}

// writeStart writes what there was in the first lists, before the first line after them.
func (p *printer) writeStart(next *timeline.Entry) {
	if len(p.atStart) == 0 {
		return
	}
	e := &timeline.Entry{}
	if next != nil {
		e.Time = next.Time
	}
	text := strings.Join(p.atStart, ", ")
	p.atStart = nil
	p.line(e, "", "", p.palette.Dim("there at the start: "+text), "")
}

// line writes one line: when, in which namespace, which object, what, and by whom. The texts are safe for a terminal.
func (p *printer) line(e *timeline.Entry, namespace, object, text, by string) {
	var out strings.Builder
	if date := e.Time.UTC().Format(time.DateOnly); !e.Time.IsZero() && date != p.date {
		p.date = date
		out.WriteString(p.palette.Strong(date+" UTC") + "\n")
	}
	when := p.timeText(e)
	out.WriteString(p.palette.Dim(when) + "  ")
	indent := len(when) + 2
	if p.namespaces() {
		p.inner = max(p.inner, min(render.Cells(namespace), mostInner))
		out.WriteString(pad(render.Escape(namespace), p.inner) + "  ")
	}
	if object != "" {
		p.objects = max(p.objects, leastObject, min(render.Cells(object), mostObject))
		out.WriteString(p.palette.Strong(object) + pad("", p.objects-render.Cells(object)) + "  ")
	}
	out.WriteString(text)
	if by != "" {
		out.WriteString(p.palette.Dim("   by " + by))
	}
	line := render.Wrap(strings.TrimRight(out.String(), " "), p.width, strings.Repeat(" ", indent))
	if _, err := io.WriteString(p.out, line+"\n"); err != nil && p.err == nil {
		p.err = fmt.Errorf("writing the timeline: %w", err)
	}
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-render.Cells(text)))
}

// timeText returns the time of an entry, or its number in a stream without times; with -v both.
func (p *printer) timeText(e *timeline.Entry) string {
	number := ""
	if e.Number > 0 {
		number = fmt.Sprintf("#%d", e.Number)
	}
	switch number = fmt.Sprintf("%-6s", number); {
	case e.Time.IsZero():
		return number
	case p.verbose:
		return e.Time.UTC().Format("15:04:05.000 ") + number
	}
	return e.Time.UTC().Format("15:04:05.000")
}

func objectText(o *timeline.Object) string {
	if o == nil {
		return ""
	}
	return render.Escape(o.Kind + "/" + o.Name)
}

// aboutText names the kind that an entry is about.
func aboutText(e *timeline.Entry) string {
	return render.Escape(cmp.Or(e.Resource, "all kinds"))
}

// byText names a writer.
func byText(w *timeline.Writer) string {
	name := w.Name()
	if w != nil && w.Reconcile != 0 {
		name += fmt.Sprintf(" #%d", w.Reconcile)
	}
	return render.Escape(name)
}

func (p *printer) event(e *timeline.Entry) {
	if e.Event == nil {
		text := p.palette.Trouble("unreadable: " + render.Escape(e.Problem))
		p.line(e, e.Object.Namespace, objectText(e.Object), text, "")
		return
	}
	text := render.Escape(e.Event.Reason)
	if e.Event.Type != "" && e.Event.Type != "Normal" {
		text = p.palette.Trouble(render.Escape(e.Event.Type + " " + e.Event.Reason))
	}
	if e.Event.Message != "" {
		text += ": " + render.Escape(e.Event.Message)
	}
	if e.Event.Count > 1 {
		text += fmt.Sprintf(" (x%d)", e.Event.Count)
	}
	p.line(e, e.Object.Namespace, objectText(e.Object), "Event "+text, render.Escape(e.Event.By))
}

func (p *printer) listed(e *timeline.Entry) {
	text := "listed again: " + counted(e.List.Changes, "change")
	p.line(e, "", aboutText(e), p.palette.Dim(text), "")
}

func counted(n int, noun string) string {
	if n == 0 {
		return "no " + noun + "s"
	}
	return cli.Plural(n, noun)
}

// gapText describes a gap.
func gapText(e *timeline.Entry) string {
	if e.Gap == nil {
		return "gap"
	}
	text := "gap"
	if !e.Gap.Since.IsZero() && e.Time.After(e.Gap.Since) {
		text = "gap of " + durationText(e.Time.Sub(e.Gap.Since))
	}
	switch e.Gap.Reason {
	case replay.GapWatchExpired:
		text += ": the server no longer had the events"
	case replay.GapUnreachable:
		text += ": the server could not be reached"
	case replay.GapRefused:
		text += ": the server answered with errors"
	case replay.GapSleep:
		text += ": the recorder was stopped"
	default:
		text += withColon(render.Escape(string(e.Gap.Reason)))
	}
	if e.Gap.Attempts > 0 {
		text += ", " + cli.Plural(e.Gap.Attempts, "request") + " failed"
	}
	switch slept := e.Gap.Reason == replay.GapSleep; {
	case slept && e.Gap.Complete:
		return text + "; what the server still had follows"
	case slept:
		return text + "; the server was not heard from again: events may be missing"
	case e.Gap.Complete:
		return text + "; no event is missing"
	}
	return text + "; what changed was found by listing again"
}

func withColon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// beginText describes a recording.
func beginText(h *replay.Header) string {
	if h == nil {
		return ""
	}
	var parts []string
	if h.Context != "" {
		parts = append(parts, "context "+h.Context)
	}
	if h.Server != "" {
		parts = append(parts, "Kubernetes "+h.Server)
	}
	if len(parts) == 0 {
		return ""
	}
	return render.Escape("recording of " + strings.Join(parts, ", "))
}
