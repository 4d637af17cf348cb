package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/keys"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// player plays a timeline in time.
type player struct {
	recording replay.Recording
	options   timeline.Options // to begin again with, after a seek
	newSink   func(*timeline.Timeline) sink
	canSeek   bool
	speed     float64
	clock     clock.WithTicker
	keys      <-chan keys.Press // nil without a terminal
	say       func(text string)

	t      *timeline.Timeline
	s      sink
	at     time.Time // of the last entry; zero in a stream without times
	paused bool
}

// play shows the timeline in time: as fast as it happened, or by --speed faster.
func (o *Options) play(ctx context.Context, recording replay.Recording, options timeline.Options) error {
	out := o.streams.Out
	p := &player{recording: recording, options: options, canSeek: !o.isLive(), speed: o.speed, clock: o.clock}
	if terminal := keys.Open(o.streams, o.isLive()); terminal != nil {
		defer terminal.Close()
		p.keys, out = terminal.Keys, terminal.Out
		fmt.Fprintln(out, o.palette.Dim("space pauses, arrows move by 10s and 1m, + and - change the speed, q ends"))
	}
	p.say = func(text string) { fmt.Fprintln(out, o.palette.Dim(text)) }
	p.newSink = func(t *timeline.Timeline) sink {
		if o.output == "json" {
			return documents{out}
		}
		return o.printer(out, t)
	}
	p.begin(options)
	shown, err := p.run(ctx)
	switch {
	case errors.Is(err, errQuit):
		return nil
	case err != nil || ctx.Err() != nil:
		return err
	}
	return o.conclude(recording, p.t, shown)
}

func (p *player) begin(options timeline.Options) {
	p.t = timeline.New(p.recording, options)
	p.s = p.newSink(p.t)
}

// errQuit is the error of a player that its user has ended.
var errQuit = errors.New("ended by its user")

// maxPause bounds the time between two entries: nobody waits for hours.
const maxPause = 10 * time.Second

// stepTime is the time between entries of a stream without times.
const stepTime = time.Second

func (p *player) run(ctx context.Context) (shown, error) {
	var out shown
	for {
		e, err := p.t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out, p.s.end()
		case isTorn(err):
			out.torn = err.Error()
			return out, p.s.end()
		case err != nil:
			return out, errors.Join(p.s.end(), err)
		}
		moved, err := p.waitFor(ctx, e)
		if err != nil {
			return out, errors.Join(p.s.end(), err)
		}
		if moved {
			continue // the entry is of before
		}
		if e.Object != nil || e.Reconcile != nil {
			out.changes++
		}
		if err := p.s.add(e); err != nil {
			return out, err
		}
	}
}

// waitFor waits until it is time for an entry, and obeys keys meanwhile. moved is true if the player was moved to
// another moment.
func (p *player) waitFor(ctx context.Context, e *timeline.Entry) (moved bool, err error) {
	left := stepTime
	switch {
	case e.Type == timeline.Begin || e.Type == timeline.Existing || e.Type == timeline.Listed:
		left = 0
	case !e.Time.IsZero() && p.at.IsZero():
		left = 0
	case !e.Time.IsZero():
		left = e.Time.Sub(p.at)
	}
	left = min(time.Duration(float64(left)/p.speed), maxPause)
	for left > 0 || p.paused {
		began := p.clock.Now()
		var timer clock.Timer
		var due <-chan time.Time
		if !p.paused {
			timer = p.clock.NewTimer(left)
			due = timer.C()
		}
		select {
		case <-ctx.Done():
			err = cli.Interruption(ctx, "before the end of the recording")
		case <-due:
			left = 0
		case key, ok := <-p.keys:
			if !p.paused {
				left -= p.clock.Since(began)
			}
			if !ok {
				p.keys = nil
			} else {
				moved, err = p.press(key)
			}
		}
		if timer != nil {
			timer.Stop()
		}
		if err != nil || moved {
			return moved, err
		}
	}
	if !e.Time.IsZero() {
		p.at = e.Time
	}
	return false, ctx.Err()
}

// press obeys a key.
func (p *player) press(key keys.Press) (moved bool, err error) {
	switch key.Name {
	case keys.Pause:
		p.paused = !p.paused
		if p.paused {
			p.say("paused; space goes on")
		}
	case keys.Faster:
		p.speed *= 2
		p.say(fmt.Sprintf("speed %g", p.speed))
	case keys.Slower:
		p.speed /= 2
		p.say(fmt.Sprintf("speed %g", p.speed))
	case keys.Quit:
		return false, errQuit
	case keys.Move:
		return p.move(key.By)
	case keys.Number:
		return p.seek(replay.Moment{Number: key.Number})
	}
	return false, nil
}

// move moves by a time.
func (p *player) move(by time.Duration) (bool, error) {
	if p.at.IsZero() {
		p.say("there are no times to move by: type a number and Enter")
		return false, nil
	}
	return p.seek(replay.Moment{Time: p.at.Add(by)})
}

// seek moves to a moment, or to the first or last one if it is before or after these.
func (p *player) seek(m replay.Moment) (bool, error) {
	if !p.canSeek {
		p.say("a stream that is read as it comes cannot be moved")
		return false, nil
	}
	info, err := p.recording.Info()
	if err != nil {
		return false, err
	}
	switch {
	case m.Number > info.Records:
		m = replay.Moment{Number: info.Records}
	case !m.Time.IsZero() && m.Time.Before(info.First):
		m = replay.Moment{Time: info.First}
	case !m.Time.IsZero() && m.Time.After(info.Last):
		m = replay.Moment{Time: info.Last}
	}
	state, err := p.recording.Seek(m)
	if err != nil {
		return false, err
	}
	options := p.options
	options.State, options.Since = state, replay.Moment{}
	p.begin(options)
	p.at = state.Time
	if !m.Time.IsZero() {
		p.at = m.Time // nothing may have happened for a while
	}
	text := fmt.Sprintf("at #%d", state.Number)
	if !p.at.IsZero() {
		text = "at " + p.at.UTC().Format("2006-01-02 15:04:05.000 UTC")
	}
	p.say(render.Escape(text))
	return true, nil
}
