package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// served is what a cluster serves, and reads it.
type served struct {
	kinds  *cluster.Kinds
	reader *cluster.Reader
}

// open asks the cluster which kinds it serves. The configuration is that of the connection, or one like it.
func (c *connection) open(ctx context.Context, config *rest.Config) (*served, error) {
	shown := c.progress.Show(ctx, saying("asking %s which kinds it serves", config.Host))
	defer shown()
	kinds, err := cluster.Discover(ctx, config)
	if err != nil {
		return nil, c.explain(err)
	}
	reader, err := cluster.NewReader(config)
	if err != nil {
		return nil, err
	}
	return &served{kinds, reader}, nil
}

// notFound says where a named object is not, and where one of that name is, or which of the names there are near.
func (s *served) notFound(ctx context.Context, t target) error {
	err := fmt.Errorf("no %s %q%s", t.Kind, t.Name, t.where(false))
	if _, unknown := s.kinds.ResolveAll(t.Name); unknown == nil {
		const advice = "%q is a kind, too: for all objects of several kinds, write them with a comma and no blank"
		return withHint(err, fmt.Sprintf(advice, t.Name))
	}
	if !t.Kind.Namespaced {
		return withHint(err, s.nearest(ctx, t))
	}
	if elsewhere := s.namespacesWith(ctx, t); len(elsewhere) > 0 {
		return withHint(err, "there is one in namespace "+enumerate(elsewhere)+": -n says which to look in")
	}
	return withHint(err, cmp.Or(s.missingNamespace(ctx, t.Namespace), s.nearest(ctx, t)))
}

// nearest is a hint at objects of the same kind whose names are near; empty if there are none.
func (s *served) nearest(ctx context.Context, t target) string {
	return suggestion(t.Name, s.names(ctx, t), "")
}

// namespacesWith are those that have an object of the name and kind; none for whoever may not look there.
func (s *served) namespacesWith(ctx context.Context, t target) []string {
	var out []string
	everywhere, named := cluster.Target{Kind: t.Kind}, cluster.ListOptions{Fields: t.fieldSelector("")}
	_ = s.reader.ListObjects(ctx, everywhere, named, func(obj *unstructured.Unstructured) error {
		out = append(out, obj.GetNamespace())
		return nil
	})
	slices.Sort(out)
	return out
}

// missingNamespace is a hint that there is no such namespace; empty if there is one, or if that cannot be told.
func (s *served) missingNamespace(ctx context.Context, name string) string {
	kind, ok, err := s.kinds.Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err != nil || !ok || name == "" {
		return ""
	}
	if _, err := s.reader.Metadata(ctx, kind, "", name); !apierrors.IsNotFound(err) {
		return ""
	}
	known := s.names(ctx, newTarget(kind, "", ""))
	return suggestion(name, known, fmt.Sprintf("there is no namespace %q", name))
}

// names are those of the objects of a target, sorted; what cannot be listed is not among them.
func (s *served) names(ctx context.Context, t target) []string {
	var out []string
	_, _ = s.reader.ListMetadata(ctx, []cluster.Target{t.Target}, func(_ cluster.Target, obj *metav1.PartialObjectMetadata) {
		out = append(out, obj.Name)
	})
	slices.Sort(out)
	return out
}
