package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// FieldLinesOptions are the options of FieldLines.
type FieldLinesOptions struct {
	// Fields are the paths of the fields to follow, as fields.Path.String has them.
	Fields  []string
	Palette Palette
	// FieldManager is the field manager that the run itself applies objects with, which is called "you".
	FieldManager string
	// Namespace is that of objects that are named without it.
	Namespace string
	// Width is the width of the terminal, at which lines are wrapped; 0 wraps none.
	Width int
}

// FieldLines is a trace.Sink that follows fields of all objects: it writes a line for each change of one, with the
// object, the values, who wrote it, and what the reconcile that did reacted to. It knows the changes that controllers
// watch, the values with which controllers create objects, and what a dry run would write. Several informers may
// deliver one change, and a controller may try one dry write again and again: each has one line.
//
// Its methods may be called concurrently.
type FieldLines struct {
	o   FieldLinesOptions
	out io.Writer

	mu      sync.Mutex // guards all below, and writing to out
	startAt time.Time  // that lines count from; zero until it is known
	begun   bool
	written bool        // a line was
	lines   []fieldLine // not written yet
	causes  recent.Map[trace.ReconcileID, fieldCause]
	// failed are the causes, of a change of a field that is followed, of reconciles that failed: by controller and key,
	// until one goes well.
	failed recent.Map[string, fieldCause]
	// latest are the last changes of fields that are followed, by object, and acted the ones of these that a controller
	// has acted on, by its name and the object.
	latest  recent.Map[string, fieldCause]
	acted   recent.Map[string, string]
	known   recent.Map[string, struct{}] // changes that have a line
	changed map[string]bool              // of the fields to follow, those that have a line
	err     error                        // the first of out
}

// fieldLine is a line without its time.
type fieldLine struct {
	at   time.Time
	text string
}

// NewFieldLines returns a FieldLines that writes to out. It must be closed.
func NewFieldLines(out io.Writer, o FieldLinesOptions) *FieldLines {
	return &FieldLines{
		o: o, out: out, changed: map[string]bool{},
		causes: recent.Map[trace.ReconcileID, fieldCause]{Capacity: maxRecent},
		failed: recent.Map[string, fieldCause]{Capacity: maxRecent},
		known:  recent.Map[string, struct{}]{Capacity: maxRecent},
		latest: recent.Map[string, fieldCause]{Capacity: maxRecent},
		acted:  recent.Map[string, string]{Capacity: maxRecent},
	}
}

// StartAt sets the time that lines count from. If it is not called they count from the first.
func (l *FieldLines) StartAt(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startAt = t
}

// Begin writes the lines so far, and lets later ones be written at once.
func (l *FieldLines) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
	l.write()
}

// Close writes the lines that Begin was not called for, and returns the first error of a write.
func (l *FieldLines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write()
	return l.err
}

// Unchanged returns those of the fields of which no change was seen.
func (l *FieldLines) Unchanged() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.o.Fields), func(path string) bool { return l.changed[path] })
}

// Record implements trace.Sink.
func (l *FieldLines) Record(e *trace.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch d := e.Detail.(type) {
	case *trace.Start:
		l.causes.Put(e.Reconcile, l.cause(e, d))
	case *trace.End:
		if cause, _ := l.causes.Get(e.Reconcile); cause.ofField && d.Outcome == trace.Failed {
			l.failed.Put(queueKey(e), cause)
		} else {
			l.failed.Delete(queueKey(e))
		}
	case *trace.Watch:
		if d.Event == trace.Modified {
			l.add(e.Time, &d.Object, d.ResourceVersion, d.Change, func() string {
				return "by " + l.writer(d) + l.after(d.WrittenBy, d.Writer)
			})
			if cause := l.oneCause(trace.Cause{Type: trace.CauseWatch, Watch: d}); cause.ofField {
				l.latest.Put(cause.object, cause)
			}
		}
	case *trace.Request:
		creates := d.Verb == "create" && d.Subresource == ""
		tries := d.DryRun && (d.Verb == "update" || d.Verb == "patch")
		if !creates && !tries || d.Failed() || d.Recorded != nil {
			return
		}
		version := d.ResourceVersion
		if d.DryRun {
			version = "" // the same write has one line, whatever the object is by then
		}
		l.add(e.Time, &d.Object, version, d.Change, func() string {
			by := "by " + e.Controller
			if d.DryRun {
				by += " (dry run)"
			}
			return by + l.after(e.Reconcile, e.Controller)
		})
	}
	if l.begun {
		l.write()
	}
}

// add adds a line for each field that is followed, unless a change to the same value, in the same version of the
// object, has one. by returns who wrote. l.mu must be held.
func (l *FieldLines) add(at time.Time, of *trace.Object, version string, change *trace.Change, by func() string) {
	for _, c := range change.Fields() {
		paths := l.followed(c)
		for _, path := range paths {
			l.changed[path] = true
		}
		if len(paths) == 0 {
			continue
		}
		id := fmt.Sprint([]string{of.Group, of.Resource, of.Namespace, of.Name, version, c.Path}, c.New)
		if _, isKnown := l.known.Get(id); isKnown {
			continue
		}
		l.known.Put(id, struct{}{})
		p := l.o.Palette
		l.lines = append(l.lines, fieldLine{at, fmt.Sprintf("%s  %s  %s", p.Strong(l.object(of)),
			p.Change(fieldText(c.Path, c)), p.Dim(by()))})
	}
}

