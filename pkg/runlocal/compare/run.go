package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Options say what a run compares.
type Options struct {
	// Controllers are those to run and to compare.
	Controllers []controllers.Controller
	// Autoscaling and NodeControllers are the settings that the recorded controllers had.
	Autoscaling     controllers.Autoscaling
	NodeControllers controllers.NodeControllerOptions
	// From is the moment whose state the run begins with; the zero value is the start of the recording.
	From replay.Moment
	// Sinks get the trace of all runs, one after the other: a run may be ended because a controller waits for a timer,
	// and another one may follow that plays late what the recorded caches may not have had. It may be nil.
	Sinks []trace.Sink
	// MaxWait is for how long a timer of a controller is waited for; 0 is 15 seconds. Those that end later do not end
	// in the run.
	MaxWait time.Duration
	// Patience is how long, in recorded time, a key waits for its next effect before it is reconciled without one; 0 is
	// one second.
	Patience time.Duration
	// Clock is the real one if it is nil. The controllers have the real one in any case.
	Clock clock.Clock
	// Progress is called at each event with how many were played, of all. It may be nil.
	Progress func(played, all int)

	observe func(string) // gets what is decided; nil but in tests
}

const (
	defaultMaxWait  = 15 * time.Second
	defaultPatience = time.Second
	// horizon is how far off the time of a key may be, that a recorded effect needs, to be waited for.
	horizon = 1100 * time.Millisecond
	// maxStall bounds how long the controllers may take to start, or to reconcile a key, on a busy machine.
	maxStall = 2 * time.Minute
	// maxRounds bounds how often a key is reconciled for one effect, or at the end.
	maxRounds = 20
)

// MissingKindsError is the error for a recording without kinds that the controllers read.
type MissingKindsError struct {
	Controller string
	Resources  []schema.GroupResource
}

// Error implements error.
func (e *MissingKindsError) Error() string {
	return fmt.Sprintf("%s reads %s, which was not recorded", e.Controller, e.Resources[0])
}

// UncomparableError is the error for a controller whose writes cannot be told from those of others, because it has no
// rules here and the recording has no trace of it, and no audit log was merged into it.
type UncomparableError struct{ Controller string }

// Error implements error.
func (e *UncomparableError) Error() string {
	return fmt.Sprintf("which writes are those of %s is not known", e.Controller)
}

// StalledError is the error for controllers that do not come to an end.
type StalledError struct{ Doing string }

// Error implements error.
func (e *StalledError) Error() string {
	return fmt.Sprintf("%s has taken more than %s", e.Doing, maxStall)
}

// Run plays the recording with the controllers. The result does not depend on how fast the machine is, as long as it is
// fast enough for what was recorded while controllers waited for timers: see the package comment.
func Run(ctx context.Context, recording replay.Recording, o Options) (*Result, error) {
	if o.From == (replay.Moment{}) {
		o.From = replay.Moment{Start: true}
	}
	o.MaxWait, o.Patience = cmp.Or(o.MaxWait, defaultMaxWait), cmp.Or(o.Patience, defaultPatience)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	loaded, err := load(ctx, recording, o.From, wantedBy(o.Controllers))
	if err != nil {
		return nil, err
	}
	if err := check(o.Controllers, loaded); err != nil {
		return nil, err
	}
	short := shortNames(o.Controllers)
	loaded.addRefusals(short)
	if err := loaded.attribute(loaded.controllersOf(short)); err != nil {
		return nil, err
	}
	result, err := runLoaded(ctx, o, loaded)
	if err != nil || !loaded.postpone() {
		return result, err
	}
	again, err := runLoaded(ctx, o, loaded)
	if err == nil && again.Counts().Different >= result.Counts().Different {
		return result, nil
	}
	return again, err
}

// runLoaded is one run of what is loaded, or two, if a controller waits for a timer in the first.
func runLoaded(ctx context.Context, o Options, loaded *recorded) (*Result, error) {
	r := newRun(o, loaded)
	if len(r.keys) == 0 {
		return nil, ErrNoEvents
	}
	result, err := r.play(ctx)
	if errors.Is(err, errTimed) {
		r.note("begin again: %s", errTimed)
		return newTimedRun(o, loaded).play(ctx)
	}
	return result, err
}

