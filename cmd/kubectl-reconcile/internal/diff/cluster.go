package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	commonsession "github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/drift"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// clusterSource is the cluster that a plan begins with a copy of.
type clusterSource struct {
	connection *connect.Connection
	named      connect.TargetArgs
	all        bool // -A
	maxObjects int
	assume     nodes.Assumption
}

// asked are the objects that the user has named.
type asked struct {
	targets []connect.Target // of single objects
	kinds   []schema.GroupKind
}

// planOnCluster makes the plan in a copy of a part of the cluster.
func (o *Options) planOnCluster(ctx context.Context) (*madePlan, error) {
	change, err := read(o.readChange)
	if err != nil {
		return nil, err
	}
	ctx, cancel := o.limited(ctx)
	defer cancel()
	c := o.cluster
	config := rest.CopyConfig(c.connection.Config)
	// That a kind is deprecated matters to who writes its objects.
	config.WarningHandler, config.WarningHandlerWithContext = nil, rest.NoWarnings{}
	opened, err := c.connection.Open(ctx, config)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	a, err := c.resolve(opened)
	if err != nil {
		return nil, err
	}
	tried, err := o.tryOnCluster(ctx, opened, change)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	source := c.source(a, tried)
	copied, err := source.ReadFrom(ctx, opened)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	for _, t := range a.targets {
		if _, ok := copied.Find(t.Kind.GroupResource(), t.Namespace, t.Name); !ok && !copied.Unread(t.Kind.GroupResource()) {
			return nil, opened.NotFound(ctx, t)
		}
	}
	version, err := c.connection.ServerVersion(ctx)
	if err != nil {
		return nil, interrupted(ctx, c.connection.Explain(err))
	}
	if text := connect.OtherMinorText(version, api.KubernetesVersion()); text != "" {
		fmt.Fprintf(o.streams.ErrOut, "warning: %s\n", text)
	}
	return o.planInCopy(ctx, copied, a, tried)
}

// limited returns a context that ends with --timeout.
func (o *Options) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, o.timeout, &timeoutError{o.timeout})
}

// resolve finds the kinds of the arguments. A kind on which no controller of Kubernetes acts is an error.
func (c *clusterSource) resolve(opened *connect.Cluster) (asked, error) {
	var a asked
	targets, err := c.named.Resolve(opened.Kinds, c.connection.Namespace)
	if err != nil {
		return a, c.connection.Explain(err)
	}
	for _, t := range targets {
		if !scheme.Scheme.IsGroupRegistered(t.Kind.Group) {
			err := fmt.Errorf("the controller of %s does not run here: it is none of kube-controller-manager", t.Kind)
			return a, cli.WithHint(err,
				"it can run against a copy of the cluster: see `sandbox --from-cluster`")
		}
		if t.Name != "" {
			a.targets = append(a.targets, t)
		} else {
			a.kinds = append(a.kinds, t.Kind.GroupKind())
		}
	}
	return a, nil
}

// source returns what is to be copied.
func (c *clusterSource) source(a asked, tried []*triedManifest) *commonsession.CopySource {
	source := &commonsession.CopySource{
		Connection: c.connection, Flags: commonsession.CopyFlags{MaxObjects: c.maxObjects, Assume: c.assume},
		AllNamespaces: c.all,
	}
	if c.all {
		return source
	}
	for _, t := range a.targets {
		source.Namespaces = cli.AppendUnique(source.Namespaces, t.Namespace)
	}
	for _, t := range tried {
		if !t.known {
			continue
		}
		if namespace := t.manifest.Object.GetNamespace(); namespace != "" && !t.newNamespace {
			source.Namespaces = cli.AppendUnique(source.Namespaces, namespace)
		}
		if kind := t.manifest.Object.GroupVersionKind().GroupKind(); !scheme.Scheme.IsGroupRegistered(kind.Group) {
			source.Definitions = cli.AppendUnique(source.Definitions, kind)
		}
	}
	source.Namespaces = slices.DeleteFunc(source.Namespaces, func(n string) bool { return n == "" })
	if len(source.Namespaces) == 0 {
		source.Namespaces = []string{c.connection.Namespace}
	}
	slices.Sort(source.Namespaces)
	return source
}

