package tree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// asked finds the objects of the command line. The error is about those that are not there, or may not be read.
func (r *treeReader) asked(ctx context.Context, graph *ownertree.Graph) ([]*ownertree.Node, error) {
	if r.forest() {
		return graph.Nodes(), nil
	}
	var out []*ownertree.Node
	var errs []error
	for _, t := range r.sought {
		var err error
		if t.Name == "" {
			err = r.ofKind(ctx, graph, t)
		} else {
			var n *ownertree.Node
			if n, err = r.one(ctx, graph, t); n != nil {
				out = append(out, n)
			}
		}
		errs = append(errs, err)
	}
	fields, err := r.byFields(ctx)
	if err != nil {
		return nil, err
	}
	selector := r.selector()
	for _, n := range graph.Nodes() {
		if r.selects(n) && selector.Matches(labels.Set(n.Labels)) && (fields == nil || fields[n.UID]) {
			out = append(out, n)
		}
	}
	return out, errors.Join(errs...)
}

// selector is that of -l; it was parsed before.
func (r *treeReader) selector() labels.Selector {
	selector, err := labels.Parse(r.targets.Labels)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// selects reports whether the object is of one of the kinds asked for as a whole; without any, whether it is where to look.
func (r *treeReader) selects(n *ownertree.Node) bool {
	if len(r.sought) == 0 {
		return r.namespace() == "" || n.Namespace == r.namespace()
	}
	return slices.ContainsFunc(r.sought, func(t connect.Target) bool {
		there := t.Namespace == "" || t.Namespace == n.Namespace
		return there && t.Name == "" && t.Kind.GroupResource() == n.Kind.GroupResource()
	})
}

// ofKind says why a kind asked for as a whole was not listed, and lists it if it is one that the garbage collector does
// not watch, as Events.
func (r *treeReader) ofKind(ctx context.Context, graph *ownertree.Graph, t connect.Target) error {
	missing := slices.DeleteFunc(graph.Incomplete(), func(i cluster.Incomplete) bool {
		return i.Group != t.Kind.Group || i.Resource != t.Kind.Resource || i.Namespace != t.Namespace
	})
	if !t.Kind.Collected() {
		var err error
		add := func(t cluster.Target, object *metav1.PartialObjectMetadata) { graph.Add(t.Kind, object) }
		missing, err = r.Reader.ListMetadata(ctx, []cluster.Target{t.Target}, add)
		if err != nil {
			return r.connection.Explain(err)
		}
	}
	switch {
	case len(missing) == 0:
		return nil
	case missing[0].Reason == cluster.ReasonForbidden:
		return r.connection.ForbiddenError([]connect.Target{t}, r.targets.AllNamespaces)
	}
	return fmt.Errorf("listing %s%s: %s", t.Kind.GroupResource(), t.Where(r.targets.AllNamespaces), missing[0].Message)
}

// byFields are the uids of the objects that --field-selector selects; nil if there is none.
func (r *treeReader) byFields(ctx context.Context) (map[types.UID]bool, error) {
	if r.targets.Fields == "" {
		return nil, nil
	}
	out := map[types.UID]bool{}
	for _, t := range r.sought {
		options := cluster.ListOptions{Fields: r.targets.Fields}
		err := r.Reader.ListObjects(ctx, t.Target, options, func(obj *unstructured.Unstructured) error {
			out[obj.GetUID()] = true
			return nil
		})
		if err != nil {
			return nil, r.connection.ExplainReadError(t, err)
		}
	}
	return out, nil
}

// one finds an object by its name, which need not be of a kind that can be listed.
func (r *treeReader) one(ctx context.Context, graph *ownertree.Graph, t connect.Target) (*ownertree.Node, error) {
	if n := graph.Find(t.Kind, t.Namespace, t.Name); n != nil {
		return n, nil
	}
	metadata, err := r.Reader.Metadata(ctx, t.Kind, t.Namespace, t.Name)
	switch {
	case err == nil:
		return graph.Add(t.Kind, metadata), nil
	case apierrors.IsNotFound(err):
		return nil, r.NotFound(ctx, t)
	case apierrors.IsForbidden(err):
		return nil, r.connection.ForbiddenError([]connect.Target{t}, false)
	}
	return nil, r.connection.ExplainReadError(t, err)
}

// nothing says why there is nothing to show, on stderr, or as an error if nothing could be read at all.
func (t *tree) nothing(ctx context.Context) error {
	missing := t.graph.Incomplete()
	where, everywhere := "in any namespace", t.namespace() == ""
	if !everywhere {
		where = fmt.Sprintf("in namespace %q", t.namespace())
	}
	switch {
	case len(t.graph.Nodes()) > 0 || len(missing) == 0 || len(t.sought) > 0:
	case missing[0].Reason == cluster.ReasonForbidden:
		return cli.WithHint(fmt.Errorf("no permission to list anything %s", where), t.connection.PermissionHint())
	case slices.ContainsFunc(missing, func(i cluster.Incomplete) bool { return i.Resource != "" }):
		return fmt.Errorf("listing anything %s: %s", where, missing[0].Message)
	}
	if everywhere {
		fmt.Fprintln(t.streams.ErrOut, "No resources found.")
		return nil
	}
	fmt.Fprintf(t.streams.ErrOut, "No resources found in %s namespace.\n", t.namespace())
	cli.PrintHint(t.streams.ErrOut, t.MissingNamespace(ctx, t.namespace()))
	return nil
}
