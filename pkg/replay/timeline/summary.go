package timeline

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Summary is what the entries of a timeline have in common. Its lists begin with what matters most.
type Summary struct {
	// First and Last are the times of the first and the last entry. Absent if there are no times.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Changes counts the changes of objects, without those that only are heartbeats of Nodes and Leases.
	Changes int `json:"changes"`
	// Relisted counts those that were found by listing again.
	Relisted int `json:"relisted,omitempty"`
	// Kinds are the kinds with their numbers, by the number of changes.
	Kinds []KindCount `json:"kinds,omitempty"`
	// Objects are those that changed most. MoreObjects counts those that are left out.
	Objects     []Churn `json:"objects,omitempty"`
	MoreObjects int     `json:"moreObjects,omitempty"`
	// Writers are those that wrote most. MoreWriters counts those that are left out.
	Writers     []WriterChurn `json:"writers,omitempty"`
	MoreWriters int           `json:"moreWriters,omitempty"`
	// Readiness is how long workloads took until they were ready: those that are not first, then the slowest.
	Readiness []Readiness `json:"readiness,omitempty"`
	// Findings are what repeats without progress.
	Findings []findings.Finding `json:"findings,omitempty"`
	// Flapping are conditions and fields whose values alternate.
	Flapping []findings.Flapping `json:"flapping,omitempty"`
	// Rewrites are objects that were written although nothing changed but the order of lists, or times.
	Rewrites []findings.Rewrites `json:"rewrites,omitempty"`
	// Recreations are objects that were made and deleted again and again.
	Recreations []Recreation `json:"recreations,omitempty"`
	// Restarts are containers that were restarted.
	Restarts []Restarts `json:"restarts,omitempty"`
	// Events are the Events by reason, warnings first.
	Events []EventCount `json:"events,omitempty"`
	// Controllers are those of the session whose trace is in the recording.
	Controllers []ControllerCount `json:"controllers,omitempty"`
	// Gaps counts the gaps, of which LossyGaps may have lost events. GapTime is how long they were together.
	Gaps      int            `json:"gaps,omitempty"`
	LossyGaps int            `json:"lossyGaps,omitempty"`
	GapTime   trace.Duration `json:"gapTime,omitempty"`
	// Errors counts the errors that the server sent.
	Errors int `json:"errors,omitempty"`
	// Torn is why the recording was cut off.
	Torn string `json:"torn,omitempty"`
}

// KindCount has the numbers of a kind.
type KindCount struct {
	// Resource is its name with the group, such as deployments.apps.
	Resource string `json:"resource"`
	// Existing counts the objects of the first list, the others count watch events.
	Existing int `json:"existing"`
	Added    int `json:"added"`
	Modified int `json:"modified"`
	Deleted  int `json:"deleted"`
}

// Churn is how often an object changed.
type Churn struct {
	Object  Object `json:"object"`
	Changes int    `json:"changes"`
	// SpecChanges counts those that changed the generation; of kinds without, what is neither metadata nor status.
	SpecChanges int `json:"specChanges,omitempty"`
	// PerMinute is over the whole time. Absent if there are no times.
	PerMinute float64 `json:"perMinute,omitempty"`
}

// WriterChurn is how often a writer wrote.
type WriterChurn struct {
	// Name is that of the controller, or of the field manager; empty for changes of which the writer is not known.
	Name string `json:"name,omitempty"`
	// Changes counts changes, Objects the objects changed.
	Changes int `json:"changes"`
	Objects int `json:"objects"`
	// PerMinute is over the whole time. Absent if there are no times.
	PerMinute float64 `json:"perMinute,omitempty"`
}

// Restarts are those of a container.
type Restarts struct {
	Object    Object `json:"object"`
	Container string `json:"container"`
	Count     int64  `json:"count"`
	// Reason is why it ended last, ExitCode how.
	Reason   string `json:"reason,omitempty"`
	ExitCode *int64 `json:"exitCode,omitempty"`
}