// triedManifest is an object of -f, and what the cluster would make of it.
type triedManifest struct {
	manifest runlocal.Manifest
	// known is false for a kind that the cluster does not serve, and newNamespace is true for an object whose namespace
	// it does not have: both may be made by another object of -f. Such objects are not tried on the cluster.
	known, newNamespace bool
	resource            schema.GroupVersionResource
	after               *unstructured.Unstructured // nil if it was not tried
}

// tryOnCluster has the cluster apply the objects in dry run, with its webhooks and defaults. Objects without a
// namespace get that of the connection.
func (o *Options) tryOnCluster(ctx context.Context, opened *connect.Cluster, change []runlocal.Manifest) (
	[]*triedManifest, error) {
	if len(change) == 0 {
		return nil, nil
	}
	client, err := dynamic.NewForConfig(o.cluster.connection.Config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	var out []*triedManifest
	var errs []error
	for _, m := range change {
		t, err := o.try(ctx, opened, client, m, definedBy(change))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m, o.cluster.connection.Explain(err)))
			continue
		}
		out = append(out, t)
	}
	return out, errors.Join(errs...)
}

// defined are the kinds and namespaces that objects of -f make.
type defined struct {
	kinds      []schema.GroupKind
	namespaces []string
}

func definedBy(change []runlocal.Manifest) defined {
	var out defined
	for _, m := range change {
		switch m.Object.GroupVersionKind().GroupKind() {
		case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
			group, _, _ := unstructured.NestedString(m.Object.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(m.Object.Object, "spec", "names", "kind")
			out.kinds = append(out.kinds, schema.GroupKind{Group: group, Kind: kind})
		case schema.GroupKind{Kind: "Namespace"}:
			out.namespaces = append(out.namespaces, m.Object.GetName())
		}
	}
	return out
}

func (o *Options) try(ctx context.Context, opened *connect.Cluster, client dynamic.Interface, m runlocal.Manifest,
	made defined) (*triedManifest, error) {
	gvk := m.Object.GroupVersionKind()
	kind, ok, err := opened.Kinds.Lookup(gvk)
	switch {
	case err != nil:
		return nil, err
	case !ok && slices.Contains(made.kinds, gvk.GroupKind()):
		return &triedManifest{manifest: m}, nil
	case !ok:
		return nil, fmt.Errorf("no kind %q is served in version %q", gvk.Kind, gvk.GroupVersion())
	case m.Object.GetName() == "":
		return nil, errors.New("it has no name")
	}
	t := &triedManifest{manifest: m, known: true, resource: kind.GVR()}
	var objects dynamic.ResourceInterface = client.Resource(t.resource)
	if kind.Namespaced {
		if m.Object.GetNamespace() == "" {
			m.Object.SetNamespace(o.cluster.connection.Namespace)
		}
		objects = client.Resource(t.resource).Namespace(m.Object.GetNamespace())
	}
	apply := o.apply
	apply.DryRun = true
	t.after, err = apply.Write(ctx, objects, m.Object)
	if namespace := m.Object.GetNamespace(); apierrors.IsNotFound(err) && slices.Contains(made.namespaces, namespace) {
		t.newNamespace = true
		return t, nil
	}
	return t, err
}

// planInCopy starts a session with the copy, and makes the plan in it.
func (o *Options) planInCopy(ctx context.Context, copied *seed.Copy, a asked, tried []*triedManifest) (*madePlan,
	error) {
	shown := o.progress.Show(ctx, cli.ProgressText("making the plan"))
	defer shown()
	made := &madePlan{copied: copied, applied: len(tried) > 0}
	if o.drift() {
		objects, err := objectsOfCopy(copied)
		if err != nil {
			return nil, err
		}
		report := driftOf(drift.Find(objects), objects, a)
		made.drift = &report
	}
	count := o.nodes
	if copied.HasKind(schema.GroupResource{Resource: "nodes"}) {
		count = 0
	}
	planner := plan.New()
	options := runlocal.Options{
		Controllers: copyControllers(), Nodes: count, HoldKeys: true, Copy: copied, Assume: o.cluster.assume,
		Warnings: connect.NewWarnings(o.streams.ErrOut),
	}
	planner.Configure(&options)
	session, err := runlocal.Start(ctx, options)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	planner.Begin(ctx, session)
	report := session.CopyReport()
	if err := notRun(a, report.Controllers); err != nil {
		return nil, errors.Join(err, session.Stop())
	}
	report.Controllers = slices.DeleteFunc(report.Controllers, func(c controllers.SkippedController) bool {
		return runlocal.NeverInCopy(c.Controller)
	})
	made.leftOut = commonsession.CopyLines(copied, report)
	made.Plan, err = planner.Run(ctx, o.copyOptions(session, copied, a, tried))
	if err != nil {
		return nil, errors.Join(interrupted(ctx, err), session.Stop())
	}
	return made, session.Stop()
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

// notRun is the error of an object that was asked for by its name or kind, and whose controller does not run.
func notRun(a asked, skipped []controllers.SkippedController) error {
	kinds := slices.Clone(a.kinds)
	for _, t := range a.targets {
		kinds = append(kinds, t.Kind.GroupKind())
	}
	for _, kind := range kinds {
		short := runlocal.ControllerFor(kind)
		for _, c := range skipped {
			if short != "" && c.Short == short {
				return fmt.Errorf("the controller of %s, %s, does not run here: %s", strings.ToLower(kind.Kind), short, c.Reason)
			}
		}
	}
	return nil
}

// objectsOfCopy decodes the objects of a copy that are in its namespaces.
func objectsOfCopy(copied *seed.Copy) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for i := range copied.Objects {
		obj := &copied.Objects[i]
		if !copied.HasNamespace(obj.Namespace) {
			continue
		}
		decoded, err := obj.Unstructured()
		if err != nil {
			return nil, err
		}
		out = append(out, decoded)
	}
	return out, nil
}

// copyOptions are those of the plan in a copy.
func (o *Options) copyOptions(session *runlocal.Session, copied *seed.Copy, a asked,
	tried []*triedManifest) plan.Options {
	options := plan.Options{Next: o.next, Steps: o.steps, Wait: o.wait}
	for _, t := range a.targets {
		options.Only = append(options.Only, plan.ObjectID{Kind: t.Kind.Kind, Namespace: t.Namespace, Name: t.Name})
	}
	for i := range copied.Objects {
		obj := &copied.Objects[i]
		if slices.Contains(a.kinds, obj.Kind.GroupKind()) && copied.HasNamespace(obj.Namespace) {
			options.Only = append(options.Only, plan.ObjectID{Kind: obj.Kind.Kind, Namespace: obj.Namespace, Name: obj.Name})
		}
	}
	if len(a.kinds) > 0 && options.Only == nil {
		options.Only = []plan.ObjectID{}
	}
	if !copied.AllNamespaces {
		options.Namespaces = copied.Namespaces
	}
	if len(tried) == 0 {
		return options
	}
	var manifests []runlocal.Manifest
	for _, t := range tried {
		obj := t.manifest.Object
		manifests = append(manifests, t.manifest)
		options.Given = append(options.Given, obj)
		options.Only = append(options.Only,
			plan.ObjectID{Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()})
	}
	options.Change = func(ctx context.Context) error {
		_, err := session.ApplyWith(ctx, o.cluster.connection.Namespace, manifests, o.writeTried(tried))
		return err
	}
	return options
}

// writeTried returns a function that writes to the copy what the cluster has answered, or applies what was not tried.
func (o *Options) writeTried(tried []*triedManifest) runlocal.WriteFunc {
	return func(ctx context.Context, client dynamic.ResourceInterface, obj *unstructured.Unstructured) (
		*unstructured.Unstructured, error) {
		i := slices.IndexFunc(tried, func(t *triedManifest) bool {
			m := t.manifest.Object
			return t.after != nil && m.GroupVersionKind() == obj.GroupVersionKind() && m.GetNamespace() == obj.GetNamespace() &&
				m.GetName() == obj.GetName()
		})
		if i < 0 {
			return o.apply.Write(ctx, client, obj)
		}
		after := tried[i].after.DeepCopy()
		current, err := client.Get(ctx, obj.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
				unstructured.RemoveNestedField(after.Object, "metadata", field)
			}
			return client.Create(ctx, after, metav1.CreateOptions{FieldManager: o.apply.Manager()})
		}
		if err != nil {
			return nil, err
		}
		after.SetUID(current.GetUID())
		after.SetResourceVersion(current.GetResourceVersion())
		after.SetManagedFields(nil)
		return client.Update(ctx, after, metav1.UpdateOptions{FieldManager: o.apply.Manager()})
	}
}
