package run

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// waiting shows how far the goal of a run is, until the function that it returns is called.
func (o *Options) waiting(ctx context.Context, session *runlocal.Session, applied []runlocal.Applied) (end func()) {
	began := o.Clock.Now()
	return o.progress.Show(ctx, func(ctx context.Context) string {
		switch o.Until.Goal {
		case untilReady:
			objects, err := session.Statuses(ctx, applied)
			if err != nil {
				return "waiting" // the wait itself reports the error
			}
			return readyText(objects)
		case untilSettled:
			return settledText(session.State().Load())
		case untilElapsed:
			return elapsedText(o.Clock.Since(began), o.Until.after)
		}
		return ""
	})
}

func readyText(objects []runlocal.ObjectStatus) string {
	ready := 0
	for _, s := range objects {
		if !s.Late() {
			ready++
		}
	}
	return fmt.Sprintf("waiting: %d of %d ready", ready, len(objects))
}

func settledText(queued, running int) string {
	text := "waiting until nothing is left to do"
	if queued+running > 0 {
		text += fmt.Sprintf(": %s queued, %d worked on", cli.Plural(queued, "key"), running)
	}
	return text
}

func elapsedText(elapsed, all time.Duration) string {
	return fmt.Sprintf("running: %s of %s", elapsed.Truncate(time.Second), render.Round(trace.Duration(all)))
}

// filling shows how far the caches of a session on a cluster are, until the function that it returns is called.
func (r *clusterRun) filling(ctx context.Context, p *render.Progress) (end func()) {
	var listed, all atomic.Int64
	r.options.Filling = func(n, of int) {
		listed.Store(int64(n))
		all.Store(int64(of))
	}
	return p.Show(ctx, func(context.Context) string { return fillingText(listed.Load(), all.Load()) })
}

func fillingText(listed, all int64) string {
	if all == 0 {
		return "filling caches"
	}
	return fmt.Sprintf("filling caches: %d of %d resources", listed, all)
}
