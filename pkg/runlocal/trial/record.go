package trial

import (
	"net/http"
	"slices"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// queueKey is a key of a controller.
type queueKey struct{ controller, key string }

// record is a sink that gathers the first reconcile of each attempt. Its methods may be called concurrently.
type record struct {
	mu   sync.Mutex // guards what follows
	list []Attempt
	open map[trace.ReconcileID]*Attempt // of list
}

var _ trace.Sink = (*record)(nil)

func newRecord(attempts []Attempt) *record {
	return &record{list: attempts, open: map[trace.ReconcileID]*Attempt{}}
}

// keys returns those of the attempts.
func (r *record) keys() []queueKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []queueKey
	for i := range r.list {
		out = append(out, queueKey{r.list[i].Controller, r.list[i].Key})
	}
	return out
}

// attempts returns a copy of what was gathered.
func (r *record) attempts() []Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.list)
	for i := range out {
		out[i].Writes = slices.Clone(out[i].Writes)
	}
	return out
}

// Record implements trace.Sink.
func (r *record) Record(e *trace.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch d := e.Detail.(type) {
	case *trace.Start:
		i := slices.IndexFunc(r.list, func(a Attempt) bool { return a.Controller == e.Controller && a.Key == e.Key })
		if i >= 0 && !r.list[i].Done {
			r.open[e.Reconcile] = &r.list[i]
		}
	case *trace.Request:
		if a := r.open[e.Reconcile]; a != nil {
			a.add(d)
		}
	case *trace.End:
		a := r.open[e.Reconcile]
		if a == nil {
			return
		}
		delete(r.open, e.Reconcile)
		a.Done = true
		if d.Outcome == trace.Done && len(a.Writes) > 0 {
			a.Unanswered = false // it has gone on, and written again
		}
		if d.Outcome == trace.Failed && d.Refused == 0 && d.PutOff == "" {
			a.Error = d.Error
		}
	}
}

// add notes a write that was tried on the server. What conflicted, or was to be written to what was deleted meanwhile,
// shows no more than what was not answered.
func (a *Attempt) add(d *trace.Request) {
	switch {
	case !d.IsWrite(), d.Recorded != nil, d.NotSent:
		return
	case d.Code == 0, d.Code == http.StatusConflict, d.Code == http.StatusNotFound,
		d.Code == http.StatusTooManyRequests:
		a.Unanswered = true
		return
	}
	w := Write{Verb: d.Verb, Resource: d.Resource, Name: d.Name, Code: d.Code, Message: d.Message}
	if d.Group != "" {
		w.Resource += "." + d.Group
	}
	if d.Subresource != "" {
		w.Resource += "/" + d.Subresource
	}
	if d.GenerateName != "" {
		w.Name = d.GenerateName + "*"
	}
	if d.Code >= http.StatusBadRequest && w.Message == "" {
		w.Message = http.StatusText(d.Code)
	}
	w.NotPermitted = d.Code == http.StatusForbidden && isNotPermitted(w.Message)
	w.NotSupported = d.Code == http.StatusBadRequest && isNotSupported(w.Message)
	alike := func(known Write) bool {
		return known.Verb == w.Verb && known.Resource == w.Resource && known.Message == w.Message &&
			(w.Verb == "create" || known.Name == w.Name)
	}
	if !slices.ContainsFunc(a.Writes, alike) {
		a.Writes = append(a.Writes, w)
	}
}
