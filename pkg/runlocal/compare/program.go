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
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/redact"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Program is a controller that runs in a separate process.
type Program struct {
	// Name is what results call it.
	Name string
	// Writers are the field managers as which it wrote when it was recorded, or its users where the input is an audit
	// log.
	Writers []string
	// Run runs it until ctx ends, with the token as the user that it must be. If it returns before ctx has ended,
	// RunProgram returns a *ProgramError.
	Run func(ctx context.Context, server *playback.Server, token string) error
}

// ProgramOptions say how RunProgram compares. The zero value has it serve in process only.
type ProgramOptions struct {
	// From is as in Options.
	From replay.Moment
	// Listen is as in playback.Options.
	Listen string
	// Startup is how long the program may take until it watches something; 0 is one minute.
	Startup time.Duration
	// Patience is how long a write that was recorded is waited for, beside the time that passed before it when it was
	// recorded; 0 is ten seconds.
	Patience time.Duration
	// MaxWait is the longest recorded pause that is waited for; 0 is 15 seconds. What was written after a longer one is
	// a write by a timer.
	MaxWait time.Duration
	// Ignore are the fields that are not compared.
	Ignore []redact.Rule
	// Clock is the real one if it is nil.
	Clock clock.WithTicker

	observe func(string) // as in Options
}

const (
	defaultStartup         = time.Minute
	defaultProgramPatience = 10 * time.Second
	// quiet is how long a program must have begun no list and no watch to be taken as started.
	quiet = time.Second
	// passingPatience is how long a write is waited for that the program need not make.
	passingPatience = 400 * time.Millisecond
	// retryPatience is how long it is waited until the program tries a status again that was refused in the place of
	// one that it need not make. Its pauses double with each refusal, so that one such status after the other would
	// be waited for twice as long as the one before.
	retryPatience = 3 * time.Second
	// viewTime is how long a program gets to write for what it has seen, before it sees more.
	viewTime = 250 * time.Millisecond
	// confirmTime and confirmTries are for how long and how often a write that was not recorded is refused before it
	// counts: the program may have seen less than it was sent.
	confirmTime  = time.Second
	confirmTries = 3
	// programUser is the user that the program is.
	programUser = "system:serviceaccount:kubectl-reconcile:controller"
)

// ProgramError is the error of a program that ended before the comparison did.
type ProgramError struct {
	Name string
	// Err is what Run returned; nil if it returned no error.
	Err error
	// Played of Events were played.
	Played, Events int
}

// Error implements error.
func (e *ProgramError) Error() string {
	why := e.Name + " ended by itself"
	if e.Err != nil {
		why = e.Err.Error()
	}
	return fmt.Sprintf("%s, after %d of %d events", why, e.Played, e.Events)
}

// Unwrap returns Err.
func (e *ProgramError) Unwrap() error { return e.Err }

// ErrNotStarted is the error of a program that watches nothing.
var ErrNotStarted = errors.New("the program has not begun to watch anything")

// NoWritesError is the error of a recording without writes of a program.
type NoWritesError struct {
	// Writers are those that were looked for.
	Writers []string
	// Others are those that the recording has, the most writes first.
	Others []WriterCount
}

// WriterCount is how many writes of a field manager, or of a user, a recording has.
type WriterCount struct {
	Writer string
	Writes int
}

// Error implements error.
func (e *NoWritesError) Error() string {
	return fmt.Sprintf("the recording has no write of %q", e.Writers)
}

// RunProgram plays the recording to a program, and compares what it writes with what the program did that was recorded:
// programschedule.go decides when a write is due, programmatch.go what it is like.
// The keys of the result are the objects that it writes, together with what owns them as their controller.
//
// Writes that were not recorded are refused as conflicts, so that the program tries again with what it sees then. They
// count if it still makes them after everything has come that was recorded before.
func RunProgram(ctx context.Context, recording replay.Recording, p Program, o ProgramOptions) (*Result, error) {
	return runProgram(ctx, recording, p, o, nil)
}

// runProgram is RunProgram, and with accepted, which is filled, Accept.
func runProgram(
	ctx context.Context, recording replay.Recording, p Program, o ProgramOptions, accepted *Accepted,
) (*Result, error) {
	if o.From == (replay.Moment{}) {
		o.From = replay.Moment{Start: true}
	}
	o.Startup, o.MaxWait = cmp.Or(o.Startup, defaultStartup), cmp.Or(o.MaxWait, defaultMaxWait)
	o.Patience = cmp.Or(o.Patience, defaultProgramPatience)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	loaded, err := load(ctx, recording, o.From, func(gr schema.GroupResource) bool {
		return !slices.Contains(uncompared, gr)
	})
	if err != nil {
		return nil, err
	}
	loaded.keysOf, loaded.hiding.ignored = programKeys, o.Ignore
	found := newProgramWrites(p, loaded)
	if err := loaded.attribute(found.who); err != nil {
		return nil, err
	}
	if found.count == 0 {
		return nil, found.none()
	}
	r := newProgramRun(loaded, p, o)
	if accepted != nil {
		r.acceptor = newAcceptor(r, accepted)
		r.rebase = r.acceptor.rebase
	}
	return r.play(ctx, recording)
}

