package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// showRunning shows how far a run is, until the function that it returns is called.
func (o *Options) showRunning(
	ctx context.Context, session *runlocal.Session, out *Outputs, applied []runlocal.Applied,
) (end func()) {
	began := o.Clock.Now()
	return o.Progress.Show(ctx, func(ctx context.Context) string {
		now := progress{
			goal: o.Goal, elapsed: o.Clock.Since(began), controllers: out.summary.Controllers(),
			programs: out.programs.Programs(), failing: out.failing.Failing(),
		}
		if o.Goal.Type == runlocal.GoalReady {
			now.objects, _ = session.Statuses(ctx, applied) // the wait itself reports the error
		}
		now.queued, now.running = session.State().Load()
		now.podsReady, now.pods = session.PodsReady()
		return now.text()
	})
}

// progress is how far a run is.
type progress struct {
	goal            runlocal.Goal
	elapsed         time.Duration
	objects         []runlocal.ObjectStatus // of runlocal.GoalReady; none if they cannot be read
	queued, running int
	podsReady, pods int
	controllers     []trace.ControllerSummary
	programs        []trace.ProgramSummary
	failing         []trace.FailingKey
}

// fewFailures is how often a key must have failed to be shown: most succeed when they are tried again.
const fewFailures = 2

// text returns the progress in one line, which begins with what matters most.
func (p *progress) text() string {
	at := p.elapsed.Truncate(time.Second).String()
	if p.goal.Type == runlocal.GoalElapsed {
		at += " of " + render.FormatDuration(trace.Duration(p.goal.After))
	}
	var parts []string
	if len(p.objects) > 0 {
		ready := 0
		for _, o := range p.objects {
			if !o.Late() {
				ready++
			}
		}
		parts = append(parts, fmt.Sprintf("%d of %s ready", ready, cli.Plural(len(p.objects), "object")))
	}
	if p.pods > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s ready", p.podsReady, cli.Plural(p.pods, "pod")))
	}
	parts = append(parts, p.failingTexts()...)
	if p.goal.Type == runlocal.GoalSettled && p.queued+p.running > 0 {
		parts = append(parts, fmt.Sprintf("%s queued, %d worked on", cli.Plural(p.queued, "key"), p.running))
	}
	reconciles, writes, others := 0, 0, 0
	for _, c := range p.controllers {
		reconciles, writes = reconciles+c.Reconciles, writes+c.Writes
	}
	for _, c := range p.programs {
		others += c.Writes
	}
	parts = append(parts, cli.Plural(reconciles, "reconcile"), cli.Plural(writes, "write"))
	if others > 0 {
		parts = append(parts, cli.Plural(others, "write")+" by programs outside")
	}
	return at + ": " + strings.Join(parts, ", ")
}

// failingTexts names a key that fails, and counts the others.
func (p *progress) failingTexts() []string {
	first, n := "", 0
	for _, k := range p.failing {
		if k.Failures < fewFailures {
			continue
		}
		if n++; n == 1 {
			first = strings.TrimSpace(k.Controller + " " + k.Key)
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return []string{first + " fails"}
	}
	return []string{fmt.Sprintf("%s and %d more fail", first, n-1)}
}
