package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Options say what a run compares.
type Options struct {
	// Controllers are those to run and to compare.
	Controllers []controllers.Controller
	// From is the moment whose state the run begins with; the zero value is the start of the recording.
	From replay.Moment
	// Sinks get the trace of the run. It may be nil.
	Sinks []trace.Sink
	// MaxWait is the longest time of a recorded pause that is waited for, where a timer of a controller ends in it; 0
	// is 15 seconds. Timers that end later do not end in the run.
	MaxWait time.Duration
	// Patience is how long, in recorded time, a key waits for its next effect before it is reconciled without one; 0 is
	// one second.
	Patience time.Duration
	// Clock is the real one if it is nil. The controllers have the real one in any case.
	Clock clock.Clock

	observe func(string) // gets what is decided; nil but in tests
}

const (
	defaultMaxWait  = 15 * time.Second
	defaultPatience = time.Second
	// horizon is how far off the time of a key may be, that a recorded effect needs, to be waited for.
	horizon = 1100 * time.Millisecond
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
// rules here and the recording has no trace of it.
type UncomparableError struct{ Controller string }

// Error implements error.
func (e *UncomparableError) Error() string {
	return fmt.Sprintf("which writes are those of %s is not known", e.Controller)
}

// Run plays the recording with the controllers. The result does not depend on how fast the machine is.
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
	if err := loaded.attribute(short); err != nil {
		return nil, err
	}
	r := newRun(o, loaded)
	if len(r.keys) == 0 {
		return nil, ErrNoEvents
	}
	return r.play(ctx)
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
		for _, gr := range slices.Concat(c.Reads, c.Writes) {
			wanted[gr] = true
			all = all || gr.Resource == "*"
		}
	}
	return func(gr schema.GroupResource) bool {
		return (all || wanted[gr]) && !slices.Contains(uncompared, gr)
	}
}