// EventCount counts Events with the same reason.
type EventCount struct {
	Type    string `json:"type,omitempty"`
	Reason  string `json:"reason"`
	By      string `json:"by,omitempty"`
	Count   int64  `json:"count"`
	Objects int    `json:"objects"`
	// Last is the last message.
	Last string `json:"last,omitempty"`
}

// ControllerCount counts the reconciles of a controller.
type ControllerCount struct {
	Controller string `json:"controller"`
	Reconciles int    `json:"reconciles"`
	Failed     int    `json:"failed,omitempty"`
	// PutOff counts those that Reconcile.PutOff is set of.
	PutOff  int `json:"putOff,omitempty"`
	Writes  int `json:"writes,omitempty"`
	Refused int `json:"refused,omitempty"`
}

// objectKey identifies an object over all streams.
type objectKey struct{ kind, namespace, name string }

func keyOf(o *Object) objectKey { return objectKey{o.Kind + "." + o.APIVersion, o.Namespace, o.Name} }

// Summarizer makes a Summary of entries. Its memory grows with the number of objects. It must not be used
// concurrently.
type Summarizer struct {
	out         Summary
	kinds       map[string]*KindCount
	objects     map[objectKey]*Churn
	writers     map[string]*writerObjects
	events      map[EventCount]*eventObjects // the keys have type, reason and by
	restarts    map[restartKey]*Restarts
	controllers map[string]*ControllerCount
	detector    *findings.Detector
	narrow      bool
	recreations recreations
	readiness   readiness
}

type writerObjects struct {
	changes int
	objects map[objectKey]bool
}

// eventObjects counts repetitions by Event: each has its own count, which grows.
type eventObjects struct {
	counts  map[objectKey]int64
	objects map[objectKey]bool
	last    string
}

type restartKey struct {
	object    objectKey
	container string
}

// NewSummarizer returns a Summarizer without entries. It reports findings by the limits.
func NewSummarizer(limits findings.Limits) *Summarizer {
	return &Summarizer{
		kinds: map[string]*KindCount{}, objects: map[objectKey]*Churn{}, writers: map[string]*writerObjects{},
		events: map[EventCount]*eventObjects{}, restarts: map[restartKey]*Restarts{},
		controllers: map[string]*ControllerCount{}, recreations: newRecreations(),
		readiness: newReadiness(), detector: findings.NewRecordingDetector(limits),
	}
}

// Options returns the options of a Timeline that a Summarizer needs, with a filter. If that is narrow, findings about
// keys are left out: they are those of the whole session.
func (s *Summarizer) Options(filter Filter) Options {
	s.narrow = filter.Narrow() || len(filter.Types) > 0
	return Options{Filter: filter, Existing: true, Status: isWorkload, Trace: s.detector.Record}
}

// Detect adds an entry to what findings are made of, and to nothing else. Add does so, too.
func (s *Summarizer) Detect(e *Entry) {
	switch {
	case e.Change == nil || e.stream == nil:
	case e.Type == Modified:
		reconcile := uint64(0)
		if e.Writer != nil {
			reconcile = e.Writer.Reconcile
		}
		s.detector.Change(*e.Object, e.Change.Fields, e.Change.Only, e.Writer.Name(), reconcile, e.Time)
	case e.Type == Deleted:
		s.detector.Deleted(*e.Object)
	}
}

// Findings returns those so far.
func (s *Summarizer) Findings() []findings.Finding {
	return slices.DeleteFunc(s.detector.Findings(), func(f findings.Finding) bool {
		return s.narrow && (f.Controller != "" || f.ItsOwn)
	})
}

// Add adds an entry.
func (s *Summarizer) Add(e *Entry) {
	if !e.Time.IsZero() {
		if s.out.First.IsZero() {
			s.out.First = e.Time
		}
		s.out.Last = e.Time
	}
	switch e.Type {
	case Added, Modified, Deleted, Existing:
		s.change(e)
	case Reported:
		s.event(e)
	case Reconciled:
		s.reconcile(e)
	case Gap:
		s.gap(e)
	case Failed:
		s.out.Errors++
	case Torn:
		s.out.Torn = e.Message
	case Listed, Begin, End:
	}
}

