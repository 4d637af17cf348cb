package run

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// collectorWarnings are lines about what the garbage collector does not see. Its zero value has seen nothing yet; it is for one
// goroutine.
type collectorWarnings struct {
	waited bool     // a line has said that it waits
	out    []string // the kinds that a line has said are left out
}

// lines are those about a change of the view; none if there is nothing that a user would miss.
func (w *collectorWarnings) lines(v controllers.CollectorView) []string {
	var out []string
	if !v.Collecting {
		w.waited = true
		return []string{"warning: garbagecollector collects nothing yet: " + waitsFor(v)}
	}
	if w.waited {
		w.waited = false
		out = append(out, "garbagecollector collects: it sees all that can be listed")
	}
	var left []string
	for _, kind := range v.LeftOut {
		left = append(left, kind.Resource.String())
	}
	switch {
	case slices.Equal(left, w.out):
	case len(left) == 0:
		out = append(out, "garbagecollector sees "+cli.Enumerate(w.out)+" again")
	default:
		first := v.LeftOut[0]
		out = append(out, fmt.Sprintf("warning: garbagecollector goes on without %s, which cannot be listed (%s: %s): nothing that %s own is deleted, "+
			"and what is to be deleted with --cascade=orphan waits", cli.Enumerate(left), first.Resource, cli.OneLine(first.Err.Error()),
			cli.PluralOf(len(left), "its objects", "their objects")))
	}
	w.out = left
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

// collector returns what tells of what the garbage collector does not see.
func (out *outputs) collector() func(controllers.CollectorView) {
	warnings := &collectorWarnings{}
	return func(v controllers.CollectorView) {
		for _, line := range warnings.lines(v) {
			out.tell(line)
		}
	}
}

// notCollecting is the error of a run whose garbage collector does not see all it needs in its time; nil if it does, or does not run.
func notCollecting(session *runlocal.Session, r result) error {
	v, ok := session.Collector()
	if !ok || v.Collecting || r.outcome != timedOut && r.outcome != string(untilElapsed) {
		return nil
	}
	return errors.New("garbagecollector does not collect: " + waitsFor(v))
}
