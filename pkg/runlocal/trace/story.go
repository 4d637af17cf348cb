package trace

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
)

// Step is what one controller, or somebody outside of the session, did in reaction to the step that it is below. What a
// controller does about a key again, in reaction to what followed, belongs to the same step, so that a rollout is as
// deep as its controllers are many, however many pods it replaces.
type Step struct {
	// Controller is the short name of the controller, or the name of a program outside whose requests were refused; it
	// is empty for a change from outside, whose field manager Manager is.
	// That is empty if it is not known.
	Controller, Manager string
	// Acts are what it did, in the order of their beginning. There is at least one.
	Acts []*Act
	// Steps are what others did in reaction, in the order of their beginning.
	Steps []*Step

	parent *Step
	keys   map[string]bool // that it acted for
	taken  bool            // by Take: it is not changed any more
}

// First returns when the step began.
func (s *Step) First() time.Time { return s.Acts[0].First }

// ActType is what sort of thing was done.
type ActType string

// The types of acts.
const (
	// ActWrite is a write that the API server accepted, also a dry run. ActSeen is one from outside, as it was watched:
	// its Verb is create, update or delete.
	ActWrite ActType = "write"
	ActSeen  ActType = "seen"
	// ActStatus is a write of a status from which something can be told: Changes.
	ActStatus ActType = "status"
	// ActRefused is a write, or of a program outside any request, that was refused, with the Message. ActFailed is a
	// reconcile that failed for another reason.
	ActRefused ActType = "refused"
	ActFailed  ActType = "failed"
)

// Named is an object of an act.
type Named struct {
	Namespace, Name string
	// Node is the node that a pod was bound to; empty for all but bindings, and if it is not known.
	Node string
	// Then reports that it came in reaction to the one before it.
	Then bool
}

// Act is one or more writes of one sort.
type Act struct {
	Type ActType
	Verb string
	// Of is the kind of the objects, without a name; of ActFailed it is empty.
	Of          Object
	Subresource string
	// Operation is Apply or Update, of ActSeen if it is known, and empty for others.
	Operation string
	DryRun    bool
	// Objects are the objects, each once, in the order of their first writes; of ActFailed the keys.
	Objects []Named
	// Count is how many writes, or failures, there were.
	Count int
	// First and Last are the times of the first and the last: those at which requests were sent.
	First, Last time.Time
	// Changes are the fields that were changed, of a status those that tell something, from before the first write to
	// after the last; of several objects those of the first.
	Changes []fields.Change
	// Replicas are the numbers that spec.replicas had, from before the first write on; of several objects those of the
	// first.
	Replicas []any
	// Message is why it was refused or failed.
	Message string
	// Again reports of ActSeen that it was told before: the steps below react to it, too.
	Again bool

	signature string
	created   *Change            // becomes Changes, if that is needed
	known     map[[2]string]bool // the Objects, by namespace and name; nil before there are others
}

// NotTold counts what a Story has no step for.
type NotTold struct {
	// StatusWrites are writes of a status that only repeat what a step tells, and of Leases.
	StatusWrites int
	// Idle are reconciles that wrote nothing, PutOff those of them that waited for a cache.
	Idle, PutOff int
	// Conflicts are writes that were refused because the object had changed, or existed already: the controller reads
	// it again.
	Conflicts int
	// Repeated are writes that were refused, or tell of a pod, like one that was told before; Failed are such failures.
	Repeated, Failed int
	// Healed are failures after which the next reconcile of the key went well, before they were told.
	Healed int
	// Starting are the writes of before the time of StartAt.
	Starting int
}

// Story is a Sink that makes steps of a trace, from cause to effect. Its memory does not grow with the number of events
// if Take is called now and then. All its methods may be called concurrently.
type Story struct {
	mu      sync.Mutex // guards all below
	startAt time.Time
	waits   bool      // for StartAt
	first   time.Time // of what is not taken yet
	latest  time.Time
	roots   []*Step
	open    map[ReconcileID]*telling
	ended   recent.Map[ReconcileID, origin]
	made    recent.Map[string, bool]   // objects that controllers created
	seen    recent.Map[string, bool]   // changes from outside
	told    recent.Map[string, bool]   // failures that steps were taken with
	nodes   recent.Map[string, string] // of pods, by their names
	binders map[string]bool            // controllers that bind pods
	settled map[string]*Act            // what is told of the status of objects that no controller made
	settles map[string]string          // the controllers that wrote these
	failing map[string]*failing        // by controller and key, what is told unless it heals
	notTold NotTold
}

// failing is a key whose last reconciles have failed.
type failing struct {
	event *Event // the first of their ends
	open  *telling
	act   *Act
}

// telling is a reconcile that has not ended.
type telling struct {
	start    *Event
	origin   origin
	step     *Step // nil before it has done something that is told
	requests []*Request
	acted    bool
	again    bool // step was that of its key before
}