// check returns an error if the recording lacks what a controller needs.
func check(cs []controllers.Controller, l *recorded) error {
	has := map[schema.GroupResource]bool{}
	for _, stream := range l.streams {
		has[stream.GroupResource()] = true
	}
	for _, c := range cs {
		lacking := slices.DeleteFunc(slices.Clone(c.Reads), func(gr schema.GroupResource) bool {
			return has[gr] || gr.Resource == "*" || slices.Contains(uncompared, gr)
		})
		if len(lacking) > 0 {
			return &MissingKindsError{Controller: c.Short, Resources: lacking}
		}
		if rulesOf(c.Short) == nil && !l.writes.traced[c.Short] {
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

	since    map[heldKey]time.Time // when a held key was first added, in recorded time
	rounds   map[heldKey]int       // at the end
	timeline *timeline
	last     time.Time // of the event that was played last, recorded

	mu      sync.Mutex // guards what follows
	ctx     context.Context
	keys    map[keyID]*keyState
	objects map[objectID]*objectState
	moment  moment // why a key is reconciled, and
	target  *event // the effect that the recording has come to, if it is due
	err     error  // the first error of playing an event
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
	current fields   // nil if it is not there
	coming  []*event // that were not played yet
}

func newRun(o Options, l *recorded) *run {
	r := &run{
		options: o, loaded: l, clock: o.Clock, causes: causes{started: map[trace.ReconcileID][]trace.Cause{}},
		since: map[heldKey]time.Time{}, rounds: map[heldKey]int{}, last: l.start,
		timeline: newTimeline(l.start, o.Clock.Now()),
		keys:     map[keyID]*keyState{}, objects: map[objectID]*objectState{}, result: l.result,
	}
	r.result.Controllers = shortNames(o.Controllers)
	for _, name := range r.result.Controllers {
		r.result.ByTrace = r.result.ByTrace || l.writes.traced[name]
	}
	for _, ev := range l.objects {
		r.object(ev.objectID())
	}
	for _, ev := range l.events {
		object := r.object(ev.objectID())
		object.coming = append(object.coming, ev)
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

// causes is a sink that keeps why reconciles were started. Its methods may be called concurrently.
type causes struct {
	mu      sync.Mutex
	started map[trace.ReconcileID][]trace.Cause
}

// Record implements trace.Sink.
func (c *causes) Record(e *trace.Event) {
	if start, ok := e.Detail.(*trace.Start); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.started[e.Reconcile] = start.Causes
	}
}

// of returns why a reconcile was started; of one that is a retry, why the first attempt was.
func (c *causes) of(id trace.ReconcileID) []trace.Cause {
	c.mu.Lock()
	defer c.mu.Unlock()
	causes := c.started[id]
	for len(causes) > 0 && causes[0].Type == trace.CauseRetry && causes[0].Reconcile < id && causes[0].Reconcile != 0 {
		id = causes[0].Reconcile
		first := c.started[id]
		if len(first) == 0 {
			break
		}
		causes = slices.Concat(first, causes[1:])
	}
	return causes
}

// play runs the controllers on the recording.
func (r *run) play(ctx context.Context) (*Result, error) {
	r.ctx = ctx
	objects, err := r.initial()
	if err != nil {
		return nil, err
	}
	sinks := append([]trace.Sink{&r.causes}, r.options.Sinks...)
	r.session, err = runlocal.Start(ctx, runlocal.Options{
		API: api.Options{Objects: objects, Recorded: &api.Recorded{
			Resources: r.resources(), Writable: true,
			Handler: func(next http.Handler) http.Handler {
				return &handler{next: next, who: r.who, write: r.answer}
			},
		}},
		Controllers: r.options.Controllers, Workers: 1, NoScheduling: true, HoldKeys: true,
		Recorder:  trace.NewRecorder(clock.RealClock{}, sinks...),
		ListOrder: r.listOrder(),
	})
	if err != nil {
		return nil, fmt.Errorf("starting the controllers: %w", err)
	}
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
		one.ResourceVersion = max(one.ResourceVersion, api.ParseResourceVersion(stream.ResourceVersion))
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
func (r *run) shifted(ev *event) ([]byte, fields, error) {
	data, err := r.timeline.shift(ev.record.Object)
	if err != nil {
		return nil, nil, fmt.Errorf("reading record %d: %w", ev.record.Number, err)
	}
	obj, err := parse(data)
	return data, obj, err
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

// who returns who has sent a request, by the goroutine that serves it: it was started by the one that works on a key.
func (r *run) who(*http.Request) (caller, bool) {
	controller, key, reconcile := tap.Current()
	if !slices.Contains(r.result.Controllers, controller) {
		return caller{}, false
	}
	return caller{keyID{controller, key}, reconcile}, true
}

// playEvents plays all events.
func (r *run) playEvents(ctx context.Context) error {
	if err := r.session.WaitHeld(ctx); err != nil {
		return err
	}
	r.noteHeld(r.loaded.start)
	for _, ev := range r.loaded.events {
		if r.isPlayed(ev) {
			continue
		}
		if err := r.passTime(ctx, ev); err != nil {
			return err
		}
		if err := r.reconcileOverdue(ctx, ev.record.Time); err != nil {
			return err
		}
		if !r.isPlayed(ev) && ev.effect != nil {
			if err := r.giveChance(ctx, ev); err != nil {
				return err
			}
		}
		if err := r.playRest(ctx, ev); err != nil {
			return err
		}
		r.noteHeld(ev.record.Time)
		r.last = ev.record.Time
		if err := r.reconcileEarly(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reconcileEarly has the keys reconciled that are held and that an effect follows soon. The controller that was recorded
// may have looked at any moment since its last write.
func (r *run) reconcileEarly(ctx context.Context) error {
	r.setMoment(early, nil)
	for _, k := range r.held() {
		if r.isTooEarly(k) || !r.hasEffectSoon(k, r.last) {
			continue
		}
		since := r.since[k]
		if err := r.release(ctx, k); err != nil {
			return err
		}
		r.noteHeldSince(k, since)
	}
	return nil
}

// maxEarly bounds how often in a row a key is reconciled too early: each time it is put off for longer.
const maxEarly = 5

func (r *run) isTooEarly(k heldKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.keys[keyID{k.controller, k.key}]
	return state == nil || state.early >= maxEarly
}

// noteHeldSince notes a key again that was reconciled too early, as held since it was first added.
func (r *run) noteHeldSince(k heldKey, since time.Time) {
	if slices.Contains(r.held(), k) {
		r.since[k] = since
	}
}

func (r *run) isPlayed(ev *event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ev.played
}

// passTime has as much time pass before an event as was recorded, if a timer ends in it, and skips it otherwise.
func (r *run) passTime(ctx context.Context, ev *event) error {
	if ev.record.Time.IsZero() {
		return nil
	}
	due := r.timelineAt(ev.record.Time)
	for {
		now := r.clock.Now()
		next, waiting := r.nextTimer()
		if !waiting || next.After(due) || next.Sub(now) > r.options.MaxWait {
			break
		}
		if err := r.waitUntil(ctx, next); err != nil {
			return err
		}
		r.noteHeld(ev.record.Time)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timeline.move(r.last, ev.record.Time, r.clock.Now())
	return nil
}

func (r *run) timelineAt(recorded time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.timeline.at(recorded)
}

// nextTimer returns when the next key comes back by itself that is still compared.
func (r *run) nextTimer() (time.Time, bool) {
	for _, p := range r.session.Pending() {
		if !r.isEnded(keyID{p.Controller, p.Key}) {
			return p.Due, true
		}
	}
	return time.Time{}, false
}

func (r *run) isEnded(id keyID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.keys[id]
	return k != nil && k.ended
}

// ended returns the keys that are not compared any more.
func (r *run) ended() map[keyID]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[keyID]bool{}
	for id, k := range r.keys {
		if k.ended {
			out[id] = true
		}
	}
	return out
}

// waitUntil waits for a time, and until what is due then is held.
func (r *run) waitUntil(ctx context.Context, then time.Time) error {
	timer := r.clock.NewTimer(then.Sub(r.clock.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
	}
	return r.session.WaitHeld(ctx)
}

// held returns the keys that are held, in order. Those that are not compared any more are forgotten.
func (r *run) held() []heldKey {
	ended := r.ended()
	r.session.DropHeldKeys(func(controller, _, key string) bool { return ended[keyID{controller, key}] })
	var out []heldKey
	for _, c := range r.session.State().Controllers {
		for _, q := range c.Queues {
			for _, k := range q.Held {
				out = append(out, heldKey{c.Name, q.Queue, k.Key})
			}
		}
	}
	slices.SortFunc(out, heldKey.compare)
	return out
}

// noteHeld notes the recorded time at which keys began to be held.
func (r *run) noteHeld(now time.Time) {
	held := r.held()
	for _, k := range held {
		if _, known := r.since[k]; !known {
			r.since[k] = now
		}
	}
}

// release has a key reconciled.
func (r *run) release(ctx context.Context, k heldKey) error {
	delete(r.since, k)
	r.note("release %s %s, moment %d", k.controller, k.key, r.moment)
	if !r.session.ReleaseKey(k.controller, k.queue, k.key) {
		return nil
	}
	if err := r.session.WaitHeld(ctx); err != nil {
		return fmt.Errorf("waiting for %s to reconcile %q: %w", k.controller, k.key, err)
	}
	return r.playError()
}

func (r *run) playError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// reconcileOverdue has the keys reconciled that were held for long, up to a recorded time, and that no effect follows
// soon.
func (r *run) reconcileOverdue(ctx context.Context, now time.Time) error {
	r.setMoment(late, nil)
	for range maxRounds {
		found := false
		for _, k := range r.held() {
			since, known := r.since[k]
			if !known {
				r.since[k] = now
				continue
			}
			if now.Sub(since) <= r.options.Patience || r.hasEffectSoon(k, now) {
				continue
			}
			found = true
			if err := r.release(ctx, k); err != nil {
				return err
			}
		}
		if !found {
			return nil
		}
	}
	return nil
}

// hasEffectSoon reports whether an effect of the key follows within the patience after a recorded time.
func (r *run) hasEffectSoon(k heldKey, since time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range []keyID{{k.controller, k.key}, {k.controller, ""}} {
		if state := r.keys[id]; state != nil {
			for _, ev := range state.effects {
				if !ev.played {
					if ev.record.Time.Sub(since) <= r.options.Patience {
						return true
					}
					break
				}
			}
		}
	}
	return false
}

// giveChance has the key of an effect reconciled, until the effect is written or there is nothing to reconcile.
func (r *run) giveChance(ctx context.Context, ev *event) error {
	id := keyID{ev.effect.controller, ev.effect.key}
	if r.isEnded(id) {
		return nil
	}
	r.setMoment(due, ev)
	for range maxRounds {
		found := false
		for _, k := range r.held() {
			if r.isPlayed(ev) {
				return nil
			}
			if k.names(id) {
				found = true
				if err := r.release(ctx, k); err != nil {
					return err
				}
			}
		}
		if r.isPlayed(ev) || r.isEnded(id) {
			return nil
		}
		if found {
			continue
		}
		due, waiting := r.dueOf(id)
		if !waiting || due.Sub(r.clock.Now()) > horizon {
			return nil
		}
		if err := r.waitUntil(ctx, due); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) setMoment(m moment, target *event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moment, r.target = m, target
}

// dueOf returns when a key comes back by itself.
func (r *run) dueOf(id keyID) (time.Time, bool) {
	for _, p := range r.session.Pending() {
		if (heldKey{controller: p.Controller, key: p.Key}).names(id) {
			return p.Due, true
		}
	}
	return time.Time{}, false
}

// playRest plays an event that no write has, and judges it if it is an effect.
func (r *run) playRest(ctx context.Context, ev *event) error {
	timed := false
	if ev.effect != nil {
		_, timed = r.dueOf(keyID{ev.effect.controller, ev.effect.key})
	}
	r.mu.Lock()
	if !ev.played {
		if ev.effect != nil {
			r.judge(ev, timed)
		}
		r.playEvent(ev)
	}
	err := r.err
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return r.session.WaitHeld(ctx)
}

// judge notes an effect that the controller did not write. r.mu must be held.
func (r *run) judge(ev *event, timed bool) {
	k := r.key(keyID{ev.effect.controller, ev.effect.key})
	switch {
	case k.ended && !ev.compared:
		k.result.Uncompared++
	case k.ended:
	case ev.otherChoice:
		k.result.Same++
		k.result.Merged++
	case k.ahead[sortOf(ev)] > 0:
		k.ahead[sortOf(ev)]--
		k.result.Same++
		k.result.Merged++
	case timed:
		k.result.ByTimer = append(k.result.ByTimer, recordedWrite(ev, true))
	case ev.verb == VerbUpdateStatus && r.isPassing(k, ev):
		k.result.Same++
		k.result.Merged++
	default:
		k.result.Missing = append(k.result.Missing, recordedWrite(ev, true))
	}
}

// isPassing reports whether a status is one in between: another one follows soon, or a later one is what the object has
// at this moment. r.mu must be held.
func (r *run) isPassing(k *keyState, ev *event) bool {
	current := contentText(comparable(r.object(ev.objectID()).current, VerbUpdateStatus))
	return slices.ContainsFunc(k.effects, func(later *event) bool {
		return later != ev && !later.played && later.verb == VerbUpdateStatus && later.objectID() == ev.objectID() &&
			(later.soonAfter(ev) || contentText(later.content) == current)
	})
}

// playEvent has clients see an event. r.mu must be held.
func (r *run) playEvent(ev *event) {
	if ev.played {
		return
	}
	ev.played = true
	r.note("play %s", ev)
	object := r.object(ev.objectID())
	object.coming = slices.DeleteFunc(object.coming, func(one *event) bool { return one == ev })
	data, obj, err := r.shifted(ev)
	if err == nil {
		_, err = r.session.Server().Play(r.ctx, api.PlayedEvent{
			Object:  api.StoredObject{Kind: ev.stream.GVK(), Resource: ev.stream.Resource, JSON: data},
			Deleted: ev.isDeletion(), ResourceVersion: ev.record.ResourceVersion,
		})
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("playing record %d: %w", ev.record.Number, err)
	}
	if object.current = obj; ev.isDeletion() {
		object.current = nil
	}
}

// The texts of refusals.
const (
	refusedEnded     = "this key is not compared any more"
	refusedDifferent = "this write is not in the recording"
	refusedEarly     = "this write is too early for the recording; try again"
	refusedChoice    = "another object was deleted in the recording, which is as good"
)

func conflict(text string) answer {
	return answer{refused: text, code: http.StatusConflict, reason: metav1.StatusReasonConflict}
}

func forbidden(text string) answer {
	return answer{refused: text, code: http.StatusForbidden, reason: metav1.StatusReasonForbidden}
}

// answer compares a write of a controller.
func (r *run) answer(_ context.Context, w *write) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.key(w.keyID)
	if k.ended {
		return forbidden(refusedEnded)
	}
	if w.verb != VerbCreate && r.changesNothing(w) {
		return answer{name: w.object.Name}
	}
	effects := k.effects
	if unknown := r.keys[keyID{w.controller, ""}]; unknown != nil && w.key != "" {
		effects = slices.Concat(effects, unknown.effects)
	}
	found, ev := match(w, effects, r.moment, r.target)
	r.note("write of %s %s: %s %s %s, moment %d, outcome %d of %s", w.controller, w.key, w.verb, w.object.Resource,
		w.object.Name, r.moment, found, ev)
	switch found {
	case same, merged:
		return r.accept(w, ev, found == merged)
	case premature:
		k.early++
		return conflict(refusedEarly)
	case otherChoice:
		if r.areAlike(w.objectID(), ev.objectID()) {
			ev.otherChoice = true
			return conflict(refusedChoice)
		}
		k.ended, ev.compared = true, true
		k.result.Other = &Difference{
			Recorded: recordedWrite(ev, false), Replayed: r.replayedWrite(w, false),
			Fields: []inspect.Change{{Path: "metadata.name", Old: ev.record.Name, New: w.object.Name}},
		}
	case different:
		k.ended, ev.compared = true, true
		k.result.Other = &Difference{
			Recorded: recordedWrite(ev, false), Replayed: r.replayedWrite(w, false),
			Fields: differences(ev.content, w.content),
		}
	case unmatched:
		extra := r.replayedWrite(w, true)
		if byTimer(extra.Causes) {
			k.result.ByTimer = append(k.result.ByTimer, extra)
		} else {
			k.result.Extra = append(k.result.Extra, extra)
		}
		k.ended = true
	}
	return forbidden(refusedDifferent)
}

// areAlike reports whether two pods are the same but for times, names and nodes, so that which of them a controller
// deletes is left to chance, or depends on fractions of seconds. r.mu must be held.
func (r *run) areAlike(a, b objectID) bool {
	x, y := r.object(a).current, r.object(b).current
	return x != nil && y != nil && a.resource == core("pods") && a.namespace == b.namespace && rankText(x) == rankText(y)
}

// rankText is what decides which pods are deleted first, without times: ActivePodsWithRanks of pkg/controller of
// k8s.io/kubernetes.
func rankText(pod fields) string {
	ready := ""
	for _, condition := range pod.maps("status", "conditions") {
		if condition.text("type") == "Ready" {
			ready = condition.text("status")
		}
	}
	return contentText(fields{
		"assigned": pod.text("spec", "nodeName") != "", "phase": pod.text("status", "phase"), "ready": ready,
		"deleting": pod.isDeleting(), "labels": pod.at("metadata", "labels"),
		"cost": pod.text("metadata", "annotations", "controller.kubernetes.io/pod-deletion-cost"),
	})
}

// byTimer reports whether nothing but timers has led to a reconcile.
func byTimer(causes []trace.Cause) bool {
	return len(causes) > 0 && !slices.ContainsFunc(causes, func(c trace.Cause) bool { return c.Type != trace.CauseTimer })
}

// changesNothing reports whether the object is already as a write wants it, which no event shows. r.mu must be held.
func (r *run) changesNothing(w *write) bool {
	current := r.object(w.objectID()).current
	switch {
	case current == nil:
		return false
	case w.verb == VerbDelete:
		return current.isDeleting()
	}
	return contentText(comparable(current, w.verb)) == contentText(w.content)
}

func (w *write) objectID() objectID {
	return objectID{schema.GroupResource{Group: w.object.Group, Resource: w.object.Resource}, w.object.Namespace, w.object.Name}
}

// accept answers a write by an effect: what comes before it in the history of its object is played first. r.mu must be
// held.
func (r *run) accept(w *write, ev *event, later bool) answer {
	object := r.object(ev.objectID())
	before := object.coming[:max(slices.Index(object.coming, ev), 0)]
	for _, earlier := range before {
		if e := earlier.effect; e != nil && !r.belongsTo(earlier, w.keyID) && !r.key(keyID{e.controller, e.key}).ended {
			r.note("refused, as before comes %s", earlier)
			return conflict(refusedEarly) // the object is changed by another controller before
		}
	}
	for _, earlier := range slices.Clone(before) {
		if earlier.effect != nil {
			r.judge(earlier, false)
		}
		r.playEvent(earlier)
	}
	k := r.key(keyID{ev.effect.controller, ev.effect.key})
	k.result.Same++
	k.early = 0
	if k.isAhead(ev) {
		k.ahead[sortOf(ev)]++
	}
	if later {
		k.result.Merged++
	}
	r.playEvent(ev)
	if r.err != nil {
		return forbidden(r.err.Error())
	}
	if w.verb == VerbDelete {
		return answer{}
	}
	return answer{name: ev.record.Name}
}

// belongsTo reports whether an effect is one of the key, or of its controller with an unknown key.
func (r *run) belongsTo(ev *event, id keyID) bool {
	return ev.effect.controller == id.controller && (ev.effect.key == id.key || ev.effect.key == "")
}

// replayedWrite describes a write of the run. r.mu must be held.
func (r *run) replayedWrite(w *write, changes bool) Write {
	out := Write{Verb: w.verb, Object: w.object, Reconcile: w.reconcile, Causes: r.causes.of(w.reconcile)}
	if !changes || w.verb == VerbDelete {
		return out
	}
	var before fields
	if current := r.object(w.objectID()).current; current != nil && w.verb != VerbCreate {
		before = comparable(current, w.verb)
	}
	out.Changes, _ = inspect.Changes(object(before), object(w.content)) // they are JSON values
	return out
}

// finish has all keys reconciled that are left: what they write was not recorded.
func (r *run) finish(ctx context.Context) error {
	r.setMoment(late, nil)
	for {
		found := false
		for _, k := range r.held() {
			if r.rounds[k] >= maxRounds {
				continue
			}
			r.rounds[k]++
			found = true
			if err := r.release(ctx, k); err != nil {
				return err
			}
		}
		if !found {
			return nil
		}
	}
}

// summary returns the result.
func (r *run) summary() *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, k := range r.keys {
		one := &k.result
		if one.Same+one.Uncompared+len(one.Missing)+len(one.Extra)+len(one.ByTimer) == 0 && one.Other == nil {
			continue
		}
		one.Object = r.namedObject(id)
		r.result.Keys = append(r.result.Keys, *one)
	}
	sort.Slice(r.result.Keys, func(i, j int) bool {
		a, b := &r.result.Keys[i], &r.result.Keys[j]
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Key, b.Key)) < 0
	})
	return r.result
}

// note tells a test what is decided.
func (r *run) note(format string, args ...any) {
	if r.options.observe != nil {
		r.options.observe(fmt.Sprintf(format, args...))
	}
}
