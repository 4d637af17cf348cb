package session

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// showWaiting shows how far the goal of a run is, until the function that it returns is called.
func (o *Options) showWaiting(ctx context.Context, session *runlocal.Session, applied []runlocal.Applied) (end func()) {
	began := o.Clock.Now()
	return o.Progress.Show(ctx, func(ctx context.Context) string {
		switch o.Goal.Type {
		case runlocal.GoalReady:
			objects, err := session.Statuses(ctx, applied)
			if err != nil {
				return "waiting" // the wait itself reports the error
			}
			return readyProgress(objects)
		case runlocal.GoalSettled:
			return settledProgress(session.State().Load())
		case runlocal.GoalElapsed:
			return elapsedProgress(o.Clock.Since(began), o.Goal.After)
		}
		return ""
	})
}

func readyProgress(objects []runlocal.ObjectStatus) string {
	ready := 0
	for _, s := range objects {
		if !s.Late() {
			ready++
		}
	}
	return fmt.Sprintf("waiting: %d of %d ready", ready, len(objects))
}

func settledProgress(queued, running int) string {
	text := "waiting until nothing is left to do"
	if queued+running > 0 {
		text += fmt.Sprintf(": %s queued, %d worked on", cli.Plural(queued, "key"), running)
	}
	return text
}

func elapsedProgress(elapsed, total time.Duration) string {
	return fmt.Sprintf("running: %s of %s", elapsed.Truncate(time.Second), render.FormatDuration(trace.Duration(total)))
}
