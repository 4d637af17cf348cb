package findings

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Detector finds findings in a trace, of which it is a sink, or in changes that it is given. What it does not see again
// for long it forgets. All its methods may be called concurrently.
type Detector struct {
	limits      Limits
	found       func(Finding)
	isRecording bool // changes of objects do not come from the trace

	mu      sync.Mutex // guards all below
	objects recent.Map[objectKey, *objectState]
	keys    recent.Map[queueKey, *keyState]
	noOps   recent.Map[findingKey, series]
	// contested are when a field of an object in a namespace last came back by another writer than the one before.
	contested recent.Map[string, time.Time]
	open      recent.Map[trace.ReconcileID, *running]
	depths    recent.Map[trace.ReconcileID, int] // see running.depth
	findings  map[findingKey]*Finding
	added     []*Finding // that found was not called with
}

var _ trace.Sink = (*Detector)(nil)

// objectKey identifies an object of any version.
type objectKey struct{ group, kind, namespace, name string }

// objectState is what is known of an object.
type objectState struct {
	Object
	version     string    // the last that was seen
	seen        time.Time // when that was first
	judged      []string  // the last versions whose change was judged
	alternating alternating
	rewritten   map[Only]*rewritten
}

// findingKey is what there is one finding of.
type findingKey struct {
	of         Type
	object     objectKey
	controller string
	what       string // a field, a writer, what alone is written, or a verb and a resource
}

// maxFindings bounds the findings: what is found later is left out.
const maxFindings = 1000

// objectsKept is how many objects a session remembers that change, or twice as many.
const objectsKept = 4096

// NewDetector returns a Detector that has found nothing. It calls found, if that is not nil, with each finding when it
// is first found.
func NewDetector(limits Limits, found func(Finding)) *Detector {
	d := &Detector{limits: limits, found: found, findings: map[findingKey]*Finding{}}
	d.objects.Capacity = objectsKept
	return d
}

// NewRecordingDetector returns a Detector for a recording. It forgets no object, and takes the changes of objects from
// Change alone, not from a trace.
func NewRecordingDetector(limits Limits) *Detector {
	d := NewDetector(limits, nil)
	d.objects.Capacity, d.isRecording = math.MaxInt, true
	return d
}

// Findings returns what was found so far, sorted by type, and then the most frequent first.
func (d *Detector) Findings() []Finding {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Finding
	for f := range maps.Values(d.findings) {
		out = append(out, f.clone())
	}
	sort.Slice(out, func(i, j int) bool { return out[i].compare(&out[j]) < 0 })
	return out
}

// Flapping returns all fields that alternate, however rarely, the most frequent first.
func (d *Detector) Flapping() []Flapping {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Flapping
	for _, s := range d.objects.All() {
		for _, a := range s.alternating.list() {
			out = append(out, Flapping{s.Object, a})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return cmp.Or(cmp.Compare(b.Returns, a.Returns), a.Object.Compare(&b.Object), cmp.Compare(a.Field, b.Field)) < 0
	})
	return out
}

