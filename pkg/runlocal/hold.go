package runlocal

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// HoldKeys sets whether all queues of the session keep their keys until ReleaseKey passes them on: see
// tap.Tap.HoldKeys. What is applied meanwhile is admitted as ever, and for that the controller of quotas gets its keys.
func (s *Session) HoldKeys(on bool) { s.tap.HoldKeys(on) }

// ReleaseKey passes a held key on to the workers of a controller, by its short name, and the name of the queue as in
// trace.Enqueue. It reports whether such a key was held.
func (s *Session) ReleaseKey(controller, queue, key string) bool {
	return s.tap.ReleaseKey(controller, queue, key)
}

// ReleaseDelayedKey passes a key that comes back by itself on to the workers of a controller at once: see
// tap.Tap.ReleaseDelayedKey.
func (s *Session) ReleaseDelayedKey(controller, queue, key string) (putBack func(), ok bool) {
	return s.tap.ReleaseDelayedKey(controller, queue, key)
}

// AddKey adds a key to a queue of a controller, as if the controller had: see tap.Tap.AddKey.
func (s *Session) AddKey(controller, queue, key string) bool {
	return s.tap.AddKey(controller, queue, key)
}

// DropHeldKeys forgets the held keys for which drop reports true: see tap.Tap.DropHeldKeys.
func (s *Session) DropHeldKeys(drop func(controller, queue, key string) bool) {
	s.tap.DropHeldKeys(drop)
}

// heldPollInterval is how often WaitHeld looks at first: most reconciles take less than a millisecond.
const heldPollInterval = 200 * time.Microsecond

// WaitHeld returns as soon as nothing is under way but keys that are held, or that are due later; or the error of ctx.
// In the sandbox every handler has then handled every watch event; on a cluster, all that was listed at the start.
func (s *Session) WaitHeld(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait := heldPollInterval; ; wait = min(2*wait, pollInterval) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		began := time.Now()
		if s.idleButHeld(s.tap.Work()) {
			return nil
		}
		timer.Reset(max(wait, pollBackoff*time.Since(began)))
	}
}

// HeldState is State at a moment at which all keys that are queued are held, which it waits for: one whose delay has
// just ended is neither held nor delayed for a moment, and would not be found. The error is that of ctx.
func (s *Session) HeldState(ctx context.Context) (tap.State, error) {
	for {
		state := s.State()
		if state.IdleButHeld() {
			return state, nil
		}
		if err := s.WaitHeld(ctx); err != nil {
			return tap.State{}, err
		}
	}
}

// idleButHeld is idle for all keys but those that are held.
func (s *Session) idleButHeld(state tap.State) bool {
	return state.IdleButHeld() && s.allHandled(state) && (s.server != nil || s.delivered(state))
}

// delivered reports whether every handler has handled all that informers listed when the session started.
func (s *Session) delivered(state tap.State) bool {
	return !slices.ContainsFunc(state.Controllers, func(c tap.ControllerState) bool {
		return !s.tap.Controller(c.Name).Delivered()
	})
}

// accountController is the short name of the controller without whose account in a namespace pods are refused there.
const accountController = "serviceaccount"

// releaseKeysOf releases the keys of one controller that are held at this moment, and reports whether there were any.
func (s *Session) releaseKeysOf(controller string) bool {
	found := false
	for _, c := range s.tap.State().Controllers {
		if c.Name != controller {
			continue
		}
		for _, q := range c.Queues {
			for _, k := range q.Held {
				found = s.tap.ReleaseKey(c.Name, q.Queue, k.Key) || found
			}
		}
	}
	return found
}