func shortNames(cs []controllers.Controller) []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = c.Short
	}
	slices.Sort(out)
	return out
}

// wantedBy returns which resources the controllers read or write.
func wantedBy(cs []controllers.Controller) func(schema.GroupResource) bool {
	wanted := map[schema.GroupResource]bool{
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: true, {Resource: "namespaces"}: true,
	}
	all := false
	for _, c := range cs {
		for _, gr := range readBy(c) {
			wanted[gr] = true
			all = all || gr.Resource == "*"
		}
		for _, gr := range c.Writes {
			wanted[gr] = wanted[gr] || !slices.Contains(uncompared, gr)
			all = all || gr.Group == "*"
		}
	}
	return func(gr schema.GroupResource) bool {
		return wanted[gr] || all && !slices.Contains(uncompared, gr)
	}
}

// readBy returns which resources a controller reads, with those that its metrics are made of.
func readBy(c controllers.Controller) []schema.GroupResource {
	if c.Short == "horizontalpodautoscaling" {
		return append(slices.Clone(c.Reads), core("nodes"))
	}
	return c.Reads
}

// check returns an error if the recording lacks what a controller needs.
func check(cs []controllers.Controller, l *recorded) error {
	has := map[schema.GroupResource]bool{}
	for _, stream := range l.streams {
		has[stream.GroupResource()] = true
	}
	for _, c := range cs {
		lacking := slices.DeleteFunc(slices.Clone(readBy(c)), func(gr schema.GroupResource) bool {
			return has[gr] || gr.Resource == "*"
		})
		if len(lacking) > 0 {
			return &MissingKindsError{Controller: c.Short, Resources: lacking}
		}
		if rulesOf(c.Short) == nil && !l.writes.traced[c.Short] && len(l.writes.audited) == 0 {
			return &UncomparableError{Controller: c.Short}
		}
	}
	return nil
}

// run is one run of Run. Its methods are called by one goroutine, answer by those that serve requests.
type run struct {
	options Options
	loaded  *recorded
	clock   clock.Clock
	session *runlocal.Session
	causes  causes
	timed   bool // as much time passes between events as was recorded, but for whole seconds
	reckons bool // no pause is skipped: a controller takes down when it has seen what, and reckons from that
	// deliver makes the API send an event, whose object has times of the run.
	deliver func(ev *event, object []byte) error
	// rebase changes an event before it is played, and reports whether it is to be played; nil changes none.
	rebase func(ev *event) (bool, error)
	// named returns the object that a key names; zero if that is not known.
	named func(keyID) trace.Object

	timers   map[heldKey]timerEnd  // of keys that come back by themselves
	since    map[heldKey]time.Time // when a held key was first added, in recorded time
	rounds   map[heldKey]int       // at the end
	idle     map[heldKey]int       // in the pause before an event
	timeline *timeline
	last     time.Time // of the event that was played last, recorded

	// mu guards what follows. It is held while the API plays an event, so that a write is compared with objects that
	// are those of the API. It comes first: the locks of the playback server, of the API's storage and of causes are
	// taken under it, and what is called under one of these, or under those of the tap, must not lock it. So
	// programRun.move, which the playback server calls, does not: its caller has mu, but at the start, when nothing
	// else runs. Playing waits for no client.
	mu      sync.Mutex
	hiding  *hiding
	ctx     context.Context
	keys    map[keyID]*keyState
	objects map[objectID]*objectState
	moment  moment    // why a key is reconciled, and
	target  *event    // the effect that the recording has come to, if it is due
	due     time.Time // when the run was to be where it is
	played  int       // how many events were
	err     error     // the first error of playing an event
	result  *Result
}

// heldKey is a key as the tap names it.
type heldKey struct{ controller, queue, key string }

func (k heldKey) compare(other heldKey) int {
	return cmp.Or(cmp.Compare(k.controller, other.controller), cmp.Compare(k.queue, other.queue),
		cmp.Compare(k.key, other.key))
}

