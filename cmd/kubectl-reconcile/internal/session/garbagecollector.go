package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// CollectorWarnings returns a function that writes what the garbage collector does not see, for
// runlocal.Options.Collector. The function must not be called concurrently.
func (out *Outputs) CollectorWarnings() func(controllers.CollectorView) {
	warnings := &collectorWarnings{}
	return func(v controllers.CollectorView) {
		for _, line := range warnings.lines(v) {
			out.Stderrf("%s", line)
		}
	}
}

// collectorWarnings are lines about what the garbage collector does not see. The zero value has written none. Its
// method must not be called concurrently.
type collectorWarnings struct {
	waiting bool     // a line has said that it waits
	leftOut []string // the kinds that a line has said are left out
}

// lines returns the lines about a change of the view; none if there is nothing that a user would miss.
func (w *collectorWarnings) lines(v controllers.CollectorView) []string {
	var out []string
	if !v.Collecting {
		w.waiting = true
		return []string{"warning: garbagecollector collects nothing yet: " + waitsFor(v)}
	}
	if w.waiting {
		w.waiting = false
		out = append(out, "garbagecollector collects: it sees all that can be listed")
	}
	var left []string
	for _, kind := range v.LeftOut {
		left = append(left, kind.Resource.String())
	}
	switch {
	case slices.Equal(left, w.leftOut):
	case len(left) == 0:
		out = append(out, "garbagecollector sees "+cli.Enumerate(w.leftOut)+" again")
	default:
		first := v.LeftOut[0]
		const text = "warning: garbagecollector continues without %s, which cannot be listed (%s: %s): " +
			"nothing that %s own is deleted, and what is to be deleted with --cascade=orphan waits"
		out = append(out, fmt.Sprintf(text, cli.Enumerate(left), first.Resource, cli.OneLine(first.Err.Error()),
			cli.PluralOf(len(left), "its objects", "their objects")))
	}
	w.leftOut = left
	return out
}

// waitsFor says what keeps the garbage collector from its work.
func waitsFor(v controllers.CollectorView) string {
	if len(v.Waiting) == 0 {
		return "it does not know all kinds yet"
	}
	var kinds []string
	for _, r := range v.Waiting {
		kinds = append(kinds, r.String())
	}
	return "it waits for the lists of " + cli.Enumerate(kinds)
}

// notCollecting is the error of a run that ended by its time before its garbage collector saw all that it needs; nil if
// it did, or does not run.
func notCollecting(session *runlocal.Session, r *result) error {
	v, ok := session.Collector()
	if !ok || v.Collecting || r.outcome != runlocal.OutcomeTimedOut && !r.outcome.Is(runlocal.GoalElapsed) {
		return nil
	}
	return errors.New("garbagecollector does not collect: " + waitsFor(v))
}