// programRun is a run with a program. Its methods are called by one goroutine, answer by those that serve requests.
type programRun struct {
	*run
	program Program
	options ProgramOptions
	server  *playback.Server
	// acceptor is nil unless what differs is accepted.
	acceptor *acceptor
	streams  map[schema.GroupResource]*replay.Stream
	// woken holds a token when a write was answered, or a watch was begun.
	woken chan struct{}

	// What follows is guarded by run.mu.

	refused    map[keyID][]*refusedWrite
	failing    map[keyID]time.Time // when a write for the key was refused first
	fresh      map[keyID]bool      // the program has seen something of the key since it wrote for it
	unsure     map[keyID]func()    // judges what may be due to chance
	kept       map[objectID]bool   // objects that nothing was recorded of, and that the program has made all the same
	passed     map[keyID][]*event  // statuses in between that were not written, and that a later one may make up for
	played     int                 // how many events were played
	playedAt   time.Time           // when an event was played last
	watches    int                 // that the program has begun
	readAt     time.Time           // when it began to list or watch last
	answeredAt time.Time           // when it wrote last
}

func newProgramRun(l *recorded, p Program, o ProgramOptions) *programRun {
	r := &programRun{
		run: newRun(Options{Clock: o.Clock, observe: o.observe}, l), program: p, options: o,
		woken: make(chan struct{}, 1), refused: map[keyID][]*refusedWrite{}, failing: map[keyID]time.Time{},
		passed: map[keyID][]*event{}, kept: map[objectID]bool{}, fresh: map[keyID]bool{}, unsure: map[keyID]func(){},
		streams: map[schema.GroupResource]*replay.Stream{},
	}
	for _, one := range l.streams {
		r.streams[one.GroupResource()] = &one.Stream
	}
	r.result.Controllers = []string{p.Name}
	r.result.Writers = p.Writers
	r.named = r.namedKey
	r.deliver = r.deliverRecord
	return r
}

// play runs the program on the recording.
func (r *programRun) play(ctx context.Context, recording replay.Recording) (*Result, error) {
	if _, err := r.initial(); err != nil {
		return nil, err
	}
	r.ctx = ctx
	token := api.NewToken()
	server, err := playback.Start(ctx, recording, playback.Options{
		At: r.options.From, Listen: r.options.Listen, Writable: true, Move: r.move, Clock: r.options.Clock,
		Users: []api.RecordedUser{{Name: programUser, Token: token}}, Handler: r.handler,
		Uncontrolled: "the recording is played as the program under comparison writes",
	})
	if err != nil {
		return nil, err
	}
	r.server = server
	err = r.playWith(ctx, token)
	if err = errors.Join(err, server.Stop()); err != nil {
		return nil, err
	}
	return r.summary(), nil
}

// playWith plays the events while the program runs.
func (r *programRun) playWith(ctx context.Context, token string) error {
	running, stop := context.WithCancelCause(ctx)
	var ended error
	var program sync.WaitGroup
	program.Go(func() {
		ended = r.program.Run(running, r.server, token)
		stop(errProgramEnded) // the first cause counts
	})
	err := r.start(running)
	if err == nil {
		err = r.playEvents(running)
	}
	if err == nil {
		err = r.finish(running)
	}
	cause := context.Cause(running)
	stop(nil)
	program.Wait()
	if errors.Is(cause, errProgramEnded) && ctx.Err() == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		return &ProgramError{Name: r.program.Name, Err: ended, Played: r.played, Events: len(r.loaded.events)}
	}
	return err
}

// errProgramEnded is why the context of a program ends that returned by itself.
var errProgramEnded = errors.New("the program ended")

// move is the Move of the playback. What cannot be read is refused by the API.
func (r *programRun) move(object []byte) []byte { return r.timeline.shift(r.hiding.reveal(object)) }