// names reports whether the key is the one of an effect.
func (k heldKey) names(id keyID) bool {
	return k.controller == id.controller && (id.key == "" || k.key == id.key)
}

// objectID identifies an object.
type objectID struct {
	resource        schema.GroupResource
	namespace, name string
}

func (ev *event) objectID() objectID {
	return objectID{ev.stream.GroupResource(), ev.record.Namespace, ev.record.Name}
}

// objectState is an object at a moment of the run.
type objectState struct {
	current untyped.Map // nil if it is not there
	coming  []*event    // that were not played yet
	known   bool        // anything was recorded of it
}

// isUnknown reports whether nothing was recorded of it.
func (o *objectState) isUnknown() bool { return o == nil || !o.known }

func newRun(o Options, l *recorded) *run {
	l.reset()
	result := *l.result
	r := &run{
		options: o, loaded: l, clock: o.Clock, causes: causes{started: map[trace.ReconcileID][]trace.Cause{}},
		timers: map[heldKey]timerEnd{}, since: map[heldKey]time.Time{}, rounds: map[heldKey]int{},
		idle: map[heldKey]int{}, last: l.start,
		timeline: newTimeline(l.start, o.Clock.Now()),
		reckons: slices.ContainsFunc(o.Controllers, func(c controllers.Controller) bool {
			return c.Short == "node-lifecycle"
		}),
		keys: map[keyID]*keyState{}, objects: map[objectID]*objectState{}, result: &result, hiding: l.hiding,
	}
	r.hiding.learned = map[string]string{} // by the run before, if there was one
	r.result.Controllers = shortNames(o.Controllers)
	for _, name := range r.result.Controllers {
		r.result.ByTrace = r.result.ByTrace || l.writes.traced[name]
	}
	r.result.ByAuditLog = len(l.writes.audited) > 0
	for _, ev := range l.objects {
		r.object(ev.objectID()).known = true
	}
	for _, ev := range l.events {
		if ev.refused == nil {
			object := r.object(ev.objectID())
			object.coming, object.known = append(object.coming, ev), true
		}
		if ev.effect == nil {
			r.result.Inputs++
			continue
		}
		r.result.Effects++
		key := r.key(keyID{ev.effect.controller, ev.effect.key})
		key.effects = append(key.effects, ev)
	}
	return r
}

func (r *run) object(id objectID) *objectState {
	o := r.objects[id]
	if o == nil {
		o = &objectState{}
		r.objects[id] = o
	}
	return o
}

func (r *run) key(id keyID) *keyState {
	k := r.keys[id]
	if k == nil {
		k = &keyState{result: Key{Controller: id.controller, Key: id.key}, ahead: map[string]int{}}
		r.keys[id] = k
	}
	return k
}

// play runs the controllers on the recording.
func (r *run) play(ctx context.Context) (*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.ctx = ctx
	objects, err := r.initial()
	if err != nil {
		return nil, err
	}
	sinks := append([]trace.Sink{&r.causes}, r.options.Sinks...)
	nodeControllers := r.options.NodeControllers
	nodeControllers.HeldLoops = true
	stalled := time.AfterFunc(maxStall, func() { cancel(&StalledError{"starting the controllers"}) })
	r.session, err = runlocal.Start(ctx, runlocal.Options{
		API: api.Options{Objects: objects, Recorded: &api.Recorded{
			Resources: r.resources(), Writable: true,
			Handler: func(next http.Handler) http.Handler {
				return &handler{next: next, who: r.who, write: r.answer}
			},
		}},
		Controllers: r.options.Controllers, Workers: 1, NoScheduling: true, HoldKeys: true,
		Autoscaling: r.options.Autoscaling, NodeControllers: nodeControllers,
		Recorder:  trace.NewRecorder(clock.RealClock{}, sinks...),
		ListOrder: r.listOrder(),
	})
	stalled.Stop()
	if cause := (*StalledError)(nil); errors.As(context.Cause(ctx), &cause) {
		return nil, cause
	}
	if err != nil {
		return nil, fmt.Errorf("starting the controllers: %w", err)
	}
	r.deliver, r.named = r.deliverToSession, r.namedObject
	err = r.playEvents(ctx)
	if err == nil {
		err = r.finish(ctx)
	}
	err = errors.Join(err, r.session.Stop())
	if err != nil {
		return nil, err
	}
	return r.summary(), nil
}

