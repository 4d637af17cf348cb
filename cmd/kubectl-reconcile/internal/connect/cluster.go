package connect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Cluster is a cluster whose kinds are known, and a reader of its objects.
type Cluster struct {
	Kinds  *cluster.Kinds
	Reader *cluster.Reader
}

// Open discovers which kinds the cluster serves, and returns errors as Explain does. config is that of the
// connection, or a copy with other limits.
func (c *Connection) Open(ctx context.Context, config *rest.Config) (*Cluster, error) {
	shown := c.Progress.Show(ctx, cli.ProgressText("asking %s which kinds it serves", c.server()))
	defer shown()
	kinds, err := cluster.Discover(ctx, config)
	if err != nil {
		return nil, c.Explain(err)
	}
	if c.Recording != nil {
		kinds = kinds.With(c.Recording.Usual)
	}
	reader, err := cluster.NewReader(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{kinds, reader}, nil
}

// OpenQuietly is Open for reads that are no request of the user: that a kind is deprecated matters to who writes its
// objects.
func (c *Connection) OpenQuietly(ctx context.Context) (*Cluster, error) {
	config := rest.CopyConfig(c.Config)
	config.WarningHandler, config.WarningHandlerWithContext = nil, rest.NoWarnings{}
	return c.Open(ctx, config)
}

// NotFound returns the error that a named object does not exist, with a hint: the namespaces that have one of that
// name, the missing namespace, or similar names.
func (c *Cluster) NotFound(ctx context.Context, t Target) error {
	err := fmt.Errorf("no %s %q%s", t.Kind, t.Name, t.Where(false))
	if _, unknown := c.Kinds.ResolveAll(t.Name); unknown == nil {
		const advice = "%q is a kind, too: for all objects of several kinds, write them with a comma and no blank"
		return cli.WithHint(err, fmt.Sprintf(advice, t.Name))
	}
	if !t.Kind.Namespaced {
		return cli.WithHint(err, c.nearest(ctx, t))
	}
	if elsewhere := c.namespacesWith(ctx, t); len(elsewhere) > 0 {
		return cli.WithHint(err, "there is one in namespace "+cli.Enumerate(elsewhere)+": select it by -n")
	}
	if known, missing := c.lacksNamespace(ctx, t.Namespace); missing {
		absent := fmt.Sprintf("there is no namespace %q", t.Namespace)
		return cli.WithHint(err, cli.Suggestion(t.Namespace, known, absent))
	}
	return cli.WithHint(err, c.nearest(ctx, t))
}

// nearest returns a hint that offers objects of the same kind with similar names; empty if there are none.
func (c *Cluster) nearest(ctx context.Context, t Target) string {
	return cli.Suggestion(t.Name, c.names(ctx, t), "")
}

// namespacesWith returns the namespaces that have an object of that kind and name; none if listing them is forbidden.
func (c *Cluster) namespacesWith(ctx context.Context, t Target) []string {
	var out []string
	everywhere, named := cluster.Target{Kind: t.Kind}, cluster.ListOptions{Fields: t.FieldSelector("")}
	_ = c.Reader.ListObjects(ctx, everywhere, named, func(obj *unstructured.Unstructured) error {
		out = append(out, obj.GetNamespace())
		return nil
	})
	slices.Sort(out)
	return out
}

// CheckNamespace returns an error if a namespace does not exist. It is nil if the namespace does, if that cannot be
// read, and for an empty name. It sends a request: a command that has found an object in the namespace need not call
// it.
func (c *Cluster) CheckNamespace(ctx context.Context, name string) error {
	known, missing := c.lacksNamespace(ctx, name)
	if !missing {
		return nil
	}
	return cli.WithHint(fmt.Errorf("there is no namespace %q", name), cli.Suggestion(name, known, ""))
}

// lacksNamespace reports whether a namespace does not exist, as far as that can be read, and returns those that do.
func (c *Cluster) lacksNamespace(ctx context.Context, name string) (known []string, missing bool) {
	kind, ok, err := c.Kinds.Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err != nil || !ok || name == "" {
		return nil, false
	}
	if _, err := c.Reader.Metadata(ctx, kind, "", name); !apierrors.IsNotFound(err) {
		return nil, false
	}
	return c.names(ctx, NewTarget(kind, "", "")), true
}

// names returns the names of the objects of a target, sorted; none if they cannot be listed.
func (c *Cluster) names(ctx context.Context, t Target) []string {
	var out []string
	add := func(_ cluster.Target, obj *metav1.PartialObjectMetadata) { out = append(out, obj.Name) }
	_, _ = c.Reader.ListMetadata(ctx, []cluster.Target{t.Target}, add)
	slices.Sort(out)
	return out
}

// ShowProgress shows how much of the cluster has been read, until end is called, which may be called again.
func (c *Cluster) ShowProgress(ctx context.Context, p *render.Progress) (end func()) {
	return p.Show(ctx, func(context.Context) string { return progressText(c.Reader.Progress()) })
}

// progressText returns how much of the cluster has been read. The server need not say how many objects there are.
func progressText(p cluster.Progress) string {
	parts := []string{fmt.Sprintf("%d of %s", p.Done, cli.Plural(p.Kinds, "kind"))}
	switch {
	case p.Expected > p.Objects:
		parts = append(parts, fmt.Sprintf("%d of %d objects", p.Objects, p.Expected))
	case p.Objects > 0:
		parts = append(parts, cli.Plural(p.Objects, "object"))
	}
	return "reading: " + strings.Join(parts, ", ")
}
