package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	commonsession "github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// planOnCluster makes the plan in a copy of a part of the cluster.
func (o *Options) planOnCluster(ctx context.Context) (*madePlan, error) {
	change, err := read(ctx, o.readChange)
	if err != nil {
		return nil, err
	}
	ctx, cancel := o.limited(ctx)
	defer cancel()
	job, err := o.readCluster(ctx, change)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	version, err := o.cluster.ServerVersion(ctx)
	if err != nil {
		return nil, interrupted(ctx, o.cluster.Explain(err))
	}
	if text := connect.OtherMinorText(version, api.KubernetesVersion()); text != "" {
		fmt.Fprintf(o.streams.ErrOut, "warning: %s\n", text)
	}
	made, err := o.planInCopy(ctx, *job)
	if err == nil && len(change) > 0 {
		o.tryAdmission(ctx, made)
	}
	return made, err
}

// readCluster tries the change on the cluster, and copies what the plan for it needs.
func (o *Options) readCluster(ctx context.Context, change []runlocal.Manifest) (*copyJob, error) {
	config := o.withoutWarnings()
	opened, err := o.cluster.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	a, err := o.resolve(opened.Kinds)
	if err != nil {
		return nil, err
	}
	tried, err := o.tryOnCluster(ctx, opened, change)
	if err != nil {
		return nil, err
	}
	pruned, notes, err := o.pruneOnCluster(ctx, config, opened.Kinds, tried)
	if err != nil {
		return nil, err
	}
	source, err := o.source(ctx, opened, a, tried, pruned)
	if err != nil {
		return nil, err
	}
	copied, err := source.ReadFrom(ctx, opened)
	if err != nil {
		return nil, err
	}
	if err := o.checkTargets(ctx, opened, copied, a.targets); err != nil {
		return nil, err
	}
	if len(a.targets)+len(tried) == 0 && !o.all {
		namespace := o.namespace
		if len(a.kinds) > 0 {
			namespace = connect.NamespaceOf(a.kinds)
		}
		if err := checkNamespace(ctx, opened, copied, namespace); err != nil {
			return nil, err
		}
	}
	job := &copyJob{copied: copied}
	job.asked = func(context.Context, *runlocal.Session) (asked, []plan.ObjectID, error) {
		return a, a.inCopy(copied), nil
	}
	tried, uncopied, err := o.keepCopied(copied, tried)
	if err != nil {
		return nil, err
	}
	pruned, unpruned := keepPruned(copied, pruned)
	job.notes = slices.Concat(notes, uncopied, unpruned, dependentsNotes(a, source))
	if len(change) > 0 {
		o.applyTried(job, tried, pruned)
	}
	return job, nil
}

// withoutWarnings returns the configuration of the cluster for what the user does not write: that a kind is deprecated
// matters to who writes its objects.
func (o *Options) withoutWarnings() *rest.Config {
	config := rest.CopyConfig(o.cluster.Config)
	config.WarningHandler, config.WarningHandlerWithContext = nil, rest.NoWarnings{}
	return config
}

// checkTargets returns an error if an object that is named is not in a copy, unless its kind could not be read.
func (o *Options) checkTargets(ctx context.Context, opened *connect.Cluster, copied *seed.Copy,
	targets []connect.Target) error {
	for _, t := range targets {
		resource := t.Kind.GroupResource()
		if _, ok := copied.Find(resource, t.Namespace, t.Name); ok || copied.Unread(resource) {
			continue
		}
		if _, err := opened.Reader.Metadata(ctx, t.Kind, t.Namespace, t.Name); err != nil {
			return o.cluster.ReadError(ctx, opened, t, false, err)
		}
		return fmt.Errorf("%s/%s is in the cluster, and no copy has it", t.Kind, t.Name)
	}
	return nil
}

// checkNamespace returns an error if a namespace does not exist of which a copy has no object.
func checkNamespace(ctx context.Context, opened *connect.Cluster, copied *seed.Copy, name string) error {
	if slices.ContainsFunc(copied.Objects, func(o seed.Object) bool { return o.Namespace == name }) {
		return nil
	}
	return opened.CheckNamespace(ctx, name)
}

// applyTried sets the change of a plan: what the cluster has answered is applied, and what is pruned is deleted.
func (o *Options) applyTried(job *copyJob, tried []*triedManifest, pruned []prunedObject) {
	job.given, job.pruned = manifestsOf(tried), pruned
	job.change = func(ctx context.Context, session *runlocal.Session) error {
		if _, err := session.ApplyWith(ctx, o.namespace, job.given, o.writeTried(tried)); err != nil {
			return err
		}
		return deletePruned(ctx, session, pruned)
	}
}

// limited returns a context that ends with --timeout.
func (o *Options) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, o.timeout, &timeoutError{o.timeout})
}

// namespaceKind and volumeKind are kinds in no namespace that belong to one.
var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	volumeKind    = schema.GroupKind{Kind: "PersistentVolume"}
)

