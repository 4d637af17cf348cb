package why

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trial"
)

// The values of --try.
const (
	tryAuto   = "auto"
	tryAlways = "always"
	tryNever  = "never"
)

var tryValues = []string{tryAuto, tryAlways, tryNever}

const (
	// mostTried bounds the objects whose controllers are tried.
	mostTried = 8
	// mostCached bounds the objects of a namespace that controllers may hold in their caches: about 100 MB.
	mostCached = 10_000
	// tryAgain is how long what was found is used again while the object is watched.
	tryAgain = 30 * time.Second
)

// trier has the controllers of objects reconcile these once, in dry run, if that is asked for or the reads leave the
// cause unsure. It is used by one goroutine at a time.
type trier struct {
	query *query
	// warned reports whether it was said that the controllers are of another version than the cluster.
	warned bool
	// last is what was found for the nodes of lastKey, at lastTime.
	last     *trials
	lastKey  string
	lastTime time.Time
}

// trials are what became of the writes of controllers.
type trials struct {
	byUID map[types.UID]inspect.Trial
	list  []v1alpha1.Trial
}

// complete adds to a situation what trying controllers shows of it, and of the webhooks that refuse what these
// write. It returns what was tried; nil if nothing was. The error is not nil only if ctx has ended.
func (t *trier) complete(ctx context.Context, s *diagnosis.Situation, now time.Time) (*trials, error) {
	tried, err := t.tryUnsure(ctx, s, now)
	if err != nil {
		return nil, err
	}
	return tried, s.ReadRefusers(ctx, t.query.cluster.Reader, now)
}

// tryUnsure is complete without webhooks.
func (t *trier) tryUnsure(ctx context.Context, s *diagnosis.Situation, now time.Time) (*trials, error) {
	nodes := t.choose(s, now)
	if len(nodes) == 0 {
		return nil, nil
	}
	var key strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&key, "%s %d\n", n.UID, n.Generation)
	}
	if t.last == nil || t.lastKey != key.String() || now.Sub(t.lastTime) >= tryAgain {
		found, err := t.try(ctx, s, nodes)
		if err != nil {
			return nil, err
		}
		t.last, t.lastKey, t.lastTime = found, key.String(), now
	}
	s.Trials = t.last.byUID
	return t.last, nil
}

// choose returns the objects to be tried.
func (t *trier) choose(s *diagnosis.Situation, now time.Time) []*ownertree.Node {
	var nodes []*ownertree.Node
	switch d := s.Diagnose(now); {
	case t.query.options.try == tryNever, d.Converged:
	case t.query.options.try == tryAlways:
		nodes = s.Explained()
	default:
		nodes = s.Unsure(d)
	}
	nodes = slices.DeleteFunc(nodes, func(n *ownertree.Node) bool {
		if n.Kind.GroupKind() == (schema.GroupKind{Kind: "Pod"}) {
			return !diagnosis.IsOrphanOfJob(n)
		}
		return n.Deleting != nil || !trial.CanTry(n.Kind.GroupKind())
	})
	return nodes[:min(len(nodes), mostTried)]
}

// try tries the controllers of the nodes. The error is not nil only if ctx has ended.
func (t *trier) try(ctx context.Context, s *diagnosis.Situation, nodes []*ownertree.Node) (*trials, error) {
	if n := s.ObjectsIn(nodes[0].Namespace); n > mostCached {
		return untried(nodes, fmt.Sprintf("the namespace has %d objects, more than %d", n, mostCached)), nil
	}
	connection := t.query.options.connection
	if connection.Recording != nil {
		return untried(nodes, "a recording takes no writes"), nil
	}
	t.warnOfVersion(ctx)
	shown := connection.Progress.Show(ctx, cli.ProgressText("trying in dry run what controllers write"))
	defer shown()
	var objects []trial.Object
	byObject := map[trial.Object]*ownertree.Node{}
	for _, n := range nodes {
		object := trial.Object{Kind: n.Kind.GroupKind(), Namespace: n.Namespace, Name: n.Name}
		objects, byObject[object] = append(objects, object), n
	}
	attempts, err := trial.Run(ctx, trial.Options{Config: connection.Config, Objects: objects})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return untried(nodes, problemOf(err)), nil
	}
	out := &trials{byUID: map[types.UID]inspect.Trial{}}
	for _, a := range attempts {
		n := byObject[a.Object]
		out.byUID[n.UID] = evidenceOf(a)
		out.list = append(out.list, documentOf(n, a))
	}
	return out, nil
}

