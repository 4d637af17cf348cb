package findings

import (
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// queueKey is a key of a controller's queue.
type queueKey struct{ controller, queue, key string }

// keyState is what is known of a key. Each series is of reconciles in a row, and begins with the one that is counted
// first.
type keyState struct {
	reconciles []trace.ReconcileID // the last ones
	wrote      series              // in reaction to its own writes alone
	failed     series
	putOff     series
	idle       series // that came back by themselves and wrote nothing
	waited     series // for too long
}

// maxReconciles is how many reconciles of a key are remembered: reactions to older ones are not known as such.
const maxReconciles = 8

// series are reconciles in a row.
type series struct {
	n        int
	first    time.Time
	reported bool
}

// add counts a reconcile, and returns how many there are.
func (s *series) add(at time.Time) int {
	if s.n == 0 {
		s.first = at
	}
	s.n++
	return s.n
}

// end ends the series.
func (s *series) end() { *s = series{} }

// running is a reconcile that has not ended.
type running struct {
	key      queueKey
	began    time.Time
	depth    int  // how many reconciles led to it, one after the other, since the last change from outside
	ownWrite bool // nothing but writes of earlier reconciles of its key led to it
	byItself bool // nothing led to it but that an earlier one of its key wanted it
	wrote    *trace.Request
	writes   int
	requests []*trace.Request // that were refused
}

// start takes the beginning of a reconcile.
func (d *Detector) start(e *trace.Event, start *trace.Start) {
	r := &running{key: queueKey{e.Controller, start.Queue, e.Key}, began: e.Time}
	d.open.Put(e.Reconcile, r)
	k := d.key(r.key)
	if len(start.Causes) > 0 && start.MoreCauses == 0 {
		r.ownWrite, r.byItself = true, true
	}
	initial, outside := len(start.Causes) > 0, len(start.Causes) == 0
	for _, c := range start.Causes {
		of := c.Reconcile
		if c.Watch != nil && c.Type == trace.CauseWatch {
			of = c.Watch.WrittenBy
			r.byItself = false
		} else {
			r.ownWrite = false
		}
		if of == 0 && c.Watch != nil {
			of = c.Watch.WrittenBy
		}
		before, known := d.depths.Get(of)
		if outside = outside || !known; known && (r.depth == 0 || before+1 < r.depth) {
			r.depth = before + 1
		}
		if of == 0 || !slices.Contains(k.reconciles, of) || c.Type == trace.CauseRetry {
			r.ownWrite, r.byItself = false, false
		}
		initial = initial && c.Watch != nil && c.Watch.Initial
	}
	if outside {
		r.depth = 0
	}
	d.depths.Put(e.Reconcile, r.depth)
	if k.reconciles = append(k.reconciles, e.Reconcile); len(k.reconciles) > maxReconciles {
		k.reconciles = k.reconciles[1:]
	}
	wait := time.Duration(start.QueueWait)
	if wait >= d.limits.seconds(Starving) && !initial {
		k.waited.add(e.Time.Add(-wait))
		d.report(Starving, r.key, &k.waited, e)
	}
}

func (d *Detector) key(key queueKey) *keyState {
	k, ok := d.keys.Get(key)
	if !ok {
		k = &keyState{}
		d.keys.Put(key, k)
	}
	return k
}

// report adds a series of a key to the finding of its controller, which is returned.
func (d *Detector) report(of Type, key queueKey, s *series, e *trace.Event) *Finding {
	f := d.finding(findingKey{of: of, controller: key.controller}, s.first, e.Time)
	f.addReconcile(uint64(e.Reconcile))
	if s.reported {
		f.Count++
		return f
	}
	s.reported = true
	f.Count += s.n
	switch {
	case slices.Contains(f.Keys, key.key):
	case len(f.Keys) < maxListed:
		f.Keys = append(f.Keys, key.key)
	default:
		f.MoreKeys++
	}
	return f
}

// request takes a write: whether it has changed anything, and for the reconcile that it belongs to.
func (d *Detector) request(e *trace.Event, r *trace.Request) {
	if !r.IsWrite() || r.Recorded != nil || r.DryRun || r.NotSent {
		return
	}
	run, _ := d.open.Get(e.Reconcile)
	if r.Failed() {
		if run != nil {
			run.requests = append(run.requests, r)
		}
		return
	}
	if d.isNoOp(e, r) {
		return
	}
	if run != nil {
		run.wrote, run.writes = r, run.writes+1
	}
}

// isNoOp reports whether a write has left the object in the version that it had before, and counts it then. One that
// removes the last finalizer of an object that is being deleted has its version, too.
func (d *Detector) isNoOp(e *trace.Event, r *trace.Request) bool {
	if r.Name == "" || r.ResourceVersion == "" || r.Verb != "update" && r.Verb != "patch" {
		return false
	}
	object := ObjectOf(&r.Object)
	s := d.state(object)
	same := s.version == r.ResourceVersion && s.seen.Before(e.Time.Add(-time.Duration(r.Latency)))
	s.sees(r.ResourceVersion, e.Time)
	if !same || len(r.Change.Fields()) > 0 {
		return false
	}
	resource := r.Resource
	if r.Group != "" {
		resource += "." + r.Group
	}
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	key := findingKey{of: NoOpWrite, controller: e.Controller, what: r.Verb + " " + resource}
	n, _ := d.noOps.Get(key)
	n.add(e.Time)
	d.noOps.Put(key, n)
	if n.n >= d.limits.of(NoOpWrite) {
		f := d.finding(key, n.first, e.Time)
		f.Object, f.Verb, f.Resource, f.Count = &object, r.Verb, resource, n.n
		f.addReconcile(uint64(e.Reconcile))
	}
	return true
}

// end takes the end of a reconcile.
func (d *Detector) end(e *trace.Event, end *trace.End) {
	r, ok := d.open.Get(e.Reconcile)
	if !ok {
		return
	}
	d.open.Delete(e.Reconcile)
	k := d.key(r.key)
	stale, isStale := trace.StaleCache(end.Error)
	failed := end.Outcome != trace.Done && !isStale && end.ConflictOf(r.requests) == nil

	if !failed {
		k.failed.end()
	} else if k.failed.add(r.began) >= d.limits.of(Retries) {
		d.report(Retries, r.key, &k.failed, e).Message = end.Error
	}
	switch {
	case !isStale:
		k.putOff.end()
	case end.PutOff == "": // by the same state of the cache
		if k.putOff.add(r.began); e.Time.Sub(k.putOff.first) >= d.limits.seconds(PutOff) {
			d.report(PutOff, r.key, &k.putOff, e).Message = stale
		}
	}
	if !r.byItself || end.Outcome != trace.Done || r.writes > 0 {
		k.idle.end()
	} else if n := k.idle.add(r.began); n >= d.limits.of(Requeue) && isQuick(k.idle.first, e.Time, n, requeueInterval) {
		d.report(Requeue, r.key, &k.idle, e)
	}
	d.endOfWrites(k, r, e)
}

// endOfWrites counts a reconcile that wrote in reaction to nothing but what earlier ones of its key wrote.
func (d *Detector) endOfWrites(k *keyState, r *running, e *trace.Event) {
	if r.writes == 0 || !r.ownWrite {
		k.wrote.end()
	}
	if r.writes == 0 {
		return
	}
	n := k.wrote.add(r.began)
	if n < d.limits.of(Loop) || !isQuick(k.wrote.first, e.Time, n, loopInterval) {
		return
	}
	object := ObjectOf(&r.wrote.Object)
	f := d.finding(findingKey{of: Loop, object: keyOf(object)}, k.wrote.first, e.Time)
	f.Object, f.Controller, f.Count, f.ItsOwn = &object, e.Controller, max(f.Count, n), true
	f.Writers = AddName(f.Writers, e.Controller)
	if len(f.Keys) == 0 {
		f.Keys = []string{r.key.key}
	}
	f.addReconcile(uint64(e.Reconcile))
	if len(f.Fields) == 0 && f.Only == "" {
		f.Changed = nil
		for _, c := range r.wrote.Change.Fields() {
			if c.Path != "metadata.generation" {
				f.Changed = AddName(f.Changed, c.Path)
			}
		}
	}
}
