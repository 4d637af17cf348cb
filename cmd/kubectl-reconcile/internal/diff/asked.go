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
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// asked are the objects that the user has named. The zero value is none: then the plan is for all objects.
type asked struct {
	targets []connect.Target // single objects
	kinds   []connect.Target // all objects of a kind, in a namespace or in all
}

// empty reports whether no object was named.
func (a asked) empty() bool { return len(a.targets)+len(a.kinds) == 0 }

// has reports whether an object itself was asked for.
func (a asked) has(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind().GroupKind()
	return a.names(kind, obj.GetNamespace(), obj.GetName())
}

func (a asked) names(kind schema.GroupKind, namespace, name string) bool {
	return slices.ContainsFunc(a.targets, func(t connect.Target) bool {
		return t.Kind.GroupKind() == kind && t.Name == name && t.Namespace == namespace
	}) || slices.ContainsFunc(a.kinds, func(t connect.Target) bool {
		return t.Kind.GroupKind() == kind && (t.Namespace == "" || t.Namespace == namespace)
	})
}

// resolve finds the kinds of the arguments. A kind on which no controller of Kubernetes acts is an error, and so is one
// that no copy has.
func (o *Options) resolve(kinds *cluster.Kinds) (asked, error) {
	var a asked
	namespace := o.namespace
	if o.all {
		namespace = ""
	}
	targets, err := o.named.Resolve(kinds, namespace)
	if err != nil {
		return a, o.explain(err)
	}
	for _, t := range targets {
		if resource := t.Kind.GroupResource(); seed.NeverRead(resource) {
			return a, fmt.Errorf("there is no plan for %s: no controller of a plan acts on them", resource)
		}
		if !scheme.Scheme.IsGroupRegistered(t.Kind.Group) {
			err := fmt.Errorf("the controller of %s does not run here: it is none of kube-controller-manager", t.Kind)
			return a, cli.WithHint(err,
				"it can run against a copy of the cluster: see `sandbox --from-cluster`")
		}
		if t.Name != "" {
			a.targets = append(a.targets, t)
		} else {
			a.kinds = append(a.kinds, t)
		}
	}
	return a, nil
}

// explain adds to the error of a request, or of a kind, what is known of the cluster, or of what takes its place.
func (o *Options) explain(err error) error {
	if o.cluster != nil {
		return o.cluster.Explain(err)
	}
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return cli.WithHint(fmt.Errorf("no kind %q is known", unknown.Name), cli.Suggestion(unknown.Name, unknown.Known,
			"an object is named by TYPE/NAME, for example deploy/web; "+
				"custom resources need their definition in the files"))
	}
	return err
}

// resolveIn finds what the arguments name in a session that begins with files. An object that is not there is an error.
func (o *Options) resolveIn(ctx context.Context, session *runlocal.Session) (asked, error) {
	if o.named.Empty() {
		return asked{}, nil
	}
	opened, err := openSession(ctx, session)
	if err != nil {
		return asked{}, err
	}
	a, err := o.resolve(opened.Kinds)
	if err != nil {
		return a, err
	}
	for _, t := range a.targets {
		switch _, err := opened.Reader.Metadata(ctx, t.Kind, t.Namespace, t.Name); {
		case apierrors.IsNotFound(err):
			return a, opened.NotFound(ctx, t)
		case err != nil:
			return a, fmt.Errorf("reading %s/%s: %w", t.Kind, t.Name, err)
		}
	}
	return a, nil
}

// openSession returns the API of a session as a cluster.
func openSession(ctx context.Context, session *runlocal.Session) (*connect.Cluster, error) {
	config := session.Config()
	kinds, err := cluster.Discover(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("asking which kinds there are: %w", err)
	}
	reader, err := cluster.NewReader(config)
	if err != nil {
		return nil, err
	}
	return &connect.Cluster{Kinds: kinds, Reader: reader}, nil
}

// inSession returns the objects that were asked for as the session has them; nil if none were, and not nil if there are
// none of the kinds that were.
func (a asked) inSession(ctx context.Context, session *runlocal.Session) ([]plan.ObjectID, error) {
	if a.empty() {
		return nil, nil
	}
	out := []plan.ObjectID{}
	for _, t := range a.targets {
		out = append(out, plan.ObjectID{Kind: t.Kind.Kind, Namespace: t.Namespace, Name: t.Name})
	}
	if len(a.kinds) == 0 {
		return out, nil
	}
	reader, err := cluster.NewReader(session.Config())
	if err != nil {
		return nil, err
	}
	var lists []cluster.Target
	for _, t := range a.kinds {
		lists = append(lists, t.Target)
	}
	_, err = reader.ListMetadata(ctx, lists, func(t cluster.Target, obj *metav1.PartialObjectMetadata) {
		out = append(out, plan.ObjectID{Kind: t.Kind.Kind, Namespace: obj.Namespace, Name: obj.Name})
	})
	return out, err
}

// inCopy is inSession for a copy of a cluster, whose API may serve other kinds.
func (a asked) inCopy(copied *seed.Copy) []plan.ObjectID {
	if a.empty() {
		return nil
	}
	out := []plan.ObjectID{}
	for _, t := range a.targets {
		out = append(out, plan.ObjectID{Kind: t.Kind.Kind, Namespace: t.Namespace, Name: t.Name})
	}
	for i := range copied.Objects {
		obj := &copied.Objects[i]
		within := obj.Namespace == "" || copied.HasNamespace(obj.Namespace)
		if within && len(a.kinds) > 0 && a.names(obj.Kind.GroupKind(), obj.Namespace, obj.Name) {
			out = append(out, plan.ObjectID{Kind: obj.Kind.Kind, Namespace: obj.Namespace, Name: obj.Name})
		}
	}
	return out
}

// notRun is the error of an object that was asked for by its name or kind, and whose controller does not run.
func notRun(a asked, skipped []controllers.SkippedController) error {
	for _, t := range slices.Concat(a.targets, a.kinds) {
		of, ok := controllers.For(t.Kind.GroupKind())
		for _, c := range skipped {
			if ok && c.Short == of.Short {
				return fmt.Errorf("the controller of %s, %s, does not run here: %s",
					strings.ToLower(t.Kind.Kind), c.Short, c.Reason)
			}
		}
	}
	return nil
}
