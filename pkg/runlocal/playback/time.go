package playback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"time"

	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

const (
	// untimedPause is the time between two records of a recording without times.
	untimedPause = 100 * time.Millisecond
	// batchSize is how many records are delivered before others may use the server.
	batchSize = 64
	// playThrough is how many records a seek forward delivers one by one; over more of them the state is loaded, as by
	// a seek back.
	playThrough = 20000
	// maxSpeed and minSpeed bound the speed.
	maxSpeed, minSpeed = 10000, 0.001
)

var (
	// ErrWritten is the error of playing on after a client has written. Seek loads a state of the recording again.
	ErrWritten = errors.New("a client has written, and what was recorded after that would contradict it")
	// ErrEnd is the error of playing on after the last record.
	ErrEnd = errors.New("the recording is at its end")
)

// timeline is the time of the recording that is served. It is guarded by Server.mu.
type timeline struct {
	playing bool
	speed   float64
	// at is the time of the recording at the time since of the clock; while playing it goes on from there.
	at, since time.Time
	// end is why no more records follow: nil, io.EOF or that of a recording that cannot be read.
	end error
}

// now returns the time of the recording.
func (t *timeline) now(c clock.PassiveClock) time.Time {
	if !t.playing {
		return t.at
	}
	return t.at.Add(time.Duration(float64(c.Since(t.since)) * t.speed))
}

// set makes at the time of the recording.
func (t *timeline) set(c clock.PassiveClock, at time.Time) { t.at, t.since = at, c.Now() }

// Status is what is served at a time.
type Status struct {
	// Number is the number of the last record that was served, and Time the time of the recording, which goes on
	// between records; zero for a recording without times.
	Number int64     `json:"number"`
	Time   time.Time `json:"time,omitzero"`
	// Records, First and Last are those of the recording.
	Records int64     `json:"records"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	// Playing is true while records follow each other in time, Speed times as fast as they were recorded.
	Playing bool    `json:"playing"`
	Speed   float64 `json:"speed"`
	// Ended is true after the last record. Problem is not empty if the recording could not be read further, or was cut
	// off there.
	Ended   bool   `json:"ended,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Writable is Options.Writable. Written is true if a client has written since the state was loaded: then nothing is
	// played.
	Writable bool `json:"writable,omitempty"`
	Written  bool `json:"written,omitempty"`
	// Failed is the number of records that could not be served: see NotServed.
	Failed int `json:"failed,omitempty"`
}

// Status returns what is served.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status()
}

func (s *Server) status() Status {
	out := Status{
		Number: s.player.number, Records: s.info.Records, First: s.info.First, Last: s.info.Last,
		Playing: s.timeline.playing, Speed: s.timeline.speed, Ended: s.isAtEnd(),
		Writable: s.options.Writable, Written: s.written, Failed: s.kinds.failures,
	}
	if !s.info.First.IsZero() {
		out.Time = s.timeline.now(s.clock)
	}
	switch {
	case s.timeline.end != nil && !errors.Is(s.timeline.end, io.EOF):
		out.Problem = s.timeline.end.Error()
	case out.Ended && s.info.Torn != nil:
		out.Problem = s.info.Torn.Error()
	}
	return out
}

// Play serves the records that follow, in the order and at the speed in which they were recorded. The error is
// ErrWritten or ErrEnd.
func (s *Server) Play() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.canPlay(); err != nil {
		return err
	}
	if !s.timeline.playing {
		s.timeline.set(s.clock, s.timeline.at)
		s.timeline.playing = true
	}
	s.notify()
	return nil
}

func (s *Server) canPlay() error {
	switch {
	case s.written:
		return ErrWritten
	case s.isAtEnd():
		return ErrEnd
	}
	return nil
}

// isAtEnd reports whether no record follows.
func (s *Server) isAtEnd() bool { return s.timeline.end != nil || s.player.number >= s.info.Records }

// Pause makes time stand still.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause()
}

func (s *Server) pause() {
	s.timeline.set(s.clock, s.timeline.now(s.clock))
	s.timeline.playing = false
	s.notify()
}