// waitHeld waits until nothing is under way but keys that are held, or that are due later. Doing is what that ends.
func (r *run) waitHeld(ctx context.Context, doing string, args ...any) error {
	bounded, cancel := context.WithTimeout(ctx, maxStall)
	defer cancel()
	err := r.session.WaitHeld(bounded)
	if err != nil && ctx.Err() == nil {
		return &StalledError{fmt.Sprintf(doing, args...)}
	}
	return err
}

// deliverToSession is the deliver of a run with a session.
func (r *run) deliverToSession(ev *event, object []byte) error {
	_, err := r.session.Server().Play(r.ctx, api.PlayedEvent{
		Object:  api.StoredObject{Kind: ev.stream.GVK(), Resource: ev.stream.Resource, JSON: object},
		Deleted: ev.isDeletion(), ResourceVersion: ev.record.ResourceVersion,
	})
	return err
}

// resources are the kinds of the recording that the controllers use.
func (r *run) resources() []api.RecordedResource {
	wanted := wantedBy(r.options.Controllers)
	byName := map[schema.GroupResource]*api.RecordedResource{}
	var order []schema.GroupResource
	for _, stream := range r.loaded.streams {
		gr := stream.GroupResource()
		if !wanted(gr) {
			continue
		}
		one := byName[gr]
		if one == nil {
			one = &api.RecordedResource{Kind: stream.GVK(), Resource: stream.Resource}
			byName[gr], order = one, append(order, gr)
		}
		one.ResourceVersion = max(one.ResourceVersion, snapshot.VersionNumber(stream.ResourceVersion))
	}
	out := make([]api.RecordedResource, 0, len(order))
	for _, gr := range order {
		out = append(out, *byName[gr])
	}
	return out
}

// initial returns the objects at the beginning.
func (r *run) initial() ([]api.StoredObject, error) {
	var out []api.StoredObject
	for _, ev := range r.loaded.objects {
		data, obj, err := r.shifted(ev)
		if err != nil {
			return nil, err
		}
		r.object(ev.objectID()).current = obj
		out = append(out, api.StoredObject{Kind: ev.stream.GVK(), Resource: ev.stream.Resource, JSON: data})
	}
	return out, nil
}

// shifted returns an object with times of the run.
func (r *run) shifted(ev *event) ([]byte, untyped.Map, error) {
	data := r.timeline.shift(r.hiding.reveal(ev.record.Object))
	obj, err := parse(data)
	if err != nil {
		return nil, nil, fmt.Errorf("reading record %d: %w", ev.record.Number, err)
	}
	return data, obj, nil
}

// listOrder has controllers list objects by name, but those that they deleted in the recording first, in that order: of
// equals they delete the one that they list first.
func (r *run) listOrder() func(namespace, name string) string {
	deleted := map[string]int{}
	for i, ev := range r.loaded.events {
		if ev.effect != nil && ev.verb == VerbDelete {
			deleted[joinKey(ev.record.Namespace, ev.record.Name)] = i + 1
		}
	}
	return func(namespace, name string) string {
		if at := deleted[joinKey(namespace, name)]; at > 0 {
			return fmt.Sprintf("%s/ %08d", namespace, at)
		}
		return namespace + "/" + name
	}
}

// summary returns the result.
func (r *run) summary() *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, k := range r.keys {
		one := &k.result
		unpaired := len(one.Missing) + len(one.Extra) + len(one.ByTimer) + len(one.AfterEnd)
		if one.Same+one.Uncompared+unpaired == 0 && one.Other == nil {
			continue
		}
		one.Object = r.named(id)
		r.result.Keys = append(r.result.Keys, *one)
	}
	slices.SortFunc(r.result.Keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Key, b.Key))
	})
	return r.result
}

// note tells a test what is decided.
func (r *run) note(format string, args ...any) {
	if r.options.observe != nil {
		r.options.observe(fmt.Sprintf(format, args...))
	}
}
