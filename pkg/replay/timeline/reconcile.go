package timeline

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// The bounds of what is kept of a trace: a hostile recording may start reconciles that never end.
const (
	maxOpenReconciles = 10_000
	maxTracedWrites   = 50_000
	maxWrites         = 1_000 // of a reconcile
	maxCauses         = 16
)

// reconciles puts reconciles together from the events of a trace, and notes which of them wrote what.
type reconciles struct {
	open   map[trace.ReconcileID]*Reconcile
	writes *Writes
}

// Writes are the versions of objects that reconciles of a session wrote, by its trace. They have the newest tens of
// thousands. It must not be used concurrently.
type Writes struct {
	// newest are dropped to older when there are too many, and what was in older is forgotten.
	newest, older map[writtenVersion]*Writer
}

// tracedWithin is how many records, the first lists left out, are read to find out whether a recording has a trace: one
// of a session has it from the beginning on, and one with an audit log soon.
const tracedWithin = 20_000

// scanWrites reads which reconciles wrote what from a source to its end, if it has a trace: an event of the trace may
// be recorded after the change that it made. The error is that of the source; what was read before it is returned, too.
func scanWrites(source replay.Source) (*Writes, error) {
	traced := reconciles{writes: &Writes{}}
	found := false
	for n := 0; found || n < tracedWithin; {
		r, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return traced.writes, err
		}
		if r.Type != replay.TypeListItem {
			n++
		}
		if r.Type == replay.TypeTrace {
			found = true
			var e trace.Event
			if json.Unmarshal(r.Object, &e) == nil { // what cannot be read is said in the timeline
				traced.take(&e)
			}
		}
	}
	return traced.writes, nil
}

// writtenVersion is a version of an object that a reconcile wrote.
type writtenVersion struct{ namespace, name, version string }

// take adds an event. It returns the reconcile that ended with it; nil if none did.
func (t *reconciles) take(e *trace.Event) *Reconcile {
	if t.open == nil {
		t.open = map[trace.ReconcileID]*Reconcile{}
	}
	switch d := e.Detail.(type) {
	case *trace.Start:
		if len(t.open) < maxOpenReconciles {
			t.open[e.Reconcile] = started(e, d)
		}
	case *trace.Request:
		t.request(e, d)
	case *trace.Watch:
		if d.WrittenBy != 0 {
			t.writes.add(d.Object, d.ResourceVersion, &Writer{Controller: d.Writer, Reconcile: uint64(d.WrittenBy)})
		}
	case *trace.End:
		out := t.open[e.Reconcile]
		if out == nil {
			out = &Reconcile{Controller: e.Controller, Number: uint64(e.Reconcile), Key: e.Key}
		}
		delete(t.open, e.Reconcile)
		out.Outcome, out.Duration, out.Error, out.PutOff = string(d.Outcome), d.Duration.String(), d.Error, d.PutOff
		return out
	}
	return nil
}

func started(e *trace.Event, d *trace.Start) *Reconcile {
	out := &Reconcile{
		Controller: e.Controller, Number: uint64(e.Reconcile), Key: e.Key,
		MoreCauses: d.MoreCauses + max(0, len(d.Causes)-maxCauses),
	}
	for _, c := range d.Causes[:min(len(d.Causes), maxCauses)] {
		cause := Cause{Type: string(c.Type), Reconcile: uint64(c.Reconcile)}
		if w := c.Watch; w != nil {
			object := findings.ObjectOf(&w.Object)
			cause.Event, cause.Object, cause.ResourceVersion = string(w.Event), &object, w.ResourceVersion
			if w.WrittenBy != 0 {
				cause.Reconcile, cause.Writer = uint64(w.WrittenBy), w.Writer
			} else {
				cause.Writer = w.Manager.Name()
			}
		}
		out.Causes = append(out.Causes, cause)
	}
	return out
}

func (t *reconciles) request(e *trace.Event, d *trace.Request) {
	if !d.IsWrite() || d.Recorded != nil {
		return
	}
	version := d.ResourceVersion
	if version == "" && d.Verb == "delete" { // the answer is a Status
		version = deletionOf(d.UID)
	}
	if !d.Failed() && version != "" {
		writer := &Writer{Controller: e.Controller, Reconcile: uint64(e.Reconcile)}
		if d.User != "" {
			writer = &Writer{User: d.User}
		}
		t.writes.add(d.Object, version, writer)
	}
	if open := t.open[e.Reconcile]; open != nil && len(open.Writes) < maxWrites {
		open.Writes = append(open.Writes, Write{
			Verb: d.Verb, Object: findings.ObjectOf(&d.Object), Subresource: d.Subresource, Code: d.Code,
			Message: d.Message,
		})
	}
}

// add notes who wrote a version.
func (w *Writes) add(o trace.Object, version string, writer *Writer) {
	if version == "" {
		return
	}
	if known := w.of(o.Namespace, o.Name, version); known != nil {
		if known.User != "" && writer.User == "" { // an audit log has it, too
			*known = *writer
		}
		return
	}
	if w.newest == nil || len(w.newest) == maxTracedWrites {
		w.older, w.newest = w.newest, map[writtenVersion]*Writer{}
	}
	w.newest[writtenVersion{o.Namespace, o.Name, version}] = writer
}

// deletionOf stands for the version of the deletion of an object, which the answer to it may not have; empty without a
// uid.
func deletionOf(uid string) string {
	if uid == "" {
		return ""
	}
	return "deletion of " + uid
}

// of returns the reconcile that wrote a version of an object; nil if none is known.
func (w *Writes) of(namespace, name, version string) *Writer {
	key := writtenVersion{namespace, name, version}
	if writer := w.newest[key]; writer != nil {
		return writer
	}
	return w.older[key]
}
