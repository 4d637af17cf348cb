package recorder

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/internal/apijson"
)

// stream records one selection. Its methods are called from its goroutine, but for those of its gap.
type stream struct {
	recorder  *Recorder
	api       *apiClient
	selection Selection
	// definition is that of the selection, without a number.
	definition replay.Stream
	// tried is called when the first attempt to list is over.
	tried func()

	number  int    // 0 until the first list is complete
	version string // to resume the watch at; empty if a list is needed
	// heard is when the stream was last known to be complete.
	heard time.Time
	// answered is when the server last sent an event or a list of the stream, or accepted a watch.
	answered time.Time
	// failures counts the attempts since then that have failed.
	failures int
	// expired reports whether a list is needed because the server does not have the events since version any more.
	expired bool
	// relists counts the lists since the last event, but for the first list.
	relists int
	// unaccepted reports whether the last attempt has failed before the server accepted a watch.
	unaccepted bool
	// distrusted reports whether the last watch has ended with an ERROR before any event.
	distrusted bool

	gap gap
}

// gap is the time since a stream was last known to be complete, once an attempt has failed.
type gap struct {
	mu      sync.Mutex // guards what follows
	current *replay.Gap
	// attempt changes whenever an attempt fails: an end that was planned before is off.
	attempt int
	// connected reports whether there is a watch, watching whether it is counted: not before the gap has ended.
	connected, watching bool
	// watched reports whether a watch has worked: it had an event that can be used, or lasted without an error.
	watched bool
	// watches counts those that the server has accepted.
	watches int
	// erring reports whether watches have failed that the server had accepted: another one is not trusted at once.
	erring bool
}

// resumedAfter is how long after a watch was resumed it is taken to be complete if nothing arrives: a server that does
// not have the events any more says so at once.
const resumedAfter = time.Second

// trustedAfter is how long a watch must last, after others were accepted and failed, until it is taken to work if it
// has no event that can be used. A list does not count: one may work while no watch does.
const trustedAfter = 30 * time.Second

// mostAtOnce is how many watches may end at once, one after the other, before that is a trouble.
const mostAtOnce = 8

// unusableError is the error of a watch that the server has accepted, and that is of no use.
type unusableError string

// Error implements error.
func (e unusableError) Error() string { return string(e) }

const errEndsAtOnce = unusableError("the server ends each watch at once")

// run records until ctx ends, or until it is clear that the selection cannot be recorded.
func (s *stream) run(ctx context.Context) {
	defer s.tried()
	defer func() { _ = s.end() }() // the journal keeps the error
	for ctx.Err() == nil {
		progressed, err := s.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil && progressed:
			continue
		case err == nil: // a watch that has ended at once for no reason
			if s.failures++; s.failures == mostAtOnce {
				s.gap.interrupt(true)
				s.trouble(errEndsAtOnce, false)
			}
		case isRefusal(err) && s.number == 0:
			s.trouble(err, true)
			return
		default:
			if s.failed(err) != nil {
				return
			}
			s.tried()
			if s.expired && s.failures+s.relists == 0 {
				continue
			}
		}
		var back <-chan struct{}
		if s.unaccepted {
			back = s.recorder.back.wait()
		}
		if !wait(ctx, s.recorder.options.Clock, s.recorder.backoff(max(s.failures, s.relists, 1), err), back) {
			return
		}
	}
}

// attempt lists if that is needed, and then watches until the watch ends. It returns false if nothing came of it.
func (s *stream) attempt(ctx context.Context) (progressed bool, err error) {
	if s.version == "" || s.expired {
		items, version, err := s.api.list(ctx, &s.selection)
		if err != nil {
			s.unaccepted = true
			return false, err
		}
		s.recorder.hear()
		if err := s.listed(items, version); err != nil {
			return false, err
		}
		s.tried()
	}
	return s.watch(ctx)
}

// watch watches until the watch ends, or its connection breaks. It returns false if it was very short and had no event.
func (s *stream) watch(ctx context.Context) (progressed bool, err error) {
	r := s.recorder
	began := r.options.Clock.Now()
	connected := false
	var problem error // of an event
	err = s.api.watch(ctx, &s.selection, s.version, func() {
		connected = true
		if s.unaccepted {
			r.back.broadcast()
		}
		s.answered = r.journal.present()
		r.hear()
		s.resumed()
	}, func(e *apijson.Event) error {
		if e.Type == "ERROR" {
			return newErrorEvent(bytes.Clone(e.JSON))
		}
		s.hear()
		switch unusable := unusable(e); {
		case unusable != nil:
			problem = unusable
			s.gap.interrupt(true)
			s.trouble(unusable, false)
		case e.ResourceVersion != s.version:
			progressed = true
			s.failures, s.relists, s.distrusted = 0, 0, false
		}
		return s.recordEvent(e)
	})
	s.disconnected()
	if err == nil && !progressed {
		err = problem
	}
	s.unaccepted = !connected
	if !connected || isErrorEvent(err) || isUnusable(err) || r.journal.broken() {
		return progressed, err
	}
	if err == nil {
		s.hear()
	} else { // it was complete for as long as the server sent anything
		s.completeUntil(r.lastHeard())
	}
	if progressed || r.options.Clock.Since(began) >= suspiciouslyShort {
		s.failures = 0
		return true, nil
	}
	return false, err
}

