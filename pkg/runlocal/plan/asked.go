package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// asked are the objects of Options.Only; one without a name stands for all of its kind. Without any, the plan is for
// all objects.
type asked []seed.Root

// has reports whether an object itself was asked for.
func (a asked) has(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind().GroupKind()
	return a.names(kind, obj.GetNamespace(), obj.GetName())
}

func (a asked) names(kind schema.GroupKind, namespace, name string) bool {
	return slices.ContainsFunc(a, func(r seed.Root) bool {
		all := r.Name == "" && (r.Namespace == "" || r.Namespace == namespace)
		return r.Kind.GroupKind() == kind && (all || r.Name == name && r.Namespace == namespace)
	})
}

// single returns the objects that were asked for by their names.
func (a asked) single() []seed.Root {
	return slices.DeleteFunc(slices.Clone(a), func(r seed.Root) bool { return r.Name == "" })
}

// CheckKind returns an error if there is no plan for objects of a kind: no controller of Kubernetes acts on them, or no
// copy has them. It may be a *ForeignKindError.
func CheckKind(kind cluster.Kind) error {
	switch resource := kind.GroupResource(); {
	case seed.NeverRead(resource):
		return fmt.Errorf("there is no plan for %s: no controller of a plan acts on them", resource)
	case !isBuiltIn(kind):
		return &ForeignKindError{kind}
	}
	return nil
}

// resolve finds the objects of Options.Only.
func (o *Options) resolve(ctx context.Context, c *Cluster, namespace string) (asked, error) {
	if o.Only == nil {
		return nil, nil
	}
	a, err := o.Only(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	a = slices.Clone(a)
	for i := range a {
		if err := CheckKind(a[i].Kind); err != nil {
			return nil, err
		}
		if !a[i].Kind.Namespaced {
			a[i].Namespace = ""
		}
	}
	return a, nil
}

// isBuiltIn reports whether a kind is one of Kubernetes, on which its controllers act.
func isBuiltIn(kind cluster.Kind) bool { return scheme.Scheme.IsGroupRegistered(kind.Group) }

// inSession returns the objects that were asked for, and their names in the session; nil if none were, and not nil if
// there are none of the kinds that were. What no source has found is looked for in the session.
func (m *making) inSession(ctx context.Context, session *runlocal.Session) (asked, []ObjectID, error) {
	if read := m.state.cluster; read != nil {
		return read.asked, read.asked.inCopy(m.state.Copy), nil
	}
	if m.Only == nil {
		return nil, nil, nil
	}
	opened, err := (&Cluster{Config: session.Config()}).open(ctx)
	if err != nil {
		return nil, nil, err
	}
	a, err := m.resolve(ctx, opened, m.namespace)
	if err != nil || len(a) == 0 {
		return a, nil, err
	}
	out := a.ids()
	var lists []cluster.Target
	for _, r := range a {
		if r.Name == "" {
			lists = append(lists, cluster.Target{Kind: r.Kind, Namespace: r.Namespace})
			continue
		}
		switch _, err := opened.Reader.Metadata(ctx, r.Kind, r.Namespace, r.Name); {
		case apierrors.IsNotFound(err):
			return a, nil, &seed.NotFoundError{Root: r}
		case err != nil:
			return a, nil, fmt.Errorf("reading %s/%s: %w", r.Kind, r.Name, err)
		}
	}
	_, err = opened.Reader.ListMetadata(ctx, lists, func(t cluster.Target, obj *metav1.PartialObjectMetadata) {
		out = append(out, ObjectID{Kind: t.Kind.Kind, Namespace: obj.Namespace, Name: obj.Name})
	})
	return a, out, err
}

// ids returns the names of the single objects; not nil.
func (a asked) ids() []ObjectID {
	out := []ObjectID{}
	for _, r := range a.single() {
		out = append(out, ObjectID{Kind: r.Kind.Kind, Namespace: r.Namespace, Name: r.Name})
	}
	return out
}

// inCopy returns the names in a copy of a cluster, whose API may serve other kinds; nil if nothing was asked for.
func (a asked) inCopy(copied *seed.Copy) []ObjectID {
	if len(a) == 0 {
		return nil
	}
	out := a.ids()
	for i := range copied.Objects {
		obj := &copied.Objects[i]
		within := obj.Namespace == "" || copied.HasNamespace(obj.Namespace)
		if within && a.names(obj.Kind.GroupKind(), obj.Namespace, obj.Name) {
			out = append(out, ObjectID{Kind: obj.Kind.Kind, Namespace: obj.Namespace, Name: obj.Name})
		}
	}
	return out
}

// notRun is the error of an object that was asked for by its name or kind, and whose controller does not run.
func notRun(a asked, skipped []controllers.SkippedController) error {
	for _, r := range a {
		of, ok := controllers.For(r.Kind.GroupKind())
		for _, c := range skipped {
			if ok && c.Short == of.Short {
				return fmt.Errorf("the controller of %s, %s, does not run here: %s",
					strings.ToLower(r.Kind.Kind), c.Short, c.Reason)
			}
		}
	}
	return nil
}
