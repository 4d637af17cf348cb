package timeline

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// The bounds of what is kept of a trace: a hostile recording may start reconciles that never end.
const (
	maxOpenReconciles = 10_000
	maxTracedWrites   = 10_000
	maxWrites         = 1_000 // of a reconcile
	maxCauses         = 16
)

// reconciles puts reconciles together from the events of a trace, and knows which of them wrote what.
type reconciles struct {
	open map[trace.ReconcileID]*Reconcile
	// writes has the newest writes, older those before them: it is dropped when writes is full.
	writes, older map[writtenVersion]*Writer
}

// writtenVersion is a version of an object that a reconcile wrote.
type writtenVersion struct{ namespace, name, version string }

// take adds an event, as NDJSON. It returns the reconcile that ended with it; nil if none did.
func (t *reconciles) take(line []byte) (*Reconcile, error) {
	var e trace.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, err
	}
	if t.open == nil {
		t.open, t.writes = map[trace.ReconcileID]*Reconcile{}, map[writtenVersion]*Writer{}
	}
	switch d := e.Detail.(type) {
	case *trace.Start:
		if len(t.open) < maxOpenReconciles {
			t.open[e.Reconcile] = started(&e, d)
		}
	case *trace.Request:
		t.request(&e, d)
	case *trace.Watch:
		if d.WrittenBy != 0 {
			t.wrote(d.Object, d.ResourceVersion, &Writer{Controller: d.Writer, Reconcile: uint64(d.WrittenBy)})
		}
	case *trace.End:
		out := t.open[e.Reconcile]
		if out == nil {
			out = &Reconcile{Controller: e.Controller, Number: uint64(e.Reconcile), Key: e.Key}
		}
		delete(t.open, e.Reconcile)
		out.Outcome, out.Duration, out.Error = string(d.Outcome), d.Duration.String(), d.Error
		return out, nil
	}
	return nil, nil
}

func started(e *trace.Event, d *trace.Start) *Reconcile {
	out := &Reconcile{
		Controller: e.Controller, Number: uint64(e.Reconcile), Key: e.Key,
		MoreCauses: d.MoreCauses + max(0, len(d.Causes)-maxCauses),
	}
	for _, c := range d.Causes[:min(len(d.Causes), maxCauses)] {
		cause := Cause{Type: string(c.Type), Reconcile: uint64(c.Reconcile)}
		if w := c.Watch; w != nil {
			object := objectOf(w.Object)
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
	if !d.Failed() && d.ResourceVersion != "" {
		t.wrote(d.Object, d.ResourceVersion, &Writer{Controller: e.Controller, Reconcile: uint64(e.Reconcile)})
	}
	if open := t.open[e.Reconcile]; open != nil && len(open.Writes) < maxWrites {
		open.Writes = append(open.Writes, Write{
			Verb: d.Verb, Object: objectOf(d.Object), Subresource: d.Subresource, Code: d.Code, Message: d.Message,
		})
	}
}

// wrote notes who wrote a version.
func (t *reconciles) wrote(o trace.Object, version string, w *Writer) {
	if version == "" || t.writer(o.Namespace, o.Name, version) != nil {
		return
	}
	if len(t.writes) == maxTracedWrites {
		t.older, t.writes = t.writes, map[writtenVersion]*Writer{}
	}
	t.writes[writtenVersion{o.Namespace, o.Name, version}] = w
}

// writer returns the reconcile that wrote a version of an object; nil if none is known.
func (t *reconciles) writer(namespace, name, version string) *Writer {
	key := writtenVersion{namespace, name, version}
	if w := t.writes[key]; w != nil {
		return w
	}
	return t.older[key]
}

func objectOf(o trace.Object) Object {
	kind := o.Kind
	if kind == "" {
		kind = o.Resource
	}
	return Object{
		APIVersion: schema.GroupVersion{Group: o.Group, Version: o.Version}.String(),
		Kind:       kind, Namespace: o.Namespace, Name: o.Name, UID: types.UID(o.UID),
	}
}