// warnOfVersion says, once, that the cluster's controllers are of another version.
func (t *trier) warnOfVersion(ctx context.Context) {
	if t.warned {
		return
	}
	t.warned = true
	version, err := t.query.options.connection.ServerVersion(ctx)
	if err != nil {
		return // it was reached for all else
	}
	if text := connect.OtherMinorText(version, api.KubernetesVersion()); text != "" {
		fmt.Fprintf(t.query.options.streams.ErrOut, "warning: %s\n", text)
	}
}

// problemOf says in half a sentence why controllers could not be run.
func problemOf(err error) string {
	unlisted := (*runlocal.CacheError)(nil)
	if !errors.As(err, &unlisted) {
		return err.Error()
	}
	var resources []string
	for _, l := range unlisted.Listings {
		if errors.As(l.Err, new(*runlocal.UndecodableError)) {
			return fmt.Sprintf("%s cannot be read: %v", l.Resource, l.Err)
		}
		resources = append(resources, l.Resource.String())
	}
	return "no permission to list and watch " + cli.Enumerate(resources)
}

// untried are trials that were not made, all for the same reason.
func untried(nodes []*ownertree.Node, problem string) *trials {
	out := &trials{}
	for _, n := range nodes {
		out.list = append(out.list, v1alpha1.Trial{Object: refOf(n), Problem: problem})
	}
	return out
}

// evidenceOf is what an attempt shows.
func evidenceOf(a trial.Attempt) inspect.Trial {
	var out inspect.Trial
	by := func(text string) inspect.Evidence {
		return inspect.Evidence{
			Source: inspect.FromController, Name: a.Controller, Text: "key " + a.Key + " in dry run: " + text,
		}
	}
	for _, w := range a.Writes {
		what := strings.TrimSpace(w.Verb + " " + w.Resource + " " + w.Name)
		switch {
		case w.Accepted():
			out.Accepted = append(out.Accepted, by(what+" is accepted"))
		case w.Refused():
			out.Refused = append(out.Refused, by(what+" is refused: "+w.Message))
		}
	}
	switch {
	case a.Error != "":
		out.Refused = append(out.Refused, by("it fails: "+a.Error))
	case a.Done && !a.Unanswered && len(a.Writes) == 0:
		idle := by("it writes nothing")
		out.Idle = &idle
	}
	return out
}

// documentOf is an attempt for programs.
func documentOf(n *ownertree.Node, a trial.Attempt) v1alpha1.Trial {
	out := v1alpha1.Trial{Object: refOf(n), Controller: a.Controller, Key: a.Key, Error: a.Error}
	for _, w := range a.Writes {
		answer := v1alpha1.TrialAccepted
		switch {
		case w.NotPermitted:
			answer = v1alpha1.TrialNotPermitted
			out.Problem = "you have no permission to " + w.Verb + " " + w.Resource
		case w.NotSupported:
			answer = v1alpha1.TrialNotSupported
			out.Problem = "an admission webhook does not support dry runs"
		case w.Refused():
			answer = v1alpha1.TrialRefused
		}
		out.Writes = append(out.Writes, v1alpha1.TriedWrite{
			Verb: w.Verb, Resource: w.Resource, Name: w.Name, Answer: answer, Message: w.Message,
		})
	}
	switch {
	case out.Problem != "":
	case !a.Done:
		out.Problem = "its controller has not reconciled it in time"
	case a.Unanswered:
		out.Problem = "a write was not answered, or conflicted with a change by another"
	}
	return out
}

// trialLines say what was tried, and what could not be, a line for each object.
func (v *view) trialLines() []string {
	if v.trials == nil {
		return nil
	}
	var out []string
	for _, t := range v.trials.list {
		name := t.Object.Kind + "/" + t.Object.Name
		if t.Problem != "" {
			line := "incomplete: what the controller of " + name + " writes could not be tried: " + t.Problem
			out = append(out, line)
			continue
		}
		refused := 0
		for _, w := range t.Writes {
			if w.Answer == v1alpha1.TrialRefused {
				refused++
			}
		}
		line := "tried in dry run: controller " + t.Controller + " with " + name + ": "
		switch {
		case len(t.Writes) == 0 && t.Error == "":
			line += "it writes nothing"
		case refused == 0 && t.Error == "":
			line += cli.Plural(len(t.Writes), "write") + ", accepted: that of the cluster is behind, or does not run"
		default:
			continue // it is a cause
		}
		out = append(out, line)
	}
	return out
}
