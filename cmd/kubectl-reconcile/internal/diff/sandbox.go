package diff

import (
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
	// leftOut is what is not in the plan, a line for each cause.
	leftOut []string
}

// planOnFiles makes the plan for the objects of files.
func (o *Options) planOnFiles(ctx context.Context) (*madePlan, error) {
	from, err := read(o.readFrom)
	if err != nil {
		return nil, err
	}
	change, err := read(o.readChange)
	if err != nil {
		return nil, err
	}
	ctx, cancel := o.limited(ctx)
	defer cancel()
	shown := o.progress.Show(ctx, cli.ProgressText("making the plan"))
	defer shown()
	planner := plan.New()
	options := runlocal.Options{
		Controllers: plan.Controllers(), Nodes: o.nodes, Warnings: connect.NewWarnings(o.streams.ErrOut),
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

// read reads manifests, none without a function.
func read(from func() ([]runlocal.Manifest, error)) ([]runlocal.Manifest, error) {
	if from == nil {
		return nil, nil
	}
	return from()
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
	options := plan.Options{Next: o.next, Steps: o.steps, Wait: o.wait}
	if change != nil {
		if err := planner.Settle(ctx); err != nil {
			return nil, unsettled(err)
		}
		options.Given = objectsOf(change)
		options.Change = func(ctx context.Context) error {
			_, err := session.ApplyWith(ctx, o.namespace, change, o.apply.Write)
			return err
		}
	}
	var err error
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