// recordEvent records an event.
func (s *stream) recordEvent(e *apijson.Event) error {
	record, err := s.event(e)
	if err != nil {
		return err
	}
	if err := s.recorder.journal.write(record); err != nil {
		return err
	}
	s.completeUntil(record.Time)
	s.answered = record.Time
	s.recorder.kindsChanged(&s.selection)
	return nil
}

// hear remembers that the stream is complete up to the time.
func (s *stream) hear() {
	s.recorder.hear()
	s.completeUntil(s.recorder.lastHeard())
}

// completeUntil remembers that the stream is complete up to a time.
func (s *stream) completeUntil(t time.Time) {
	if t.After(s.heard) {
		s.heard = t
	}
}

// unusable returns what is wrong with an event; nil if it can be recorded, and the watch resumed after it.
func unusable(e *apijson.Event) error {
	switch known := slices.Contains([]string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}, e.Type); {
	case !known:
		return unusableError(fmt.Sprintf("an event has the unknown type %q", e.Type[:min(len(e.Type), 40)]))
	case e.Type != "BOOKMARK" && e.Name == "":
		return unusableError("the object of an event has no name")
	case e.ResourceVersion == "":
		return unusableError("the object of an event has no resource version")
	}
	return nil
}

// event returns the record of an event.
func (s *stream) event(e *apijson.Event) (*replay.Record, error) {
	if unusable(e) == nil {
		if err := s.endGap(true); err != nil {
			return nil, err
		}
		if e.ResourceVersion != s.version {
			s.gap.trust()
			s.recorder.troubles.clear(s)
		}
	}
	as := replay.TypeAdded
	switch e.Type {
	case "ADDED":
	case "MODIFIED":
		as = replay.TypeModified
	case "DELETED":
		as = replay.TypeDeleted
	case "BOOKMARK":
		s.version = e.ResourceVersion
		return &replay.Record{Type: replay.TypeBookmark, Stream: s.number, ResourceVersion: e.ResourceVersion}, nil
	default: // of a version of the API that does not exist yet
		return &replay.Record{
			Type: replay.TypeError, Stream: s.number, Message: "an event of the unknown type " + e.Type,
		}, nil
	}
	if e.ResourceVersion != "" {
		s.version = e.ResourceVersion
	}
	return s.record(as, &e.Item), nil
}

// record returns the record of an object, which is redacted. If it cannot be, it is one that says so.
func (s *stream) record(as replay.Type, i *apijson.Item) *replay.Record {
	if i.Name == "" {
		return s.recorder.leftOut(s.number, i, nameless)
	}
	object, err := s.redacted(i.JSON)
	if err != nil {
		return s.recorder.leftOut(s.number, i, notRedacted)
	}
	return &replay.Record{
		Type: as, Stream: s.number, Namespace: i.Namespace, Name: i.Name, UID: i.UID,
		ResourceVersion: i.ResourceVersion, Object: object,
	}
}

// redacted returns the object as it may be recorded, in memory of its own.
func (s *stream) redacted(object []byte) ([]byte, error) {
	if s.recorder.options.Redactor == nil {
		return bytes.Clone(object), nil
	}
	out, err := s.recorder.options.Redactor.Redact(&s.definition, object)
	if err != nil {
		return nil, err
	}
	if len(out) > 0 && len(object) > 0 && &out[0] == &object[0] {
		return bytes.Clone(object), nil
	}
	return out, nil
}

// failed takes note of an attempt that has failed. The error that it returns is that of the sink.
func (s *stream) failed(err error) error {
	if s.recorder.journal.broken() {
		return err
	}
	s.gap.interrupt(isErrorEvent(err))
	// The second ERROR in a row without an event between is taken for one that the same watch would get again.
	lost := cluster.IsLost(err) || isErrorEvent(err) && s.distrusted
	switch {
	case lost && s.number != 0 && !s.expired:
		s.expired, s.distrusted, s.failures = true, false, 0
		return s.recordError(err)
	case isErrorEvent(err), isRefusal(err) && s.failures == 0 && s.number != 0:
		s.distrusted = isErrorEvent(err)
		if err := s.recordError(err); err != nil {
			return err
		}
	}
	s.failures++
	s.trouble(err, false)
	s.beginGap(err)
	return nil
}

