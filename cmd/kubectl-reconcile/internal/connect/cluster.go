package connect

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

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Cluster is what a cluster serves, and reads it.
type Cluster struct {
	Kinds  *cluster.Kinds
	Reader *cluster.Reader
}

// Open asks the cluster which kinds it serves. The configuration is that of the connection, or one like it.
func (c *Connection) Open(ctx context.Context, config *rest.Config) (*Cluster, error) {
	shown := c.Progress.Show(ctx, cli.Constant("asking %s which kinds it serves", config.Host))
	defer shown()
	kinds, err := cluster.Discover(ctx, config)
	if err != nil {
		return nil, c.Explain(err)
	}
	reader, err := cluster.NewReader(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{kinds, reader}, nil
}

// NotFound says where a named object is not, and where one of that name is, or which of the names there are near.
func (s *Cluster) NotFound(ctx context.Context, t Target) error {
	err := fmt.Errorf("no %s %q%s", t.Kind, t.Name, t.Where(false))
	if _, unknown := s.Kinds.ResolveAll(t.Name); unknown == nil {
		const advice = "%q is a kind, too: for all objects of several kinds, write them with a comma and no blank"
		return cli.WithHint(err, fmt.Sprintf(advice, t.Name))
	}
	if !t.Kind.Namespaced {
		return cli.WithHint(err, s.nearest(ctx, t))
	}
	if elsewhere := s.namespacesWith(ctx, t); len(elsewhere) > 0 {
		return cli.WithHint(err, "there is one in namespace "+cli.Enumerate(elsewhere)+": -n says which to look in")
	}
	return cli.WithHint(err, cmp.Or(s.MissingNamespace(ctx, t.Namespace), s.nearest(ctx, t)))
}

// nearest is a hint at objects of the same kind whose names are near; empty if there are none.
func (s *Cluster) nearest(ctx context.Context, t Target) string {
	return cli.Suggestion(t.Name, s.names(ctx, t), "")
}

// namespacesWith are those that have an object of the name and kind; none for whoever may not look there.
func (s *Cluster) namespacesWith(ctx context.Context, t Target) []string {
	var out []string
	everywhere, named := cluster.Target{Kind: t.Kind}, cluster.ListOptions{Fields: t.FieldSelector("")}
	_ = s.Reader.ListObjects(ctx, everywhere, named, func(obj *unstructured.Unstructured) error {
		out = append(out, obj.GetNamespace())
		return nil
	})
	slices.Sort(out)
	return out
}

// MissingNamespace is a hint that there is no such namespace; empty if there is one, or if that cannot be told.
func (s *Cluster) MissingNamespace(ctx context.Context, name string) string {
	kind, ok, err := s.Kinds.Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err != nil || !ok || name == "" {
		return ""
	}
	if _, err := s.Reader.Metadata(ctx, kind, "", name); !apierrors.IsNotFound(err) {
		return ""
	}
	known := s.names(ctx, NewTarget(kind, "", ""))
	return cli.Suggestion(name, known, fmt.Sprintf("there is no namespace %q", name))
}

// names are those of the objects of a target, sorted; what cannot be listed is not among them.
func (s *Cluster) names(ctx context.Context, t Target) []string {
	var out []string
	_, _ = s.Reader.ListMetadata(ctx, []cluster.Target{t.Target}, func(_ cluster.Target, obj *metav1.PartialObjectMetadata) {
		out = append(out, obj.Name)
	})
	slices.Sort(out)
	return out
}
