package findings

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// queueKey is a key of a controller's queue.
type queueKey struct{ controller, queue, key string }

// keyState is what is known of a key.
type keyState struct {
	reconciles []trace.ReconcileID // the last ones
	wrote      series              // in reaction to its own writes alone, an object
	object     Object              // that one
	failed     series
	putOff     series
	idle       series // that came back by themselves and wrote nothing
	waited     series // for too long
	counted    map[Type]bool
}

// maxReconciles is how many reconciles of a key are remembered: reactions to older ones are not known as such.
const maxReconciles = 8

// requeueGap and noOpGap are the longest times between two requeues, and two writes that change nothing, in a row.
// Controllers that look at metrics, or at something outside, do so less often.
const (
	requeueGap = 3 * time.Second / 2
	noOpGap    = time.Minute
)

// series is how often something happened in a row. The zero value is none.
type series struct {
	n           int
	first, last time.Time
	reported    bool
}

// add counts one more, or begins anew if the last was longer ago than gap, unless that is 0. It returns how many there
// are.
func (s *series) add(at time.Time, gap time.Duration) int {
	if s.n > 0 && gap > 0 && at.Sub(s.last) > gap {
		s.end()
	}
	if s.n == 0 {
		s.first = at
	}
	s.n++
	s.last = at
	return s.n
}

// end ends the series.
func (s *series) end() { *s = series{} }

// running is a reconcile that has not ended.
type running struct {
	key      queueKey
	began    time.Time
	depth    int              // how many reconciles led to it, one after the other, since the last change from outside
	ownWrite bool             // nothing but writes of earlier reconciles of its key led to it
	byItself bool             // nothing led to it but that an earlier one of its key wanted it
	wrote    *trace.Request   // the last update or patch
	writes   int              // but for those that changed nothing
	refused  []*trace.Request // by conflicts, the last ones
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
		k.waited.add(e.Time.Add(-wait), 0)
		d.report(Starving, r.key, k, &k.waited, e)
	}
}

func (d *Detector) key(key queueKey) *keyState {
	k, ok := d.keys.Get(key)
	if !ok {
		k = &keyState{}
	}
	d.keys.Put(key, k)
	return k
}

// report adds a series of a key to the finding of its controller, which is returned.
func (d *Detector) report(of Type, key queueKey, k *keyState, s *series, e *trace.Event) *Finding {
	f := d.finding(findingKey{of: of, controller: key.controller}, s.first, e.Time)
	f.addReconcile(uint64(e.Reconcile))
	if s.reported {
		f.Count++
		return f
	}
	s.reported = true
	f.Count += s.n
	switch {
	case k.counted[of]:
	case len(f.Keys) < maxListed:
		f.Keys = append(f.Keys, key.key)
	default:
		f.MoreKeys++
	}
	if k.counted == nil {
		k.counted = map[Type]bool{}
	}
	k.counted[of] = true
	return f
}

// request takes a write: whether it has changed anything, and for the reconcile that it belongs to.
func (d *Detector) request(e *trace.Event, r *trace.Request) {
	if !r.IsWrite() || r.Recorded != nil || r.DryRun || r.NotSent {
		return
	}
	run, _ := d.open.Get(e.Reconcile)
	switch {
	case r.Failed():
		if run != nil && r.IsConflict() {
			run.refused = append(run.refused[max(0, len(run.refused)-maxReconciles+1):], r)
		}
	case d.isNoOp(e, r) || run == nil:
	case r.Verb == "update" || r.Verb == "patch":
		run.wrote, run.writes = r, run.writes+1
	default:
		run.writes++
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
	key := findingKey{of: NoOpWrite, controller: cmp.Or(e.Controller, r.User), what: r.Verb + " " + resource}
	if key.controller == "" {
		return true
	}
	n, _ := d.noOps.Get(key)
	n.add(e.Time, noOpGap)
	d.noOps.Put(key, n)
	if n.n >= d.limits.of(NoOpWrite) {
		f := d.finding(key, n.first, e.Time)
		f.Object, f.Verb, f.Resource, f.Count = &object, r.Verb, resource, max(f.Count, n.n)
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
	failed := end.Outcome != trace.Done && !isStale && end.ConflictOf(r.refused) == nil
	if end.Outcome == trace.Done { // what is put off, or meets a conflict, has not succeeded
		k.failed.end()
	} else if failed && k.failed.add(r.began, 0) >= d.limits.of(Retries) {
		d.report(Retries, r.key, k, &k.failed, e).Message = end.Error
	}
	if !isStale || end.PutOff != "" { // else by the same state of the cache
		k.putOff.end()
	} else if k.putOff.add(r.began, 0); e.Time.Sub(k.putOff.first) >= d.limits.seconds(PutOff) {
		d.report(PutOff, r.key, k, &k.putOff, e).Message = stale
	}
	if !r.byItself || end.Outcome != trace.Done || r.writes+end.Writes+end.Refused > 0 {
		k.idle.end()
	} else if k.idle.add(r.began, requeueGap) >= d.limits.of(Requeue) {
		d.report(Requeue, r.key, k, &k.idle, e)
	}
	d.endOfWrites(k, r, e)
}

// endOfWrites counts a reconcile that wrote in reaction to nothing but what earlier ones of its key wrote.
func (d *Detector) endOfWrites(k *keyState, r *running, e *trace.Event) {
	if r.wrote == nil {
		k.wrote.end()
		return
	}
	object := ObjectOf(&r.wrote.Object)
	if !r.ownWrite || object != k.object {
		k.wrote.end()
		k.object = object
	}
	if k.wrote.add(r.began, loopGap) < d.limits.of(Loop) {
		return
	}
	f := d.repeats(Loop, &objectState{Object: object}, e.Controller, k.wrote, uint64(e.Reconcile), e.Time)
	f.Controller, f.ItsOwn, f.Keys = e.Controller, true, []string{r.key.key}
	f.Writers = AddName(f.Writers, e.Controller)
	f.Changed = nil
	for _, c := range r.wrote.Change.Fields() {
		if c.Path != "metadata.generation" {
			f.Changed = AddName(f.Changed, c.Path)
		}
	}
}
