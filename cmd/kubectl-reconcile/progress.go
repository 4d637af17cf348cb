package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// withProgress returns a Progress on stderr, and the streams for all else that is written meanwhile. It is nil if it is
// not wanted, or unless both stdout and stderr are terminals: what reads a pipe may use the same screen.
func withProgress(streams genericiooptions.IOStreams, wanted bool) (*render.Progress, genericiooptions.IOStreams) {
	if !wanted || !render.IsTerminal(streams.Out) || !render.IsTerminal(streams.ErrOut) {
		return nil, streams
	}
	p := render.NewProgress(streams.ErrOut, clock.RealClock{})
	streams.Out, streams.ErrOut = p.Writer(streams.Out), p.Writer(streams.ErrOut)
	return p, streams
}

// saying is a text of a Progress that does not change.
func saying(format string, args ...any) func(context.Context) string {
	text := fmt.Sprintf(format, args...)
	return func(context.Context) string { return text }
}

// reading shows how far the cluster is read, until the function that it returns is called.
func (s *served) reading(ctx context.Context, p *render.Progress) (end func()) {
	return p.Show(ctx, func(context.Context) string { return readingText(s.reader.Progress()) })
}

func readingText(p cluster.Progress) string {
	parts := []string{fmt.Sprintf("%d of %s", p.Done, plural(p.Kinds, "kind"))}
	switch {
	case p.Expected > p.Objects:
		parts = append(parts, fmt.Sprintf("%d of %d objects", p.Objects, p.Expected))
	case p.Objects > 0:
		parts = append(parts, plural(p.Objects, "object"))
	}
	return "reading: " + strings.Join(parts, ", ")
}

// waiting shows how far the goal of a run is, until the function that it returns is called.
func (o *runOptions) waiting(ctx context.Context, session *runlocal.Session, applied []runlocal.Applied) (end func()) {
	began := o.clock.Now()
	return o.progress.Show(ctx, func(ctx context.Context) string {
		switch o.until.goal {
		case untilReady:
			objects, err := session.Statuses(ctx, applied)
			if err != nil {
				return "waiting" // the wait itself reports the error
			}
			return readyText(objects)
		case untilSettled:
			return settledText(session.State().Load())
		case untilElapsed:
			return elapsedText(o.clock.Since(began), o.until.after)
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
		text += fmt.Sprintf(": %s queued, %d worked on", plural(queued, "key"), running)
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
