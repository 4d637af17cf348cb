package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	commonsession "github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/drift"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// copyJob is a plan to be made in a copy, of a cluster or of what files have of one.
type copyJob struct {
	copied *seed.Copy
	// from is how many objects of files it was made of; 0 for a cluster.
	from int
	// first are manifests that are applied before the plan begins.
	first []runlocal.Manifest
	// asked returns the objects that were asked for, and their names in the session, which has started.
	asked func(context.Context, *runlocal.Session) (asked, []plan.ObjectID, error)
	// change makes the change that the plan is for; nil without one. given are the objects that it applies, pruned
	// those that it deletes.
	change func(context.Context, *runlocal.Session) error
	given  []runlocal.Manifest
	pruned []prunedObject
	// notes are lines about what is not in the plan.
	notes []string
}

// planInCopy starts a session with a copy, and makes the plan in it.
func (o *Options) planInCopy(ctx context.Context, job copyJob) (*madePlan, error) {
	shown := o.progress.Show(ctx, cli.ProgressText("making the plan"))
	defer shown()
	copied := job.copied
	count := cmp.Or(o.nodes, runlocal.NoNodes)
	if copied.HasKind(schema.GroupResource{Resource: "nodes"}) {
		count = runlocal.NoNodes
	}
	planner := plan.New()
	options := runlocal.Options{
		Controllers: copyControllers(), Nodes: count, HoldKeys: true, Copy: copied, Assume: o.assume,
		Warnings: connect.NewWarnings(o.streams.ErrOut),
	}
	planner.Configure(&options)
	session, err := runlocal.Start(ctx, options)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	made, err := o.planInSession(ctx, session, planner, job)
	if err != nil {
		return nil, errors.Join(interrupted(ctx, err), session.Stop())
	}
	return made, session.Stop()
}

func (o *Options) planInSession(ctx context.Context, session *runlocal.Session, planner *plan.Planner,
	job copyJob) (*madePlan, error) {
	planner.Begin(ctx, session)
	if _, err := session.ApplyWith(ctx, o.namespace, job.first, runlocal.KubectlApply{}.Write); err != nil {
		return nil, err
	}
	a, only, err := job.asked(ctx, session)
	if err != nil {
		return nil, err
	}
	report := session.CopyReport()
	if n := len(report.Unloaded); job.from > 0 && n == len(job.copied.Objects) {
		first := report.Unloaded[0]
		return nil, fmt.Errorf("none of the objects can be loaded: %s %s: %w", first.Resource, first.Name, first.Err)
	}
	if err := notRun(a, report.Controllers); err != nil {
		return nil, err
	}
	report.Controllers = slices.DeleteFunc(report.Controllers, func(c controllers.SkippedController) bool {
		return runlocal.NeverInCopy(c.Controller)
	})
	made := &madePlan{
		copied: job.copied, from: job.from, applied: job.change != nil,
		leftOut: append(commonsession.CopyLines(job.copied, report), job.notes...),
	}
	if o.drift() {
		if made.drift, err = driftIn(job.copied, a); err != nil {
			return nil, err
		}
	}
	made.Plan, err = planner.Run(ctx, o.copyOptions(session, job, only))
	return made, err
}

// drift reports whether what objects are is compared with what is wanted of them: without a change.
func (o *Options) drift() bool { return o.readChange == nil }

// copyControllers are the controllers that a plan in a copy has: the session leaves out those that cannot work there.
func copyControllers() []controllers.Controller {
	all := plan.Controllers()
	if autoscaler, err := controllers.Select([]string{"horizontalpodautoscaling"}); err == nil {
		all = append(all, autoscaler...)
	}
	return all
}

// driftIn looks for drift of the objects that were asked for and of what they own, among those of a copy.
func driftIn(copied *seed.Copy, a asked) (*drift.Report, error) {
	var objects []*unstructured.Unstructured
	for i := range copied.Objects {
		obj := &copied.Objects[i]
		if !copied.HasNamespace(obj.Namespace) && !a.names(obj.Kind.GroupKind(), obj.Namespace, obj.Name) {
			continue
		}
		decoded, err := obj.Unstructured()
		if err != nil {
			return nil, err
		}
		objects = append(objects, decoded)
	}
	report := driftOf(drift.Find(objects), objects, a)
	return &report, nil
}

// copyOptions are those of the plan in a copy. only are the objects that were asked for.
func (o *Options) copyOptions(session *runlocal.Session, job copyJob, only []plan.ObjectID) plan.RunOptions {
	options := plan.RunOptions{Only: only, Next: o.next, Steps: o.steps, Wait: o.wait}
	if !job.copied.AllNamespaces { // what the API itself makes in no namespace is not looked at
		options.Namespaces = slices.Clone(job.copied.Namespaces)
	}
	for _, owner := range job.copied.AbsentOwners {
		options.Absent = append(options.Absent, plan.ObjectID{
			Resource: owner.Kind.GVR(), Kind: owner.Kind.Kind, Namespace: owner.Namespace, Name: owner.Name,
		})
	}
	for _, m := range job.first {
		namespace := cmp.Or(m.Object.GetNamespace(), o.namespace)
		// The key of an object in no namespace is its name, which stands where other keys have their namespace.
		options.Namespaces = append(options.Namespaces, namespace, m.Object.GetName())
	}
	if job.change == nil {
		return options
	}
	if options.Only == nil {
		options.Only = []plan.ObjectID{} // nil would be all objects
	}
	for _, m := range slices.Concat(job.given, job.first) {
		id := plan.ObjectID{Kind: m.Object.GetKind(), Namespace: m.Object.GetNamespace(), Name: m.Object.GetName()}
		options.Only = append(options.Only, id)
		if id.Namespace == "" { // it is in no namespace, or is applied in that of the command
			id.Namespace = o.namespace
			options.Only = append(options.Only, id)
		}
	}
	for _, p := range job.pruned {
		options.Only = append(options.Only, plan.ObjectID{Kind: p.Kind.Kind, Namespace: p.Namespace, Name: p.Name})
	}
	options.Given = objectsOf(job.given)
	options.Change = func(ctx context.Context) error { return job.change(ctx, session) }
	return options
}