// followed returns those of the fields to follow that a change is of.
func (l *FieldLines) followed(c fields.Change) []string {
	return slices.DeleteFunc(slices.Clone(l.o.Fields), func(path string) bool { return !fields.Overlap(path, c.Path) })
}

// write writes the lines that are not written yet. l.mu must be held.
func (l *FieldLines) write() {
	var text strings.Builder
	for _, line := range l.lines {
		if !l.written {
			l.written = true
			fmt.Fprintln(&text)
		}
		if l.startAt.IsZero() {
			l.startAt = line.at
		}
		at := l.o.Palette.Dim(fmt.Sprintf("%-10s", fmt.Sprintf("%+.3fs", line.at.Sub(l.startAt).Seconds())))
		fmt.Fprintln(&text, Wrap(at+line.text, l.o.Width, strings.Repeat(" ", 12)))
	}
	l.lines = nil
	if _, err := io.WriteString(l.out, text.String()); l.err == nil {
		l.err = err
	}
}

// object names an object, safe for a terminal.
func (l *FieldLines) object(o *trace.Object) string {
	name := o.Name
	if o.Namespace != "" && o.Namespace != l.o.Namespace {
		name = o.Namespace + "/" + name
	}
	return Escape(cmp.Or(o.Kind, o.Resource) + " " + name)
}

// writer returns who made the change of a watch event.
func (l *FieldLines) writer(w *trace.Watch) string {
	by := w.Manager.Writer()
	return actorText(w.Writer, by.Manager, l.o.FieldManager) + howText(by.Operation, by.Subresource)
}

// after returns what a reconcile of a controller reacts to as the end of a sentence; empty if that is not known. A
// reconcile that another change of an object has led to has read the object with the last change of a field that is
// followed, on which the controller has not acted yet. l.mu must be held.
func (l *FieldLines) after(id trace.ReconcileID, controller string) string {
	cause, _ := l.causes.Get(id)
	key := controller + "\x00" + cause.object
	latest, known := l.latest.Get(cause.object)
	if acted, _ := l.acted.Get(key); known && !cause.ofField && acted != latest.text && latest.writer != controller {
		cause = latest
	}
	if cause.ofField {
		l.acted.Put(key, cause.text)
	}
	return cause.text
}

// fieldCause is what a reconcile reacts to.
type fieldCause struct {
	text    string // as the end of a sentence
	ofField bool   // whether it is a change of a field that is followed
	object  string // of a watch event
	writer  string // the controller that wrote it; empty if it came from outside
}

// queueKey names the key of an event in the queue of its controller.
func queueKey(e *trace.Event) string { return e.Controller + "\x00" + e.Key }

// cause returns the cause of a reconcile; the zero value if none is known. Of several it is the first that is a change
// of a field that is followed, which may be one that an earlier reconcile of the key failed at, or else the first. l.mu
// must be held.
func (l *FieldLines) cause(e *trace.Event, s *trace.Start) fieldCause {
	var out fieldCause
	for i, c := range s.Causes {
		if one := l.oneCause(c); i == 0 || one.ofField && !out.ofField {
			out = one
		}
	}
	if before, failed := l.failed.Get(queueKey(e)); failed && !out.ofField {
		return before
	}
	return out
}

// whatHappened are what is said of watch events.
var whatHappened = map[trace.WatchType]string{
	trace.Added: "created", trace.Modified: "changed", trace.Deleted: "deleted",
}

// oneCause returns one cause of a reconcile. A retry, and a reconcile that another one asked for, have the cause of
// that one. l.mu must be held.
func (l *FieldLines) oneCause(c trace.Cause) fieldCause {
	if w := c.Watch; w != nil {
		isFollowed := func(c fields.Change) bool { return len(l.followed(c)) > 0 }
		return fieldCause{
			text: l.watch(w), ofField: slices.ContainsFunc(w.Change.Fields(), isFollowed),
			object: fmt.Sprint(w.Group, "/", w.Kind, "/", w.Namespace, "/", w.Name), writer: w.Writer,
		}
	}
	before, known := l.causes.Get(c.Reconcile)
	switch {
	case c.Type == trace.CauseTimer && c.Delay == 0:
		return fieldCause{text: ", by its own timer"}
	case c.Type == trace.CauseTimer:
		return fieldCause{text: ", after a timer of " + FormatDuration(c.Delay)}
	case known:
		return before
	case c.Type == trace.CauseRetry:
		return fieldCause{text: fmt.Sprintf(", at retry %d", c.Retry)}
	case c.Type == trace.CauseReconcile:
		return fieldCause{text: ", after another reconcile"}
	}
	return fieldCause{text: ", by itself"}
}

// watch returns what a watch event is as the cause of a reconcile.
func (l *FieldLines) watch(w *trace.Watch) string {
	switch {
	case w.Initial:
		return ", for " + l.object(&w.Object) + ", which was there before"
	case w.Event == trace.Resync:
		return ", at a resync of " + l.object(&w.Object)
	}
	return fmt.Sprintf(", after %s was %s by %s", l.object(&w.Object), whatHappened[w.Event], l.writer(w))
}