func (s *Summarizer) change(e *Entry) {
	if e.Change == nil || e.stream == nil {
		return
	}
	resource := e.stream.GroupResource().String()
	kind := s.kinds[resource]
	if kind == nil {
		kind = &KindCount{Resource: resource}
		s.kinds[resource] = kind
	}
	key := keyOf(e.Object)
	s.readiness.add(key, e)
	s.recreations.add(key, e)
	switch e.Type {
	case Existing:
		kind.Existing++
		return
	case Added:
		kind.Added++
	case Deleted:
		kind.Deleted++
	default:
		kind.Modified++
	}
	s.out.Changes++
	if e.Relisted {
		s.out.Relisted++
	}
	if s.objects[key] == nil {
		s.objects[key] = &Churn{Object: *e.Object}
	}
	s.objects[key].Changes++
	if e.changesSpec() {
		s.objects[key].SpecChanges++
	}
	writer := s.writers[e.Writer.Name()]
	if writer == nil {
		writer = &writerObjects{objects: map[objectKey]bool{}}
		s.writers[e.Writer.Name()] = writer
	}
	writer.changes++
	writer.objects[key] = true
	s.Detect(e)
	s.addRestarts(key, e)
}

// changesSpec reports whether a change is one of the spec: see Churn.SpecChanges.
func (e *Entry) changesSpec() bool {
	return e.Type == Modified && slices.ContainsFunc(e.Change.Fields, func(c fields.Change) bool {
		if e.Change.Generation != nil {
			return c.Path == "metadata.generation"
		}
		return !fields.IsPart(c.Path, "metadata") && !fields.IsPart(c.Path, "status")
	})
}

func (s *Summarizer) addRestarts(object objectKey, e *Entry) {
	for i := range e.Change.Containers {
		c := &e.Change.Containers[i]
		if c.Restarted == 0 {
			continue
		}
		key := restartKey{object, c.Name}
		if s.restarts[key] == nil {
			s.restarts[key] = &Restarts{Object: *e.Object, Container: c.Name}
		}
		s.restarts[key].Count += c.Restarted
		s.restarts[key].Reason, s.restarts[key].ExitCode = c.LastReason, c.ExitCode
	}
}

func (s *Summarizer) event(e *Entry) {
	if e.Event == nil {
		return
	}
	kind := EventCount{Type: e.Event.Type, Reason: e.Event.Reason, By: e.Event.By}
	count := s.events[kind]
	if count == nil {
		count = &eventObjects{counts: map[objectKey]int64{}, objects: map[objectKey]bool{}}
		s.events[kind] = count
	}
	count.counts[objectKey{namespace: e.Object.Namespace, name: e.Event.Name}] = e.Event.Count
	count.objects[keyOf(e.Object)] = true
	count.last = e.Event.Message
}

func (s *Summarizer) reconcile(e *Entry) {
	r := e.Reconcile
	if r == nil {
		return
	}
	c := s.controllers[r.Controller]
	if c == nil {
		c = &ControllerCount{Controller: r.Controller}
		s.controllers[r.Controller] = c
	}
	c.Reconciles++
	if r.PutOff != "" {
		c.PutOff++
	} else if r.Outcome != string(trace.Done) {
		c.Failed++
	}
	for _, w := range r.Writes {
		if w.Failed() {
			c.Refused++
		} else {
			c.Writes++
		}
	}
}

// Failed reports whether the write was refused or has no answer.
func (w *Write) Failed() bool { return w.Code == 0 || w.Code >= 400 }

func (s *Summarizer) gap(e *Entry) {
	s.out.Gaps++
	if e.Gap == nil {
		return
	}
	if !e.Gap.Complete {
		s.out.LossyGaps++
	}
	if !e.Gap.Since.IsZero() && e.Time.After(e.Gap.Since) {
		s.out.GapTime += trace.Duration(e.Time.Sub(e.Gap.Since))
	}
}

