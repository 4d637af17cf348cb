package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/drift"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// madePlan is a plan, and what it was made of.
type madePlan struct {
	*plan.Plan
	// from is how many objects there were.
	from int
	// applied is true if the plan is for a change.
	applied bool
	// copied is what the plan begins with; nil with files.
	copied *seed.Copy
	// drift is what objects are beside what is wanted of them; nil if it was not looked for.
	drift *drift.Report
	// refused are what controllers create in the plan and the admission of the cluster refuses.
	refused []admissionRefusal
	// leftOut is what is not in the plan, a line for each cause.
	leftOut []string
}

// lines are those about what the cluster would refuse, and about what is not in the plan.
func (m *madePlan) lines() []string {
	var out []string
	for i := range m.refused {
		out = append(out, m.refused[i].line())
	}
	return append(out, m.leftOut...)
}

// planOnFiles makes the plan for the objects of files. Objects as a server has stored them are the state that the plan
// begins with; without any, the objects are applied to an empty cluster, and have settled before a change.
func (o *Options) planOnFiles(ctx context.Context) (*madePlan, error) {
	from, err := read(ctx, o.readFrom)
	if err != nil {
		return nil, err
	}
	change, err := read(ctx, o.readChange)
	if err != nil {
		return nil, err
	}
	ctx, cancel := o.limited(ctx)
	defer cancel()
	if stored, others := divide(from); len(stored) > 0 {
		return o.planOnDump(ctx, stored, others, change)
	}
	shown := o.progress.Show(ctx, cli.ProgressText("making the plan"))
	defer shown()
	planner := plan.New()
	options := runlocal.Options{
		Controllers: plan.Controllers(), Nodes: cmp.Or(o.nodes, runlocal.NoNodes), Assume: o.assume,
		Warnings: connect.NewWarnings(o.streams.ErrOut),
	}
	planner.Configure(&options)
	session, err := runlocal.Start(ctx, options)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	made, err := o.planIn(ctx, session, planner, from, change)
	if err != nil {
		return nil, errors.Join(interrupted(ctx, err), session.Stop())
	}
	return made, session.Stop()
}

// divide divides objects of files into those as a server has stored them, and manifests.
func divide(from []runlocal.Manifest) (stored []seed.File, others []runlocal.Manifest) {
	for _, m := range from {
		if seed.IsStored(m.Object) {
			stored = append(stored, seed.File(m))
		} else {
			others = append(others, m)
		}
	}
	return stored, others
}

// planOnDump makes the plan for a state that objects of files have, to which the manifests among them are applied
// first.
func (o *Options) planOnDump(ctx context.Context, stored []seed.File, others, change []runlocal.Manifest) (
	*madePlan, error) {
	limit := o.maxObjects
	if limit == 0 {
		limit = -1
	}
	copied, err := seed.FromFiles(stored, limit)
	if tooMany := (*seed.TooManyObjectsError)(nil); errors.As(err, &tooMany) {
		return nil, cli.WithHint(fmt.Errorf("reading the state of --from: %w", tooMany), "--max-objects permits more")
	}
	if err != nil {
		return nil, err
	}
	o.useNamespace(copied)
	job := copyJob{copied: copied, from: len(stored) + len(others), first: o.withNamespace(copied, others)}
	if n := len(others); n > 0 {
		job.notes = append(job.notes, fmt.Sprintf("%s without uid and resourceVersion %s applied to the others first: "+
			"what that leads to is part of the plan", cli.Plural(n, "object"), cli.PluralOf(n, "is", "are")))
	}
	job.asked = func(ctx context.Context, session *runlocal.Session) (asked, []plan.ObjectID, error) {
		a, err := o.resolveIn(ctx, session)
		if err != nil {
			return a, nil, err
		}
		only, err := a.inSession(ctx, session)
		return a, only, err
	}
	var pruneNotes []string
	if change != nil {
		job.given = change
		job.change = func(ctx context.Context, session *runlocal.Session) error {
			var err error
			pruneNotes, err = o.applyAndPrune(ctx, session, change)
			return err
		}
	}
	made, err := o.planInCopy(ctx, job)
	if made != nil {
		made.leftOut = append(made.leftOut, pruneNotes...)
	}
	return made, err
}

// useNamespace makes the only namespace of a state that of objects which name none, unless -n names one.
func (o *Options) useNamespace(copied *seed.Copy) {
	if !o.namespaceGiven && len(copied.Namespaces) == 1 {
		o.namespace = copied.Namespaces[0]
	}
}

