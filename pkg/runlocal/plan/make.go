package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// Source is what a plan begins with: a *Cluster, Objects, or what reads a State in another way.
type Source interface {
	// Read returns the state that the plan for a change begins with. It writes nothing.
	Read(ctx context.Context, change Change, o Options) (*State, error)
}

// State is what a plan begins with.
type State struct {
	// Copy is the part of a cluster that the plan begins with, as it is. Nil is an empty cluster: without a change the
	// plan is what the controllers make of First there; before a change they have brought these in order.
	Copy *seed.Copy
	// First are applied before the plan begins. What the controllers do about them is part of it.
	First []runlocal.Manifest
	// Namespace is that of objects which name none; empty is Options.Namespace or, if that is too, "default".
	Namespace string

	// Uncopied are objects of the change that the cluster has and no copy has, such as webhooks, or that this one has
	// not; they are not in the plan. Unpruned is what could not be listed for Change.Prune.
	Uncopied []seed.Root
	Unpruned []cluster.Incomplete
	// Dependents are those of Options.Only of which not all dependents are copied: they may be in any namespace.
	Dependents []seed.Root

	cluster *clusterRead  // nil applies the change as it is, and looks for Options.Only in the session
	moved   time.Duration // what was added to the times of the objects
}

// Change is a change that a plan is for. The zero value is none: then the plan is what is left to do.
type Change struct {
	// Manifests are applied, as `kubectl apply` with the flags of Apply does it.
	Manifests []runlocal.Manifest
	Apply     runlocal.KubectlApply
	// Prune deletes what `kubectl apply --prune` would; nil deletes nothing.
	Prune *Pruning
}

// Options say which plan is made. The zero value is a plan of what the controllers do until nothing is left to do.
type Options struct {
	// Namespace is that of objects which name none, and what is copied of a Cluster if nothing is named; empty is
	// "default" or, for Objects, their only namespace.
	Namespace string
	// Only returns the objects whose keys are reconciled, with those of their owners and of what they own, beside those
	// of a change. All are if Only is nil, or returns none. c is the cluster or, for other sources, the API of the
	// plan's session: it must not be used after Only has returned. An object without a name stands for all of its kind
	// in its namespace, or if that is empty in all.
	Only func(ctx context.Context, c *Cluster, namespace string) ([]seed.Root, error)
	// Next, Steps and Wait are as in RunOptions.
	Next  bool
	Steps int
	Wait  time.Duration
	// Nodes is as in runlocal.Options, for a State that has no nodes; Assume is what becomes of new pods.
	Nodes  int
	Assume nodes.Assumption
	// MaxObjects is as in seed.Options.
	MaxObjects int
	// Warnings gets the warnings of the plan's API about what is applied; nil logs them.
	Warnings rest.WarningHandler
	// Progress is called at the beginning of each Stage; nil is not.
	Progress func(Stage)
}

// Stage is what Make does at a time.
type Stage string

// The stages, in their order.
const (
	// StageRead is that of reading the objects of a Cluster, after a change was tried there.
	StageRead Stage = "read"
	// StagePlan is that of making the plan.
	StagePlan Stage = "plan"
	// StageAdmission is that of trying in a Cluster what controllers create in the plan, if it may have webhooks.
	StageAdmission Stage = "admission"
)

func (o *Options) begin(s Stage) {
	if o.Progress != nil {
		o.Progress(s)
	}
}

// Make returns the plan for a change of what a source has. Its error is that of the source; a *seed.NotFoundError or a
// *ForeignKindError of an object of Options.Only; an *UnservedKindError of Pruning.Kinds; an *UnsettledError of Objects
// of which none is stored, if there is a change; or a *StopError, which may be joined with others. It is that of ctx if
// ctx ends, but for StageAdmission: what was not tried then is Untried.
func Make(ctx context.Context, source Source, change Change, o Options) (*Plan, error) {
	state, err := source.Read(ctx, change, o)
	if err != nil {
		return nil, err
	}
	o.begin(StagePlan)
	m := &making{o, change, state, cmp.Or(state.Namespace, o.Namespace, metav1.NamespaceDefault)}
	p, err := m.make(ctx)
	if err != nil {
		return nil, err
	}
	if state.moved != 0 {
		if err := p.move(-state.moved); err != nil {
			return nil, err
		}
	}
	return p, m.tryAdmission(ctx, p)
}

// making is one plan that is made.
type making struct {
	Options
	change    Change
	state     *State
	namespace string
}

// make starts a session with the state, and makes the plan in it.
func (m *making) make(ctx context.Context) (*Plan, error) {
	planner := New()
	options := runlocal.Options{Controllers: Controllers(), Nodes: m.Nodes, Assume: m.Assume, Warnings: m.Warnings}
	if copied := m.state.Copy; copied != nil {
		options.Controllers, options.HoldKeys, options.Copy = controllersInCopy(), true, copied
		if copied.HasKind(schema.GroupResource{Resource: "nodes"}) {
			options.Nodes = runlocal.NoNodes
		}
	}
	planner.Configure(&options)
	session, err := runlocal.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	p, err := m.makeIn(ctx, session, planner)
	if stopped := session.Stop(); stopped != nil {
		err = errors.Join(err, &StopError{stopped})
	}
	return p, err
}

// controllersInCopy are the controllers that a plan in a copy has: the session leaves out those that cannot work there.
func controllersInCopy() []controllers.Controller {
	all := Controllers()
	if autoscaler, err := controllers.Select([]string{"horizontalpodautoscaling"}); err == nil {
		all = append(all, autoscaler...)
	}
	return all
}