// SetSpeed makes time go as many times as fast as it was recorded.
func (s *Server) SetSpeed(speed float64) error {
	if math.IsNaN(speed) || speed < minSpeed || speed > maxSpeed {
		return fmt.Errorf("setting the speed %v: it must be from %v to %v", speed, minSpeed, maxSpeed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timeline.set(s.clock, s.timeline.now(s.clock))
	s.timeline.speed = speed
	s.notify()
	return nil
}

// Step pauses, and serves the records up to the next watch event, n times. The error is ErrWritten or ErrEnd.
func (s *Server) Step(ctx context.Context, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause()
	if err := s.canPlay(); err != nil {
		return err
	}
	for n > 0 && ctx.Err() == nil {
		r, err := s.player.peek()
		if err != nil {
			s.finish(ctx, err)
			return ErrEnd
		}
		s.serve(ctx, r)
		if r.Type.HasObject() {
			n--
		}
	}
	return ctx.Err()
}

// Seek serves another moment of the recording, and goes on from there if it is playing. On the way forward clients
// receive what was recorded in between. On the way back, over very many records and after a client has written the
// state is loaded, and watches end with "410 Gone", so that clients list again. The error is a *replay.OutsideError if
// the moment is not in the recording; what is served is the same then.
func (s *Server) Seek(ctx context.Context, moment replay.Moment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	from := s.player.number
	state, err := s.player.recording.Seek(moment)
	if err != nil {
		return errors.Join(err, s.player.moveTo(from))
	}
	if s.written || state.Number < from || state.Number-from > playThrough {
		return s.reload(ctx, moment, state)
	}
	if err := s.player.moveTo(from); err != nil {
		return err
	}
	for s.player.number < state.Number && ctx.Err() == nil {
		r, err := s.player.peek()
		if err != nil {
			s.finish(ctx, err)
			return err
		}
		s.serve(ctx, r)
	}
	if s.player.number == state.Number {
		s.timeline.set(s.clock, timeOf(moment, state))
	}
	return ctx.Err()
}

// moveTo makes the record after a number the next one.
func (p *player) moveTo(number int64) error {
	p.pending = nil
	if number == 0 {
		return p.recording.Rewind()
	}
	_, err := p.recording.Seek(replay.Moment{Number: number})
	return err
}

// reload makes a state, after which the recording is, the one that is served.
func (s *Server) reload(ctx context.Context, moment replay.Moment, state *replay.State) error {
	s.arrive(moment, state)
	var unloaded []api.UnloadedObject
	for _, one := range s.kinds.all {
		if !one.served {
			continue
		}
		records := one.begin(state)
		missing, err := s.api.Replace(ctx, one.resource.GroupResource(), one.resource.ResourceVersion,
			s.storedObjects(one, records))
		if err != nil {
			return fmt.Errorf("serving %s at %s: %w", one.resource.GroupResource(), moment, err)
		}
		unloaded = append(unloaded, missing...)
	}
	s.kinds.settle(s.api, unloaded)
	return nil
}

// storedObjects yields the objects of records as the API is to have them.
func (s *Server) storedObjects(one *kind, records []*replay.Record) iter.Seq[api.StoredObject] {
	return func(yield func(api.StoredObject) bool) {
		for _, r := range records {
			if !yield(one.stored(s.moved(r.Object))) {
				return
			}
		}
	}
}

// moved returns the JSON of an object with its times moved, the same without Options.ShiftTimes and Options.Move.
func (s *Server) moved(data []byte) []byte {
	switch {
	case s.options.Move != nil:
		return s.options.Move(data)
	case s.shift == 0:
		return data
	}
	return snapshot.Retime(data, snapshot.NamedTimes, snapshot.Later(s.shift))
}

// arrive makes a state of the recording the one that is served. The caller holds s.mu, or has the server alone.
func (s *Server) arrive(moment replay.Moment, state *replay.State) {
	at := timeOf(moment, state)
	s.player.pending, s.player.number = nil, state.Number
	clear(s.player.lists)
	s.timeline.end = nil
	s.timeline.set(s.clock, at)
	s.written, s.shift = false, 0
	if s.options.ShiftTimes && !at.IsZero() {
		s.shift = s.clock.Now().Sub(at).Truncate(time.Second)
	}
}

// timeOf returns the time of a moment, whose state is that after the last record before it.
func timeOf(moment replay.Moment, state *replay.State) time.Time {
	if moment.Number == 0 && !moment.Time.IsZero() {
		return moment.Time
	}
	return state.Time
}

// serve delivers a record that was read, and takes note of it if the API cannot have it.
func (s *Server) serve(ctx context.Context, r *replay.Record) {
	if err := s.player.deliver(ctx, r); err != nil && ctx.Err() == nil {
		s.kinds.failed(r, err)
	}
	s.pass(r)
}

// pass takes note that a record was delivered or left out. The caller holds s.mu.
func (s *Server) pass(r *replay.Record) {
	s.player.pending, s.player.number = nil, r.Number
	if due := s.due(r); due.After(s.timeline.at) && !s.timeline.playing || r.Time.IsZero() {
		s.timeline.set(s.clock, due)
	}
}

// due returns the time of the recording at which a record is to be served.
func (s *Server) due(r *replay.Record) time.Time {
	if r.Time.IsZero() {
		return s.timeline.at.Add(untimedPause)
	}
	return r.Time
}

// finish ends the playback after the last record.
func (s *Server) finish(ctx context.Context, err error) {
	s.player.deliverRest(ctx)
	at := s.timeline.now(s.clock)
	if last := s.info.Last; s.timeline.playing && !last.IsZero() && at.After(last) {
		at = last
	}
	s.timeline.set(s.clock, at)
	s.timeline.playing, s.timeline.end = false, err
}

// notify makes the goroutine of the time look again.
func (s *Server) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run serves records when their time has come, until ctx ends.
func (s *Server) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, waiting := s.serveDue(ctx)
		if waiting && wait <= 0 {
			continue
		}
		var fired <-chan time.Time
		var timer clock.Timer
		if waiting {
			timer = s.clock.NewTimer(wait)
			fired = timer.C()
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-fired:
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// serveDue serves the records whose time has come, at most batchSize of them. It returns the time until the next; false
// if time stands still. If more are due than can be served, time goes slower than it should, and not ahead of them.
func (s *Server) serveDue(ctx context.Context) (wait time.Duration, waiting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last *replay.Record
	for range batchSize {
		if !s.timeline.playing {
			return 0, false
		}
		r, err := s.player.peek()
		if err != nil {
			s.finish(ctx, err)
			return 0, false
		}
		left := s.due(r).Sub(s.timeline.now(s.clock))
		if left > 0 {
			return max(time.Duration(float64(left)/s.timeline.speed), time.Microsecond), true
		}
		s.serve(ctx, r)
		last = r
	}
	if at := last.Time; !at.IsZero() {
		s.timeline.set(s.clock, at)
	}
	return 0, true
}