// NewStory returns an empty Story. If it waits, what happens before StartAt is called and its time is not told.
func NewStory(waits bool) *Story {
	return &Story{
		waits: waits, open: map[ReconcileID]*telling{}, settled: map[string]*Act{}, settles: map[string]string{},
		failing: map[string]*failing{}, binders: map[string]bool{},
	}
}

// StartAt sets the time from which on steps are told.
func (s *Story) StartAt(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startAt = t
}

const (
	// storyPause is for how long nothing must happen for what happened before to be told together, storyEvery how long
	// it waits at most.
	storyPause = time.Second
	storyEvery = 5 * time.Second
)

// Due reports whether what happened before now is to be taken: because of a pause of a second, or because it began five
// seconds ago.
func (s *Story) Due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.first.IsZero() && (now.Sub(s.latest) >= storyPause || now.Sub(s.first) >= storyEvery)
}

// NotTold returns the counts so far.
func (s *Story) NotTold() NotTold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notTold
}

// Take returns the steps since the last call that react to nothing told of since then, in the order of their beginning,
// each with what followed. They are the caller's: what follows later begins a step by itself.
func (s *Story) Take() []*Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(s.failing)) {
		f := s.failing[key]
		s.tell(f.event, f.open, f.act, Named{Name: f.event.Key})
	}
	clear(s.failing)
	out := s.roots
	for _, key := range slices.Sorted(maps.Keys(s.settled)) {
		act := s.settled[key]
		controller := s.settles[key]
		i := slices.IndexFunc(out, func(o *Step) bool { return o.Controller == controller && o.keys == nil })
		if i < 0 {
			i, out = len(out), append(out, &Step{Controller: controller})
		}
		out[i].Acts = append(out[i].Acts, act)
	}
	clear(s.settled)
	clear(s.settles)
	s.roots, s.first = nil, time.Time{}
	return s.finish(out)
}

// Record implements Sink.
func (s *Story) Record(e *Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = e.Time
	open := s.open[e.Reconcile]
	switch d := e.Detail.(type) {
	case *Start:
		s.open[e.Reconcile] = &telling{start: e, origin: originOf(e, d)}
	case *Watch:
		s.watch(d)
	case *Request:
		if d.IsWrite() && d.Recorded == nil {
			s.request(e, open, d)
		}
	case *ClientRequest:
		s.clientRequest(e, d)
	case *End:
		if open != nil {
			s.end(e, open, d)
			delete(s.open, e.Reconcile)
		}
	}
}

// clientRequest tells of a request of a program outside that was refused. What it wrote is told by the watch events
// that follow.
func (s *Story) clientRequest(e *Event, d *ClientRequest) {
	isMissing := !d.IsWrite() && d.Code == http.StatusNotFound
	if d.Failed() && d.Recorded == nil && !isMissing {
		s.request(&Event{Time: e.Time, Controller: d.Program, Key: d.Namespace + "/" + d.Name}, nil, &d.Request)
	}
}

// isStarting reports whether something of that time is not told.
func (s *Story) isStarting(at time.Time) bool {
	return s.waits && (s.startAt.IsZero() || at.Before(s.startAt))
}

// watch notes to which node a pod was bound, which the request does not have. It may come before that.
func (s *Story) watch(w *Watch) {
	if w.Event != Modified || w.Resource != "pods" || w.WrittenBy == 0 || len(s.binders) > 0 && !s.binders[w.Writer] {
		return
	}
	for _, c := range w.Change.Fields() {
		if node, ok := c.New.(string); ok && c.Path == "spec.nodeName" {
			s.nodes.Put(w.Namespace+"/"+w.Name, node)
		}
	}
}

// request tells of a write.
func (s *Story) request(e *Event, open *telling, r *Request) {
	began := e.Time
	if open != nil {
		began = open.start.Time
		open.requests = append(open.requests, r)
		open.acted = true
	}
	name := Named{Namespace: r.Namespace, Name: cmp.Or(r.Name, r.GenerateName)}
	act := &Act{Type: ActWrite, Verb: r.Verb, Of: r.Object, Subresource: r.Subresource, DryRun: r.DryRun}
	act.First = e.Time.Add(-time.Duration(r.Latency)) // others may react before the answer
	switch {
	case s.isStarting(began):
		s.notTold.Starting++
		return
	case r.Failed() && r.IsRace():
		s.notTold.Conflicts++
		return
	case r.Failed():
		act.Type, act.Message = ActRefused, r.Message
		if s.isRepeated(e, r.Verb+r.Resource+r.Subresource+r.Message) {
			s.notTold.Repeated++
			return
		}
	case r.Resource == "leases":
		s.notTold.StatusWrites++ // it is a heartbeat, of a node or a leader; the first comes at any time
		return
	case isOfStatus(r):
		made, _ := s.made.Get(objectKey(r.Object, r.Namespace, r.Name))
		act.Type, act.Changes = ActStatus, news(r.Kind, r.Change.Fields(), made)
		switch {
		case len(act.Changes) == 0:
			s.notTold.StatusWrites++
			return
		case !made && r.Kind != "Pod":
			s.settle(e, act, name)
			return
		case r.Kind == "Pod" && s.isRepeated(e, newsKey(act.Changes)):
			s.notTold.Repeated++
			return
		}
	case r.Subresource == "binding":
		s.binders[e.Controller] = true
	case r.Verb == "create":
		act.created = r.Change
		if r.Subresource == "" {
			s.made.Put(objectKey(r.Object, r.Namespace, r.Name), true)
		}
	default:
		act.Changes = r.Change.Fields()
	}
	s.tell(e, open, act, name)
}