// makeIn makes the plan in a session that has started.
func (m *making) makeIn(ctx context.Context, session *runlocal.Session, planner *Planner) (*Plan, error) {
	if m.state.Copy == nil {
		if err := session.EnsureNamespace(ctx, m.namespace); err != nil {
			return nil, err
		}
		if err := session.WaitSettled(ctx); err != nil {
			return nil, err
		}
	}
	planner.Begin(ctx, session)
	session.HoldKeys(true)
	if _, err := session.ApplyWith(ctx, m.namespace, m.state.First, runlocal.KubectlApply{}.Write); err != nil {
		return nil, err
	}
	a, only, err := m.inSession(ctx, session)
	if err != nil {
		return nil, err
	}
	begin := Plan{State: m.state, CopyReport: session.CopyReport()}
	if m.state.Copy != nil {
		err = m.judgeCopy(a, &begin)
	} else if len(m.change.Manifests) > 0 {
		err = planner.Settle(ctx)
	}
	if err != nil {
		return nil, err
	}
	p, err := planner.Run(ctx, m.runOptions(session, only))
	if err != nil {
		return nil, err
	}
	p.State, p.CopyReport, p.Drift = begin.State, begin.CopyReport, begin.Drift
	return p, nil
}

// judgeCopy finds what a session lacks that has begun with a copy, and what in the copy is not as it is wanted. It is
// an error if there can be no plan.
func (m *making) judgeCopy(a asked, p *Plan) error {
	if n := len(p.CopyReport.Unloaded); m.state.Copy.FromFiles && n > 0 && n == len(m.state.Copy.Objects) {
		first := p.CopyReport.Unloaded[0]
		return fmt.Errorf("none of the objects can be loaded: %s %s: %w", first.Resource, first.Name, first.Err)
	}
	if err := notRun(a, p.CopyReport.Controllers); err != nil {
		return err
	}
	neverRuns := func(c controllers.SkippedController) bool { return runlocal.NeverInCopy(c.Controller) }
	p.CopyReport.Controllers = slices.DeleteFunc(p.CopyReport.Controllers, neverRuns)
	if len(m.change.Manifests) > 0 {
		return nil
	}
	var err error
	p.Drift, err = driftIn(m.state, a)
	return err
}

// runOptions are those of the plan in the session. only are the objects that were asked for.
func (m *making) runOptions(session *runlocal.Session, only []ObjectID) RunOptions {
	options := RunOptions{Only: only, Next: m.Next, Steps: m.Steps, Wait: m.Wait}
	given, pruned := m.given()
	if len(m.change.Manifests) > 0 {
		for _, one := range given {
			options.Given = append(options.Given, one.Object)
		}
		options.Change = func(ctx context.Context) error { return m.makeChange(ctx, session) }
	}
	copied, first := m.state.Copy, m.state.First
	if copied == nil {
		return options
	}
	if !copied.AllNamespaces { // what the API itself makes in no namespace is not looked at
		options.Namespaces = slices.Clone(copied.Namespaces)
	}
	for _, owner := range copied.AbsentOwners {
		options.Absent = append(options.Absent, ObjectID{
			Resource: owner.Kind.GVR(), Kind: owner.Kind.Kind, Namespace: owner.Namespace, Name: owner.Name,
		})
	}
	for _, one := range first {
		namespace := cmp.Or(one.Object.GetNamespace(), m.namespace)
		// The key of an object in no namespace is its name, which stands where other keys have their namespace.
		options.Namespaces = append(options.Namespaces, namespace, one.Object.GetName())
	}
	if options.Change == nil {
		return options
	}
	if options.Only == nil {
		options.Only = []ObjectID{} // nil would be all objects
	}
	for _, one := range slices.Concat(given, first) {
		id := ObjectID{Kind: one.Object.GetKind(), Namespace: one.Object.GetNamespace(), Name: one.Object.GetName()}
		options.Only = append(options.Only, id)
		if id.Namespace == "" { // it is in no namespace, or is applied in that of the options
			id.Namespace = m.namespace
			options.Only = append(options.Only, id)
		}
	}
	for _, p := range pruned {
		options.Only = append(options.Only, ObjectID{Kind: p.Kind.Kind, Namespace: p.Namespace, Name: p.Name})
	}
	return options
}

// given returns the manifests that are applied, and what a cluster has and is deleted with them.
func (m *making) given() (manifests []runlocal.Manifest, pruned []seed.Root) {
	read := m.state.cluster
	if read == nil {
		return m.change.Manifests, nil
	}
	for _, t := range read.tried {
		manifests = append(manifests, t.manifest)
	}
	return manifests, read.pruned
}

// makeChange makes the change in the session: what a cluster has answered is written, or else the manifests are
// applied; then what is pruned is deleted.
func (m *making) makeChange(ctx context.Context, session *runlocal.Session) error {
	given, pruned := m.given()
	read, write := m.state.cluster, m.change.Apply.Write
	if read != nil {
		write = read.writeTried()
	}
	applied, err := session.ApplyWith(ctx, m.namespace, given, write)
	if err == nil && read == nil && m.change.Prune != nil {
		pruned, err = m.pruneInSession(ctx, session, applied)
	}
	if err != nil {
		return err
	}
	return deletePruned(ctx, session, pruned)
}