// deliverRecord is the deliver of a run with a program. What the API cannot serve is counted: it may be of a kind that
// has nothing to do with the program. r.mu must be held.
func (r *programRun) deliverRecord(ev *event, _ []byte) error {
	record := ev.record.Clone()
	if record.Relisted || record.Type == replay.TypeListItem { // those wait for the end of the list
		record.Relisted = false
		if record.Type == replay.TypeListItem {
			record.Type = replay.TypeAdded
		}
	}
	if err := r.server.Deliver(r.ctx, record); err != nil {
		if r.ctx.Err() != nil {
			return err
		}
		r.note("not served: %v", err)
		r.result.NotServed++
	}
	r.played++
	r.playedAt = r.clock.Now()
	for id, list := range r.refused {
		for _, one := range list {
			if r.isOf(ev, id) {
				one.tries, one.due = 0, false // the program sees something else
			}
		}
	}
	for _, key := range ev.keys {
		r.fresh[keyID{r.program.Name, key}] = ev.effect == nil
	}
	return nil
}

// handler answers the writes of the program, and takes note of what it reads.
func (r *programRun) handler(next http.Handler) http.Handler {
	answering := &handler{
		next: next, outside: true, write: r.answer,
		who: func(req *http.Request) (caller, bool) { return caller{}, isProgram(req) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if info, ok := genericapirequest.RequestInfoFrom(req.Context()); ok && isProgram(req) &&
			(info.Verb == "watch" || info.Verb == "list") {
			r.noteRead(info.Verb == "watch")
		}
		answering.ServeHTTP(w, req)
	})
}

func isProgram(req *http.Request) bool {
	user, ok := genericapirequest.UserFrom(req.Context())
	return ok && user.GetName() == programUser
}

func (r *programRun) noteRead(watch bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readAt = r.clock.Now()
	if watch {
		r.watches++
	}
	r.wake()
}

// wake has the goroutine of the run look again.
func (r *programRun) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// await waits until done returns true, or until a time. Done is called with r.mu held, and returns when it wants to be
// called again if nothing happens before; zero if it does not.
func (r *programRun) await(
	ctx context.Context, until time.Time, done func(now time.Time) (bool, time.Time),
) (bool, error) {
	for {
		r.mu.Lock()
		now := r.clock.Now()
		ok, again := done(now)
		err := r.err
		r.mu.Unlock()
		switch {
		case err != nil:
			return false, err
		case ok:
			return true, nil
		case !now.Before(until):
			return false, nil
		}
		if again.IsZero() || again.After(until) {
			again = until
		}
		timer := r.clock.NewTimer(again.Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false, ctx.Err()
		case <-r.woken:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// start waits until the program watches something, and begins to read nothing more.
func (r *programRun) start(ctx context.Context) error {
	ok, err := r.await(ctx, r.clock.Now().Add(r.options.Startup), func(now time.Time) (bool, time.Time) {
		if r.watches == 0 {
			return false, time.Time{} // what it reads wakes this
		}
		settled := r.readAt.Add(quiet)
		return !now.Before(settled), settled
	})
	if err == nil && !ok && r.hasWatches() {
		return nil // it goes on to list what it does not watch
	}
	if err == nil && !ok {
		return fmt.Errorf("%w within %s", ErrNotStarted, r.options.Startup)
	}
	return err
}

func (r *programRun) hasWatches() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watches > 0
}

// isOf reports whether an event is about an object of the key.
func (r *programRun) isOf(ev *event, id keyID) bool {
	return slices.Contains(ev.keys, id.key)
}

// causeOf returns what the program may have written for, before an event, or after those that were played if that is
// nil: of the events since its last write for the key the last that is about an object of the key, or else the last of
// all; without any the last about the key. It is nil if there was none.
func (r *programRun) causeOf(id keyID, before *event) []trace.Cause {
	var recent, other, last *event
	for _, ev := range r.loaded.events {
		if ev == before {
			break
		}
		switch {
		case before == nil && !ev.played:
		case ev.effect != nil && r.idOf(ev) == id:
			recent, other = nil, nil
		case r.isOf(ev, id):
			recent, last = ev, ev
		default:
			other = ev
		}
	}
	if found := cmp.Or(recent, other, last); found != nil {
		return watchCause(found, false)
	}
	for _, ev := range r.loaded.objects {
		if r.isOf(ev, id) {
			return watchCause(ev, true)
		}
	}
	return nil
}

func watchCause(ev *event, initial bool) []trace.Cause {
	return []trace.Cause{{Type: trace.CauseWatch, Watch: watchOf(ev, initial)}}
}

// watchOf describes an event as a trace does.
func watchOf(ev *event, initial bool) *trace.Watch {
	w := &trace.Watch{Event: trace.Modified, Initial: initial, ResourceVersion: ev.record.ResourceVersion}
	w.Object = ev.id()
	switch {
	case ev.isDeletion():
		w.Event = trace.Deleted
	case initial || ev.record.Type == replay.TypeAdded:
		w.Event = trace.Added
	}
	return w
}