// source returns what is to be copied: the namespaces of all objects that are named, applied or pruned.
func (o *Options) source(ctx context.Context, opened *connect.Cluster, a asked, tried []*triedManifest,
	pruned []prunedObject) (*commonsession.CopySource, error) {
	source := &commonsession.CopySource{
		Connection: o.cluster, Flags: commonsession.CopyFlags{MaxObjects: o.maxObjects, Assume: o.assume},
		AllNamespaces: o.all, SecretDigest: o.secrets,
	}
	for _, t := range readByName(a, tried, pruned) {
		if !t.Kind.Namespaced {
			source.Roots = append(source.Roots, seed.Root{Kind: t.Kind, Name: t.Name})
		}
		namespace, err := o.namespaceOf(ctx, opened, t)
		if err != nil {
			return nil, err
		}
		source.Namespaces = cli.AppendUnique(source.Namespaces, namespace)
	}
	for _, t := range a.kinds {
		source.Namespaces = cli.AppendUnique(source.Namespaces, t.Namespace)
	}
	for _, t := range tried {
		if !t.known {
			continue
		}
		if namespace := t.manifest.Object.GetNamespace(); namespace != "" && !t.newNamespace {
			source.Namespaces = cli.AppendUnique(source.Namespaces, namespace)
		}
		if !scheme.Scheme.IsGroupRegistered(t.kind.Group) {
			source.Definitions = cli.AppendUnique(source.Definitions, t.kind.GroupKind())
		}
	}
	if o.all {
		source.Namespaces = nil
		return source, nil
	}
	source.Related = relatedOf(a, tried, pruned)
	source.Namespaces = slices.DeleteFunc(source.Namespaces, func(n string) bool { return n == "" })
	if len(source.Namespaces) == 0 {
		source.Namespaces = []string{o.namespace}
	}
	slices.Sort(source.Namespaces)
	return source, nil
}

// readByName returns the objects that are named, pruned, or of -f and in no namespace, if the cluster has them: of what
// is in no namespace a copy has little that is not asked for.
func readByName(a asked, tried []*triedManifest, pruned []prunedObject) []connect.Target {
	out := slices.Clone(a.targets)
	for _, t := range tried {
		if t.exists() && !t.kind.Namespaced {
			out = append(out, connect.NewTarget(t.kind, "", t.after.GetName()))
		}
	}
	for _, p := range pruned {
		out = append(out, connect.NewTarget(p.Kind, p.Namespace, p.Name))
	}
	return out
}

// relatedOf returns the objects that the plan is for, if it is for single objects.
func relatedOf(a asked, tried []*triedManifest, pruned []prunedObject) []seed.Related {
	if len(a.kinds) > 0 {
		return nil
	}
	var out []seed.Related
	for _, t := range a.targets {
		out = append(out, seed.Related{Root: seed.Root{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}})
	}
	for _, t := range tried {
		obj := cmp.Or(t.after, t.manifest.Object)
		root := seed.Root{Kind: t.kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		if t.known && scheme.Scheme.IsGroupRegistered(t.kind.Group) {
			out = append(out, seed.Related{Root: root, Object: obj})
		}
	}
	for _, p := range pruned {
		out = append(out, seed.Related{Root: seed.Root{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}})
	}
	return out
}

// namespaceOf returns the namespace that a target belongs to: its own, that which it is, or that of a volume's claim;
// empty if there is none.
func (o *Options) namespaceOf(ctx context.Context, opened *connect.Cluster, t connect.Target) (string, error) {
	switch t.Kind.GroupKind() {
	case namespaceKind:
		return t.Name, nil
	case volumeKind:
		volume, err := opened.Reader.Object(ctx, t.Kind, "", t.Name)
		if err != nil {
			return "", o.cluster.ReadError(ctx, opened, t, false, err)
		}
		return claimNamespace(ctx, opened, volume), nil
	}
	return t.Namespace, nil
}

// claimNamespace returns the namespace of a volume's claim; empty if it has none, or if the namespace is gone.
func claimNamespace(ctx context.Context, opened *connect.Cluster, volume *unstructured.Unstructured) string {
	// A server has checked that it is text.
	name, _, _ := unstructured.NestedString(volume.Object, "spec", "claimRef", "namespace")
	kind, served, err := opened.Kinds.Lookup(namespaceKind.WithVersion("v1"))
	if name == "" || err != nil || !served {
		return name
	}
	if _, err := opened.Reader.Metadata(ctx, kind, "", name); apierrors.IsNotFound(err) {
		return ""
	}
	return name
}

// dependentsNotes says of objects in no namespace that what depends on them may be elsewhere.
func dependentsNotes(a asked, source *commonsession.CopySource) []string {
	var names []string
	for _, t := range a.targets {
		kind := t.Kind.GroupKind()
		if !t.Kind.Namespaced && kind != namespaceKind && kind != volumeKind {
			names = append(names, t.Kind.String()+"/"+t.Name)
		}
	}
	if len(names) == 0 || source.AllNamespaces {
		return nil
	}
	return []string{fmt.Sprintf("not copied: what depends on %s in other namespaces than %s; -A copies all",
		cli.Enumerate(names), strings.Join(source.Namespaces, ", "))}
}
