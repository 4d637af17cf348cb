package timeline

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// ReadyCause is why a workload had to become ready.
type ReadyCause string

// The causes.
const (
	// ReadyCreated means that it was created, ReadySpecChanged that its generation changed, ReadyLost that it was ready
	// and is not any more, ReadyExisting that it was not when the recording began.
	ReadyCreated     ReadyCause = "Created"
	ReadySpecChanged ReadyCause = "SpecChanged"
	ReadyLost        ReadyCause = "Lost"
	ReadyExisting    ReadyCause = "Existing"
)

// Readiness is a time in which a workload was not ready.
type Readiness struct {
	Object Object `json:"object"`
	// Cause is Created, SpecChanged, Lost or Existing.
	Cause ReadyCause `json:"cause"`
	// Number and Since are of the record by which it began.
	Number int64     `json:"number"`
	Since  time.Time `json:"since,omitzero"`
	// Generation is that of the object then.
	Generation *int64 `json:"generation,omitempty"`
	// Ready is true if it became ready before the recording ended, and Deleted if it was deleted before that.
	Ready   bool `json:"ready"`
	Deleted bool `json:"deleted,omitempty"`
	// Took is how long it took: until it was ready, deleted or changed again, or until the end of the recording.
	Took trace.Duration `json:"took,omitempty"`
	// Idle is the longest time in it without progress, that is without a change of its status or its numbers. IdleSince
	// is when that began, and Stuck what its status was.
	Idle      trace.Duration `json:"idle,omitempty"`
	IdleSince time.Time      `json:"idleSince,omitzero"`
	Stuck     string         `json:"stuck,omitempty"`
	// Superseded is true if it ended by another change of the spec.
	Superseded bool `json:"superseded,omitempty"`
}

// isWorkload reports whether an entry is of an object whose readiness is of interest by itself: a workload, a claim or
// a custom resource that no other object manages.
func isWorkload(e *Entry) bool {
	if e.Type == Deleted || e.stream == nil {
		return false
	}
	switch e.stream.Group {
	case "apps":
		return e.stream.Kind != "ControllerRevision" && !isManaged(e.raw)
	case "batch":
		return e.stream.Kind == "Job" && !isManaged(e.raw)
	case "":
		return slices.Contains([]string{"Pod", "ReplicationController", "PersistentVolumeClaim"}, e.stream.Kind) &&
			!isManaged(e.raw)
	}
	custom := strings.Contains(e.stream.Group, ".") && !strings.HasSuffix(e.stream.Group, ".k8s.io")
	return custom && rawjson.ValueAt(e.raw, "status") != nil && !isManaged(e.raw)
}

// isManaged reports whether an object has an owner that is its controller.
func isManaged(raw []byte) bool {
	return slices.ContainsFunc(ownersOf(raw), func(o Owner) bool { return o.Controller })
}

// readiness follows the status of workloads.
type readiness struct {
	open map[objectKey]*waiting
	done []Readiness
}

// waiting is a workload. It is not ready if since is not nil.
type waiting struct {
	since *Readiness
	// generation is the last that was seen; 0 if it has none.
	generation int64
	progress   string    // what counts as progress if it changes
	at         time.Time // of the last progress
	reason     string
}

func newReadiness() readiness { return readiness{open: map[objectKey]*waiting{}} }

// maxReadiness bounds the times that are kept.
const maxReadiness = 10_000

// add takes the status of an entry into account.
func (r *readiness) add(key objectKey, e *Entry) {
	w := r.open[key]
	if e.Type == Deleted {
		if w != nil && w.since != nil {
			w.since.Deleted = true
			r.end(w, e.Time)
		}
		delete(r.open, key)
		return
	}
	if e.Change == nil || e.Change.Status == nil {
		return
	}
	generation := int64(0)
	if e.Change.Generation != nil {
		generation = *e.Change.Generation
	}
	cause := ReadyLost
	switch {
	case w == nil && e.Type == Existing:
		cause = ReadyExisting
	case w == nil || e.Type == Added:
		cause = ReadyCreated
	case generation != w.generation:
		cause = ReadySpecChanged
	}
	if w == nil {
		w = &waiting{}
		r.open[key] = w
	}
	if w.since != nil && cause == ReadySpecChanged {
		w.since.Superseded = true
		r.end(w, e.Time)
	}
	w.generation = generation
	status := e.Change.Status
	// A new object, or a new spec, is not ready before its controller has seen it, even if it looks like it.
	unseen := cause == ReadySpecChanged && status.Current() && !observed(e.Change)
	switch ready := status.Current() && !unseen; {
	case !ready && w.since == nil:
		w.since = &Readiness{
			Object: *e.Object, Cause: cause, Number: e.Number, Since: e.Time, Generation: e.Change.Generation,
		}
		w.at, w.progress, w.reason = e.Time, progressOf(e.Change), stuckText(status)
	case !ready:
		if p := progressOf(e.Change); p != w.progress {
			w.idle(e.Time)
			w.progress, w.reason = p, stuckText(status)
		}
	case w.since != nil:
		w.since.Ready = true
		r.end(w, e.Time)
	}
}

// observed reports whether the controller has seen the generation; true for kinds that do not report it.
func observed(c *ObjectChange) bool {
	return c.Generation == nil || c.ObservedGeneration == nil || *c.ObservedGeneration >= *c.Generation
}

func stuckText(s *inspect.Status) string {
	if s.Reason == "" {
		return s.Status
	}
	return s.Status + ": " + s.Reason
}

// progressOf returns a text that changes when the workload makes progress.
func progressOf(c *ObjectChange) string {
	var out strings.Builder
	out.WriteString(stuckText(c.Status))
	if c.Replicas != nil {
		for _, n := range []*int64{c.Replicas.Current, c.Replicas.Updated, c.Replicas.Ready, c.Replicas.Available} {
			out.WriteString("/")
			if n != nil {
				out.WriteString(strconv.FormatInt(*n, 10))
			}
		}
	}
	return out.String()
}

// idle ends a time without progress.
func (w *waiting) idle(now time.Time) {
	if d := trace.Duration(now.Sub(w.at)); d > w.since.Idle {
		w.since.Idle, w.since.IdleSince, w.since.Stuck = d, w.at, w.reason
	}
	w.at = now
}

// end ends the time of a workload that was not ready.
func (r *readiness) end(w *waiting, now time.Time) {
	w.idle(now)
	w.since.Took = trace.Duration(now.Sub(w.since.Since))
	if len(r.done) < maxReadiness {
		r.done = append(r.done, *w.since)
	}
	w.since = nil
}

// list returns all times: those that have not ended first, then the longest. last is when the recording ended.
func (r *readiness) list(last time.Time) []Readiness {
	out := slices.Clone(r.done)
	for _, w := range r.open {
		if w.since == nil {
			continue
		}
		one := *w.since
		ended := waiting{since: &one, at: w.at, reason: w.reason}
		ended.idle(last)
		one.Took = trace.Duration(last.Sub(one.Since))
		one.Stuck = w.reason
		out = append(out, one)
	}
	rank := func(r Readiness) int {
		if r.Ready || r.Deleted || r.Superseded {
			return 1
		}
		return 0
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Took, a.Took), cmp.Compare(a.Number, b.Number),
			a.Object.Compare(&b.Object)) < 0
	})
	out, _ = cut(out)
	return out
}
