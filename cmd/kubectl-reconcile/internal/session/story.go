package session

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// storyLook is how often it is looked whether something is to be told.
const storyLook = 250 * time.Millisecond

// story is the output that tells a run from cause to effect, part by part: what happened up to a pause is told
// together.
type story struct {
	*trace.Story
	o     *Options
	clock clock.Clock
	stop  chan struct{}
	done  sync.WaitGroup
	// begins is set when what was applied has been named: nothing is told before.
	begins atomic.Bool

	mu      sync.Mutex // guards all below, and writing
	startAt time.Time
	begun   bool  // something was told
	err     error // the first of writing
}

// newStory starts to tell a run. It must be closed.
func newStory(o *Options) *story {
	s := &story{
		Story: trace.NewStory(o.startingText() != ""), o: o, clock: o.Clock,
		stop: make(chan struct{}),
	}
	s.done.Go(s.run)
	return s
}

func (s *story) run() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.clock.After(storyLook):
		}
		if s.begins.Load() && s.Due(s.clock.Now()) {
			s.mu.Lock()
			s.tell()
			s.mu.Unlock()
		}
	}
}

// StartAt sets the time that others are counted from.
func (s *story) StartAt(t time.Time) {
	s.Story.StartAt(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startAt = t
}

// tell writes what happened since it was called last. s.mu must be held.
func (s *story) tell() {
	steps := s.Take()
	if len(steps) == 0 {
		return
	}
	if s.startAt.IsZero() {
		s.startAt = steps[0].First()
	}
	out := s.o.Streams.Out
	if !s.begun {
		s.begun = true
		_, err := io.WriteString(out, "\n")
		s.err = errors.Join(s.err, err)
	}
	err := render.Story(out, steps, render.StoryOptions{
		Palette: s.o.Palette, FieldManager: s.o.author(), Namespace: s.o.Namespace, StartAt: s.startAt,
		Width: render.TerminalWidth(out),
	})
	if s.err == nil {
		s.err = err
	}
}

// Close tells what is left, and returns the first error of writing. It must be called when the events have ended, and
// may be called again.
func (s *story) Close() error {
	s.mu.Lock()
	select {
	case <-s.stop:
	default:
		close(s.stop)
		s.tell()
	}
	s.mu.Unlock()
	s.done.Wait()
	return s.err
}
