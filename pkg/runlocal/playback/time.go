package playback

import (
	"context"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// timeline is the time of the recording that is served. It is guarded by Server.mu.
type timeline struct {
	playing bool
	speed   float64
	// at is the time of the recording at the time since of the clock; while playing it goes on from there.
	at, since time.Time
}

// arrive makes a state of the recording the one that is served. The caller holds s.mu, or has the server alone.
func (s *Server) arrive(moment replay.Moment, state *replay.State) {
	now := s.clock.Now()
	at := state.Time
	if !moment.Time.IsZero() && moment.Number == 0 {
		at = moment.Time
	}
	s.player.pending, s.player.number = nil, state.Number
	clear(s.player.lists)
	s.timeline.at, s.timeline.since = at, now
	s.written = false
	s.shift = 0
	if s.options.ShiftTimes && !at.IsZero() {
		s.shift = now.Sub(at)
	}
}

// pass takes note that a record was delivered or skipped. The caller holds s.mu.
func (s *Server) pass(r *replay.Record) {
	s.player.pending, s.player.number = nil, r.Number
	if r.Time.After(s.timeline.at) {
		s.timeline.at, s.timeline.since = r.Time, s.clock.Now()
	}
}

func (s *Server) run(ctx context.Context) { <-ctx.Done() }
