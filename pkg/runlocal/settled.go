package runlocal

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// pollInterval is how often a session that is waited for is checked, which takes a few microseconds.
const pollInterval = 5 * time.Millisecond

// settleHorizon is the longest delay of a key that is waited for. Most retries come sooner.
const settleHorizon = time.Second

// Settled reports whether nothing is left to do: every queue is empty, no reconcile and no request of a controller is
// in flight, every handler has handled every watch event, the garbage collector, if it runs, sees all that can be
// listed, and no key has a short delay (of at most a second, and the time that pods take to be ready). Keys that wait
// for longer do not count, even when they are about to come back: of many that do so every few seconds, one always is;
// see Pending. What is on its way from a cluster's API server is not known: see WaitSettled.
func (s *Session) Settled() bool {
	state := s.tap.State() // before the versions: a controller that is idle here writes no later one
	return s.idle(state) && !slices.ContainsFunc(pending(state), s.isShort)
}

// idle reports whether nothing is left to do but what is due later.
func (s *Session) idle(state tap.State) bool { return state.Idle() && s.allHandled(state) }

// allHandled reports whether, in the sandbox, every handler has handled every watch event.
func (s *Session) allHandled(state tap.State) bool {
	if s.server == nil {
		return true
	}
	for resource := range state.Handled {
		if !s.handled(state, resource) {
			return false
		}
	}
	return true
}

// handled reports whether, in the sandbox, every handler has handled every watch event of the resource; so it is if
// none watches it.
func (s *Session) handled(state tap.State, resource schema.GroupResource) bool {
	at, watched := state.Handled[resource]
	return !watched || at >= s.server.LastEvent(resource)
}

// isShort reports whether a key comes back after a short delay, as most retries do.
func (s *Session) isShort(p Pending) bool {
	return p.Due.Sub(p.Since) <= settleHorizon+s.podReadyAfter
}

// Pending is a key that comes back by itself.
type Pending struct {
	Controller string
	tap.DelayedKey
}

// State is what the controllers have to do at this moment.
func (s *Session) State() tap.State { return s.tap.State() }

// Watches returns the kinds whose watch events each controller handles: see tap.Tap.Watches.
func (s *Session) Watches() map[string][]schema.GroupKind { return s.tap.Watches() }

// Pending lists the keys that come back by themselves, soonest first.
func (s *Session) Pending() []Pending { return pending(s.tap.State()) }

func pending(state tap.State) []Pending {
	var out []Pending
	for _, c := range state.Controllers {
		for _, q := range c.Queues {
			for _, d := range q.Delayed {
				out = append(out, Pending{c.Name, d})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Pending) int { return a.Due.Compare(b.Due) })
	return out
}

// clusterSettleTime is for how long nothing may be left to do on a cluster before it counts as settled: watch events
// take their time.
const clusterSettleTime = time.Second

// WaitSettled returns when Settled is true, on a cluster when it has been for a second; or with the error of ctx.
func (s *Session) WaitSettled(ctx context.Context) error {
	settled := s.settledForLong()
	return s.poll(ctx, func() (bool, error) { return settled(), nil })
}

// settledForLong returns a function that reports whether Settled was true, on a cluster at each call for
// clusterSettleTime.
func (s *Session) settledForLong() func() bool {
	var since time.Time // when it became true; zero while it is not
	return func() bool {
		switch {
		case !s.Settled():
			since = time.Time{}
		case s.server != nil:
			return true
		case since.IsZero():
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) >= clusterSettleTime
	}
}

// pollBackoff is how long is waited until the next check, as a multiple of how long the last one took: with ten
// thousand pods a check takes milliseconds, and slows down the controllers that create them.
const pollBackoff = 10

// poll calls done until it returns true or an error, at least once, and returns that error or the one of ctx.
func (s *Session) poll(ctx context.Context, done func() (bool, error)) error {
	for {
		began := time.Now()
		if ok, err := done(); ok || err != nil {
			return err
		}
		rest := time.NewTimer(max(pollInterval, pollBackoff*time.Since(began)))
		select {
		case <-ctx.Done():
			rest.Stop()
			return ctx.Err()
		case <-rest.C:
		}
	}
}