// objectKey names an object of any kind.
func objectKey(of Object, namespace, name string) string {
	return of.Group + "/" + of.Resource + "/" + namespace + "/" + name
}

// isRepeated reports whether the same was told of a key before.
func (s *Story) isRepeated(e *Event, text string) bool {
	key := e.Controller + "\x00" + e.Key + "\x00" + volatile.ReplaceAllString(text, "")
	told, _ := s.told.Get(key)
	s.told.Put(key, true)
	return told
}

// settle keeps what the status of an object that no controller made tells, until the steps are taken.
func (s *Story) settle(e *Event, act *Act, name Named) {
	key := e.Controller + "\x00" + objectKey(act.Of, name.Namespace, name.Name)
	s.begin(e)
	act.Objects, act.Count, act.Last, act.signature = []Named{name}, 1, act.First, key
	before := s.settled[key]
	if before == nil {
		s.settled[key], s.settles[key] = act, e.Controller
		return
	}
	before.merge(act)
	before.First = act.First // of what it came to
}

// tell adds an act to the step of its reconcile.
func (s *Story) tell(e *Event, open *telling, act *Act, name Named) {
	s.begin(e)
	if open == nil {
		s.below(nil, e.Controller).add(act, name, e.Key, false)
		return
	}
	if open.step == nil || open.step.taken {
		open.step = s.enter(open, e)
	}
	open.step.add(act, name, e.Key, open.again)
}

// begin notes the time of the first act that is not taken yet.
func (s *Story) begin(e *Event) {
	if s.first.IsZero() {
		s.first = e.Time
	}
}

// enter returns the step of a reconcile: that of its key, if what it reacts to is of the same tree.
func (s *Story) enter(open *telling, e *Event) *Step {
	parent := s.stepOf(open.origin)
	if step := parent.own(e.Controller, e.Key); step != nil {
		open.again = true
		return step
	}
	step := s.below(parent, e.Controller)
	step.keys[e.Key] = true
	return step
}

// below returns the step of a controller in reaction to another one, or to nothing that is told.
func (s *Story) below(parent *Step, controller string) *Step {
	in := &s.roots
	if parent != nil && !parent.taken {
		in = &parent.Steps
	} else {
		parent = nil
	}
	for _, step := range *in {
		if step.Controller == controller && controller != "" {
			return step
		}
	}
	step := &Step{Controller: controller, parent: parent, keys: map[string]bool{}}
	*in = append(*in, step)
	return step
}

// end tells how a reconcile ended.
func (s *Story) end(e *Event, open *telling, end *End) {
	key := e.Controller + "\x00" + e.Key
	switch {
	case s.isStarting(open.start.Time):
	case end.PutOff != "":
		s.notTold.PutOff++
		s.notTold.Idle++
	case end.Outcome != Done && end.ConflictOf(open.requests) == nil:
		s.failed(e, open, end)
	case end.Outcome == Done:
		if f := s.failing[key]; f != nil {
			s.notTold.Healed += f.act.Count
			delete(s.failing, key)
		}
		if !open.acted {
			s.notTold.Idle++
		}
	}
	if open.step != nil {
		open.origin = origin{step: open.step}
	}
	s.ended.Put(e.Reconcile, s.flat(open.origin))
}

// failed keeps an error, to be told unless the next reconcile of the key goes well. That of a request that was refused
// is told.
func (s *Story) failed(e *Event, open *telling, end *End) {
	for _, r := range open.requests {
		if r.Failed() && r.Message != "" && !r.IsRace() && strings.Contains(end.Error, r.Message) {
			return
		}
	}
	key := e.Controller + "\x00" + e.Key
	if f := s.failing[key]; f != nil {
		f.act.Count++
		f.act.Last, f.act.Message = e.Time, end.Error
		return
	}
	if s.isRepeated(e, end.Error) {
		s.notTold.Failed++
		return
	}
	s.begin(e)
	s.failing[key] = &failing{e, open, &Act{
		Type: ActFailed, First: e.Time, Last: e.Time, Count: 1, Message: cmp.Or(end.Error, string(end.Outcome)),
	}}
}