// Rewritten returns the objects that were written at least n times although only one thing differed, the most frequent
// first.
func (d *Detector) Rewritten(n int) []Rewrites {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Rewrites
	for _, s := range d.objects.All() {
		for _, r := range s.rewritten {
			if r.Writes >= n {
				out = append(out, r.Rewrites)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return cmp.Or(cmp.Compare(b.Writes, a.Writes), a.Object.Compare(&b.Object), cmp.Compare(a.Only, b.Only)) < 0
	})
	return out
}

// Record implements trace.Sink.
func (d *Detector) Record(e *trace.Event) {
	d.mu.Lock()
	switch detail := e.Detail.(type) {
	case *trace.Watch:
		if !d.isRecording {
			d.watch(e, detail)
		}
	case *trace.Start:
		d.start(e, detail)
	case *trace.Request:
		d.request(e, detail)
	case *trace.ClientRequest:
		d.request(&trace.Event{Time: e.Time, Controller: detail.Program}, &detail.Request)
		if !d.isRecording {
			d.clientWrite(e, detail)
		}
	case *trace.End:
		d.end(e, detail)
	}
	added := d.take()
	d.mu.Unlock()
	d.tell(added)
}

// Change takes the change of an object, by a writer whose name and reconcile may not be known: then they are empty and
// 0. only is what alone differs, as OnlyOf says.
func (d *Detector) Change(
	o Object, changes []fields.Change, only Only, writer string, reconcile uint64, at time.Time,
) {
	d.mu.Lock()
	d.change(d.state(o), changes, only, writer, reconcile, at)
	added := d.take()
	d.mu.Unlock()
	d.tell(added)
}

// Deleted takes the deletion of an object, of which only what repeats is remembered.
func (d *Detector) Deleted(o Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deleted(o)
}

func (d *Detector) deleted(o Object) {
	key := keyOf(o)
	s, ok := d.objects.Get(key)
	if !ok {
		return
	}
	if s.alternating.forget(); len(s.alternating)+len(s.rewritten) == 0 {
		d.objects.Delete(key)
	}
}

// take returns what was added, to tell it. d.mu must be held.
func (d *Detector) take() []Finding {
	var out []Finding
	for _, f := range d.added {
		out = append(out, f.clone())
	}
	d.added = nil
	return out
}

func (d *Detector) tell(added []Finding) {
	for _, f := range added {
		if d.found != nil {
			d.found(f)
		}
	}
}

// clone returns a copy that does not change.
func (f *Finding) clone() Finding {
	out := *f
	out.Keys, out.Reconciles, out.Writers = slices.Clone(f.Keys), slices.Clone(f.Reconciles), slices.Clone(f.Writers)
	out.Fields, out.Changed = slices.Clone(f.Fields), slices.Clone(f.Changed)
	return out
}

// keyOf returns the key of an object.
func keyOf(o Object) objectKey {
	version, _ := schema.ParseGroupVersion(o.APIVersion) // what is no version has no group
	return objectKey{version.Group, o.Kind, o.Namespace, o.Name}
}

// ObjectOf returns the name of an object in a trace.
func ObjectOf(o *trace.Object) Object {
	return Object{
		APIVersion: schema.GroupVersion{Group: o.Group, Version: o.Version}.String(), Kind: cmp.Or(o.Kind, o.Resource),
		Namespace: o.Namespace, Name: o.Name, UID: types.UID(o.UID),
	}
}

func (d *Detector) state(o Object) *objectState {
	key := keyOf(o)
	s, ok := d.objects.Get(key)
	if !ok {
		s = &objectState{Object: o, alternating: alternating{}}
	}
	d.objects.Put(key, s)
	return s
}

// watch takes a change that an informer has shown.
func (d *Detector) watch(e *trace.Event, w *trace.Watch) {
	object := ObjectOf(&w.Object)
	switch w.Event {
	case trace.Deleted:
		d.deleted(object)
		return
	case trace.Resync:
		return
	}
	s := d.state(object)
	s.sees(w.ResourceVersion, e.Time)
	if w.Event != trace.Modified || w.Change == nil {
		return
	}
	changes := w.Change.Fields()
	isOther := func(c fields.Change) bool { return !IsHeartbeat(c.Path) }
	if hasHeartbeats(object) && !slices.ContainsFunc(changes, isOther) {
		return // most events of a cluster are these, and to find out who wrote them takes longest
	}
	if !s.judges(w.ResourceVersion, changes) {
		return
	}
	writer := w.Writer
	if w.WrittenBy == 0 {
		writer = w.Manager.Name()
	}
	d.change(s, changes, OnlyOf(changes), writer, uint64(w.WrittenBy), e.Time)
}

// clientWrite takes what a program outside has changed: no informer need show it, as of custom resources none does.
func (d *Detector) clientWrite(e *trace.Event, r *trace.ClientRequest) {
	isUpdate := r.Verb == "update" || r.Verb == "patch"
	isCreation := r.Code == http.StatusCreated // as by server-side apply
	if !isUpdate || isCreation || r.Failed() || r.DryRun || r.Recorded != nil || r.Name == "" || r.Change == nil {
		return
	}
	changes, s := r.Change.Fields(), d.life(ObjectOf(&r.Object))
	if s.judges(r.ResourceVersion, changes) {
		d.change(s, changes, OnlyOf(changes), cmp.Or(r.FieldManager, r.Program), 0, e.Time)
	}
}

// life returns the state of an object. If another of its name was there before, that is deleted.
func (d *Detector) life(o Object) *objectState {
	s := d.state(o)
	if s.UID != o.UID && s.UID != "" && o.UID != "" {
		d.deleted(o)
		s = d.state(o)
	}
	s.UID = cmp.Or(o.UID, s.UID)
	return s
}

// judges reports whether the change to a version is to be judged: not twice, if both an informer and the request of a
// program show it. An informer of metadata shows no more of some than that the generation is another one.
func (s *objectState) judges(version string, changes []fields.Change) bool {
	switch {
	case version == "":
		return true
	case !slices.ContainsFunc(changes, func(c fields.Change) bool { return !isGeneration(c.Path) }),
		slices.Contains(s.judged, version):
		return false
	case len(s.judged) == maxJudged:
		s.judged = append(s.judged[:0], s.judged[1:]...)
	}
	s.judged = append(s.judged, version)
	return true
}

// maxJudged is how many versions of an object are remembered: an answer and a watch event are not further apart.
const maxJudged = 8

// sees notes a version that exists since then at the latest.
func (s *objectState) sees(version string, at time.Time) {
	if version != s.version {
		s.version, s.seen = version, at
	}
}

// change judges what a change has brought back.
func (d *Detector) change(
	s *objectState, changes []fields.Change, only Only, writer string, reconcile uint64, at time.Time,
) {
	for _, path := range s.alternating.add(changes, only, writer, at) {
		f := s.alternating[path]
		if !f.alternates(path) || f.countsInStatus(path) ||
			hasHeartbeats(s.Object) && strings.HasPrefix(path, "status") {
			continue
		}
		if f.contested.n > 0 && f.contested.last.Equal(at) {
			d.contested.Put(s.Namespace, at)
		}
		switch a := f.alternation(path); {
		case f.contested.n >= d.limits.of(Fight):
			d.repeats(Fight, s, path, f.contested, reconcile, at).addField(a)
		case only != "" && d.findings[findingKey{of: Loop, object: keyOf(s.Object), what: string(only)}] != nil:
			// which says it better
		case f.quick.n >= d.limits.of(Loop) && !d.isEcho(s, reconcile, f.quick.first):
			d.repeats(Loop, s, writer, f.quick, reconcile, at).addField(a)
		}
	}
	if only == "" || hasHeartbeats(s.Object) {
		return
	}
	r := s.rewritten[only]
	if r == nil {
		r = &rewritten{Rewrites: Rewrites{Object: s.Object, Only: only}}
		if s.rewritten == nil {
			s.rewritten = map[Only]*rewritten{}
		}
		s.rewritten[only] = r
	}
	r.add(changes, writer, at)
	if len(r.Writers) < 2 && r.quick.n >= d.limits.of(Loop) && !d.isEcho(s, reconcile, r.quick.first) &&
		d.findings[findingKey{of: Loop, object: keyOf(s.Object), what: writer}] == nil { // which says more
		f := d.repeats(Loop, s, string(only), r.quick, reconcile, at)
		f.Only, f.Changed, f.Writers = only, r.Fields, r.Writers
	}
}

// repeats returns the finding of an object.
func (d *Detector) repeats(
	of Type, s *objectState, what string, times series, reconcile uint64, now time.Time,
) *Finding {
	f := d.finding(findingKey{of: of, object: keyOf(s.Object), what: what}, times.first, now)
	object := s.Object
	f.Object, f.Count = &object, max(f.Count, times.n)
	f.addReconcile(reconcile)
	return f
}

// isEcho reports whether what began then may repeat what somebody else does: the reconcile came soon after a change
// from outside, or several writers have turned a field of the namespace since. A reconcile that is not known, or 0, did
// not.
func (d *Detector) isEcho(s *objectState, reconcile uint64, began time.Time) bool {
	depth, known := d.depths.Get(trace.ReconcileID(reconcile))
	contested, _ := d.contested.Get(s.Namespace)
	return known && depth < d.limits.of(Loop) || contested.After(began)
}

// finding returns the finding of a key, which is added if it is not there.
func (d *Detector) finding(key findingKey, first, now time.Time) *Finding {
	f := d.findings[key]
	if f == nil {
		f = &Finding{Type: key.of, Controller: key.controller, First: first}
		if len(d.findings) == maxFindings {
			return f
		}
		d.findings[key] = f
		d.added = append(d.added, f)
	}
	f.Last = now
	return f
}

// addField adds or replaces a field whose values come back: those of the spec come first.
func (f *Finding) addField(a Alternation) {
	f.Fields = slices.DeleteFunc(f.Fields, func(b Alternation) bool { return b.Field == a.Field })
	f.Fields = append(f.Fields, a)
	sort.Slice(f.Fields, func(i, j int) bool {
		a, b := &f.Fields[i], &f.Fields[j]
		return cmp.Or(rank(a.Field)-rank(b.Field), cmp.Compare(b.Returns, a.Returns), cmp.Compare(a.Field, b.Field)) < 0
	})
	f.Fields = f.Fields[:min(len(f.Fields), maxListed)]
	for _, name := range a.writers() {
		f.Writers = AddName(f.Writers, name)
	}
}

// rank orders fields: what is wanted, then conditions, then the rest.
func rank(path string) int {
	switch {
	case conditionStatus.MatchString(path + ".status"):
		return 1
	case strings.HasPrefix(path, "status"):
		return 2
	case strings.HasPrefix(path, "metadata"):
		return 3
	}
	return 0
}

// HasHeartbeats reports whether objects of a kind are written for their heartbeats: Nodes and Leases.
func HasHeartbeats(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Kind: "Node"} ||
		kind == schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}
}

func hasHeartbeats(o Object) bool {
	return HasHeartbeats(schema.GroupKind{Group: keyOf(o).group, Kind: o.Kind})
}