// withNamespace adds the namespace of -n to manifests if a state does not have it.
func (o *Options) withNamespace(copied *seed.Copy, manifests []runlocal.Manifest) []runlocal.Manifest {
	if !o.namespaceGiven || copied.HasNamespace(o.namespace) {
		return manifests
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(o.namespace)
	return append([]runlocal.Manifest{{Source: "-n", Object: namespace}}, manifests...)
}

// read reads manifests, none without a function.
func read(
	ctx context.Context, from func(context.Context) ([]runlocal.Manifest, error),
) ([]runlocal.Manifest, error) {
	if from == nil {
		return nil, nil
	}
	return from(ctx)
}

// timeoutError is that --timeout is over.
type timeoutError struct{ after time.Duration }

// Error implements error.
func (e *timeoutError) Error() string { return fmt.Sprintf("the plan is not ready after %s", e.after) }

// interrupted returns the error of what ended because ctx did.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if late := (*timeoutError)(nil); errors.As(context.Cause(ctx), &late) {
		return cli.WithHint(late, "--timeout gives it more time")
	}
	return cli.Interruption(ctx, "while the plan was made")
}

// planIn makes the plan in a session that has started. Without a change it is for the objects as they are in the files;
// with one these have settled before.
func (o *Options) planIn(ctx context.Context, session *runlocal.Session, planner *plan.Planner,
	from, change []runlocal.Manifest) (*madePlan, error) {
	if err := session.EnsureNamespace(ctx, o.namespace); err != nil {
		return nil, err
	}
	if err := session.WaitSettled(ctx); err != nil {
		return nil, err
	}
	planner.Begin(ctx, session)
	session.HoldKeys(true)
	if _, err := session.ApplyWith(ctx, o.namespace, from, runlocal.KubectlApply{}.Write); err != nil {
		return nil, err
	}
	made := &madePlan{from: len(from), applied: change != nil}
	a, err := o.resolveIn(ctx, session)
	if err != nil {
		return nil, err
	}
	options := plan.RunOptions{Next: o.next, Steps: o.steps, Wait: o.wait}
	if options.Only, err = a.inSession(ctx, session); err != nil {
		return nil, err
	}
	if change != nil {
		if err := planner.Settle(ctx); err != nil {
			return nil, unsettled(err)
		}
		options.Given = objectsOf(change)
		options.Change = func(ctx context.Context) error {
			var err error
			made.leftOut, err = o.applyAndPrune(ctx, session, change)
			return err
		}
	}
	made.Plan, err = planner.Run(ctx, options)
	return made, err
}

// unsettled adds advice to the error of objects that do not settle.
func unsettled(err error) error {
	if e := (*plan.UnsettledError)(nil); errors.As(err, &e) {
		return cli.WithHint(err, "without -f, `diff --from FILE --until settled` shows what is done without an end")
	}
	return err
}

// applyAndPrune applies the objects of -f in a session that begins with files, and with --prune deletes what an apply
// of these would delete. It returns what could not be looked at.
func (o *Options) applyAndPrune(ctx context.Context, session *runlocal.Session, change []runlocal.Manifest) (
	notes []string, err error) {
	applied, err := session.ApplyWith(ctx, o.namespace, change, o.apply.Write)
	if err != nil || o.prune == nil {
		return nil, err
	}
	opened, err := openSession(ctx, session)
	if err != nil {
		return nil, err
	}
	var visited []visitedObject
	for _, a := range applied {
		visited = append(visited, visitedObject{
			resource: a.Resource.GroupResource(), namespace: a.Namespace, name: a.Name,
		})
	}
	pruned, notes, err := o.prune.find(ctx, session.Config(), opened.Kinds, visited)
	if err != nil {
		return notes, err
	}
	return notes, deletePruned(ctx, session, pruned)
}

func objectsOf(manifests []runlocal.Manifest) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, m := range manifests {
		out = append(out, m.Object)
	}
	return out
}

// verdict is the error that the plan ends the command with: cli.ErrSilentExit if there is something to do, nil if there
// is nothing.
func (m *madePlan) verdict() error {
	switch {
	case m.Loop != nil:
		return loopError(m.Loop)
	case m.End == plan.EndLimit:
		return cli.WithHint(fmt.Errorf("the plan does not end: %d steps, and there is more to do", len(m.Steps)),
			"--steps N shows the first ones")
	case len(m.Steps) > 0 || m.drift != nil && !m.drift.Empty():
		return cli.ErrSilentExit
	}
	return nil
}
