package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// silentStop is how long a session may take to stop before a line is written about it.
const silentStop = 500 * time.Millisecond

// stop stops the session. If that takes a while, it writes what is waited for, also with -q.
func (o *Options) stop(ctx context.Context, session *runlocal.Session, out *outputs) error {
	return whileStopping(session.Stop, func() {
		interrupted := errors.Is(context.Cause(ctx), context.Canceled)
		out.tell(stoppingText(session.State().Busy(), interrupted, o.dry()))
	})
}

// whileStopping returns what stop does, and calls tell if that takes a while.
func whileStopping(stop func() error, tell func()) error {
	stopped := make(chan error, 1) // buffered: it is received in any case, but maybe later
	go func() { stopped <- stop() }()
	timer := time.NewTimer(silentStop)
	defer timer.Stop()
	select {
	case err := <-stopped:
		return err
	case <-timer.C:
		tell()
	}
	return <-stopped
}

// stoppingText names the controllers that finish what they have begun, and how to end that.
func stoppingText(busy []string, interrupted, dry bool) string {
	busy = slices.DeleteFunc(busy, func(name string) bool { return slices.Contains(simulated, name) })
	doing := "writing"
	if dry {
		doing = "at work"
	}
	text := "stopping"
	if len(busy) > 0 {
		text += fmt.Sprintf(": %s %s still %s", strings.Join(busy, ", "), cli.PluralOf(len(busy), "is", "are"), doing)
	}
	text += fmt.Sprintf(", up to %s", runlocal.StopPatience)
	if interrupted {
		text += "; Ctrl-C again stops at once"
	}
	return text
}

// ended makes the time of the whole run that of a result, unless it is how long a goal took, or was waited for.
func (r *result) ended(after time.Duration) {
	switch r.outcome {
	case string(UntilInterrupted), string(untilElapsed), broken:
		r.elapsed = after
	}
}