// recordError records an error that the server sent.
func (s *stream) recordError(err error) error {
	return s.recorder.journal.write(&replay.Record{
		Type: replay.TypeError, Stream: s.number, Object: statusJSON(err), Message: err.Error(),
	})
}

// trouble reports that the selection cannot be recorded.
func (s *stream) trouble(err error, ended bool) {
	incomplete := s.selection.Incomplete(err)
	if isUnusable(err) {
		incomplete.Reason = cluster.ReasonUnreadable
	}
	s.recorder.troubles.set(s, Trouble{
		Incomplete: incomplete, Listed: s.number != 0, Watched: s.gap.hasWatched(), Ended: ended,
	})
}

// beginGap begins a gap because of an error, or counts one more attempt in it.
func (s *stream) beginGap(err error) {
	if s.number == 0 {
		return // nothing was recorded that could have a gap
	}
	s.gap.mu.Lock()
	defer s.gap.mu.Unlock()
	if s.gap.current == nil {
		s.gap.current = &replay.Gap{Reason: gapReason(err), Since: s.heard}
	}
	s.gap.current.Attempts++
}

// interrupt keeps the gap from ending. erring is true for a failure of a watch that the server had accepted.
func (g *gap) interrupt(erring bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.attempt++
	g.erring = g.erring || erring
}

// trust remembers that a watch works.
func (g *gap) trust() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watched, g.erring = true, false
}

func (g *gap) hasWatched() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.watched
}

func (g *gap) isErring() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.erring
}

// resumed is called when the server has accepted a watch. It ends a gap and a trouble a little later, unless an error
// comes meanwhile.
func (s *stream) resumed() {
	s.gap.mu.Lock()
	defer s.gap.mu.Unlock()
	s.gap.connected = true
	s.gap.watches++
	current, attempt, watch := s.gap.current, s.gap.attempt, s.gap.watches
	if current == nil {
		s.gap.watch(s)
	}
	lasts := func(trusted bool) func() {
		return func() {
			s.gap.mu.Lock()
			defer s.gap.mu.Unlock()
			if s.gap.attempt == attempt {
				s.lasts(current, trusted, s.gap.connected && s.gap.watches == watch)
			}
		}
	}
	if current != nil || !s.gap.watched {
		s.recorder.options.Clock.AfterFunc(resumedAfter, lasts(false))
	}
	if s.gap.erring {
		s.recorder.options.Clock.AfterFunc(trustedAfter, lasts(true))
	}
}

// lasts ends a gap some time after a watch was accepted, if no attempt has failed since. If it is still the same watch,
// it works: after watches that were erring only if it is trusted. gap.mu must be held.
func (s *stream) lasts(current *replay.Gap, trusted, same bool) {
	ended := s.gap.current == current && current != nil
	if ended {
		_ = s.gap.write(s, true) // the journal keeps the error
	}
	works := same && (trusted || !s.gap.erring)
	if works {
		s.gap.watched, s.gap.erring = true, false
	}
	if works || ended && !s.gap.erring {
		s.recorder.troubles.clear(s)
	}
}

// watch counts the stream among those that are watched. g.mu must be held.
func (g *gap) watch(s *stream) {
	if g.connected && !g.watching {
		g.watching = true
		s.recorder.watching.Add(1)
	}
}

// disconnected is called when there is no watch any more.
func (s *stream) disconnected() {
	s.gap.mu.Lock()
	defer s.gap.mu.Unlock()
	if s.gap.watching {
		s.recorder.watching.Add(-1)
	}
	s.gap.connected, s.gap.watching = false, false
}

// end records what is missing at the end: the gap that has begun, or a sleep of this machine since which the server has
// not answered. The connection may have broken meanwhile, and what the server had then was not received.
func (s *stream) end() error {
	s.gap.mu.Lock()
	begun := s.gap.current != nil
	s.gap.mu.Unlock()
	slept := s.recorder.journal.lastSleep()
	if begun || s.number == 0 || slept.till.IsZero() || !s.answered.Before(slept.till) {
		return s.endGap(false)
	}
	return s.recorder.journal.write(&replay.Record{
		Type: replay.TypeGap, Stream: s.number, Gap: &replay.Gap{Reason: replay.GapSleep, Since: slept.since},
	})
}

// endGap records the gap that has begun, if one has.
func (s *stream) endGap(complete bool) error {
	s.gap.mu.Lock()
	defer s.gap.mu.Unlock()
	return s.gap.write(s, complete)
}

// write records the gap of a stream. g.mu must be held.
func (g *gap) write(s *stream, complete bool) error {
	if g.current == nil {
		return nil
	}
	current := g.current
	g.current, current.Complete = nil, complete
	err := s.recorder.journal.write(&replay.Record{Type: replay.TypeGap, Stream: s.number, Gap: current})
	g.watch(s)
	return err
}