// leastRewrites is how often an object must be rewritten to be listed.
const leastRewrites = 3

// MaxListed bounds the objects, writers and Events of a Summary.
const MaxListed = 100

// Summary returns the summary of the entries that were added.
func (s *Summarizer) Summary() *Summary {
	out := s.out
	minutes := out.Last.Sub(out.First).Minutes()
	rate := func(n int) float64 {
		if minutes <= 0 {
			return 0
		}
		return float64(int(float64(n)/minutes*10+0.5)) / 10
	}
	for _, k := range s.kinds {
		out.Kinds = append(out.Kinds, *k)
	}
	sort.Slice(out.Kinds, func(i, j int) bool {
		a, b := &out.Kinds[i], &out.Kinds[j]
		return cmp.Or(cmp.Compare(b.changes(), a.changes()), cmp.Compare(a.Resource, b.Resource)) < 0
	})
	for _, o := range s.objects {
		o.PerMinute = rate(o.Changes)
		out.Objects = append(out.Objects, *o)
	}
	sort.Slice(out.Objects, func(i, j int) bool {
		a, b := &out.Objects[i], &out.Objects[j]
		return cmp.Or(cmp.Compare(b.Changes, a.Changes), a.Object.Compare(&b.Object)) < 0
	})
	out.Objects, out.MoreObjects = cut(out.Objects)
	for name, w := range s.writers {
		out.Writers = append(out.Writers, WriterChurn{name, w.changes, len(w.objects), rate(w.changes)})
	}
	sort.Slice(out.Writers, func(i, j int) bool {
		a, b := &out.Writers[i], &out.Writers[j]
		return cmp.Or(cmp.Compare(b.Changes, a.Changes), cmp.Compare(a.Name, b.Name)) < 0
	})
	out.Writers, out.MoreWriters = cut(out.Writers)
	out.Events = s.eventCounts()
	out.Readiness = s.readiness.list(out.Last)
	out.Findings = s.Findings()
	out.Flapping, _ = cut(s.detector.Flapping())
	out.Rewrites, _ = cut(s.detector.Rewritten(leastRewrites))
	for i := range out.Rewrites {
		out.Rewrites[i].PerMinute = rate(out.Rewrites[i].Writes)
	}
	out.Recreations = s.recreations.list(rate)
	for _, r := range s.restarts {
		out.Restarts = append(out.Restarts, *r)
	}
	sort.Slice(out.Restarts, func(i, j int) bool {
		a, b := &out.Restarts[i], &out.Restarts[j]
		return cmp.Or(cmp.Compare(b.Count, a.Count), a.Object.Compare(&b.Object),
			cmp.Compare(a.Container, b.Container)) < 0
	})
	for _, c := range s.controllers {
		out.Controllers = append(out.Controllers, *c)
	}
	sort.Slice(out.Controllers, func(i, j int) bool {
		return out.Controllers[i].Controller < out.Controllers[j].Controller
	})
	return &out
}

func (s *Summarizer) eventCounts() []EventCount {
	var out []EventCount
	for kind, count := range s.events {
		for _, n := range count.counts {
			kind.Count += n
		}
		kind.Objects, kind.Last = len(count.objects), count.last
		out = append(out, kind)
	}
	warning := func(e EventCount) int {
		if e.Type == "Normal" {
			return 1
		}
		return 0
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return cmp.Or(cmp.Compare(warning(a), warning(b)), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.By, b.By), cmp.Compare(a.Type, b.Type)) < 0
	})
	out, _ = cut(out)
	return out
}

func (k *KindCount) changes() int { return k.Added + k.Modified + k.Deleted }

// cut returns the first MaxListed of a list, and how many are left out.
func cut[T any](list []T) ([]T, int) {
	n := min(len(list), MaxListed)
	return list[:n], len(list) - n
}
