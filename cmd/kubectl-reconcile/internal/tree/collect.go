package tree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// query is what the command line asks for, resolved by the kinds that the server serves. Every stage that reads takes
// it.
type query struct {
	options *Options
	cluster *connect.Cluster
	// targets are what the command line names; none stands for everything.
	targets []connect.Target
	// only and without are --kinds and --exclude-kinds; nil without them.
	only, without func(cluster.Kind) bool
}

// resolve discovers the kinds of the cluster, and finds those of the command line.
func (o *Options) resolve(ctx context.Context) (*query, error) {
	config := rest.CopyConfig(o.connection.Config)
	// Most kinds were not named by the user, and so need no warning that they are deprecated.
	config.WarningHandler = rest.NoWarnings{}
	served, err := o.connection.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	q := &query{options: o, cluster: served}
	if o.targets.Manifests.Given() {
		q.targets, err = o.targets.FromFiles(o.streams.In, served.Kinds, o.connection)
	} else {
		q.targets, err = o.named.Resolve(served.Kinds, o.namespace())
	}
	if err != nil {
		return nil, o.connection.ExplainEach(err)
	}
	if q.only, err = kindFilter(served.Kinds, o.include); err != nil {
		return nil, o.connection.Explain(err)
	}
	if q.without, err = kindFilter(served.Kinds, o.exclude); err != nil {
		return nil, o.connection.Explain(err)
	}
	return q, nil
}

// namespace is the one of the command line, empty for all.
func (o *Options) namespace() string {
	if o.targets.AllNamespaces {
		return ""
	}
	return o.connection.Namespace
}

// kindFilter returns a function that reports whether a kind is one of the names, which may be categories; nil for no
// names.
func kindFilter(served *cluster.Kinds, names []string) (func(cluster.Kind) bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var all []cluster.Kind
	for _, name := range names {
		kinds, err := served.ResolveAll(name)
		if err != nil {
			return nil, err
		}
		all = append(all, kinds...)
	}
	return func(kind cluster.Kind) bool {
		return slices.ContainsFunc(all, func(k cluster.Kind) bool { return k.GroupResource() == kind.GroupResource() })
	}, nil
}

// scope is what must be listed: what the objects asked for may own, or where they must be looked for.
func (q *query) scope() ownertree.Scope {
	if len(q.targets) == 0 {
		if q.options.namespace() == "" {
			return ownertree.Scope{}
		}
		return ownertree.Scope{Namespaces: []string{q.options.namespace()}}
	}
	refs := make([]ownertree.Ref, len(q.targets))
	for i, t := range q.targets {
		refs[i] = ownertree.Ref{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}
	}
	return ownertree.ScopeOf(refs, q.options.down)
}

// everything reports whether no object in particular was asked for.
func (q *query) everything() bool { return len(q.targets) == 0 && q.selector().Empty() }

// selector is that of -l; it was parsed before.
func (q *query) selector() labels.Selector {
	selector, err := labels.Parse(q.options.targets.Labels)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// collected is what the first stage returns: the graph, and the objects of it that the command line asks for.
type collected struct {
	graph *ownertree.Graph
	asked []*ownertree.Node
	// missing is about those asked for that do not exist, or may not be read; nil if there are none.
	missing error
}

// collect lists what the query needs. The error is not nil only if nothing could be collected.
func collect(ctx context.Context, q *query) (*collected, error) {
	graph, err := ownertree.Collect(ctx, q.cluster.Reader, q.cluster.Kinds, q.scope())
	if err != nil {
		return nil, q.options.connection.Explain(err)
	}
	return find(ctx, q, graph), nil
}

// find finds the objects of the command line in a graph, and reads those that it does not hold.
func find(ctx context.Context, q *query, graph *ownertree.Graph) *collected {
	c := &collected{graph: graph}
	if q.everything() {
		c.asked = graph.Nodes()
		return c
	}
	var errs []error
	for _, t := range q.targets {
		var err error
		if t.Name == "" {
			err = q.addKind(ctx, graph, t)
		} else {
			var n *ownertree.Node
			if n, err = q.findOne(ctx, graph, t); n != nil {
				c.asked = append(c.asked, n)
			}
		}
		errs = append(errs, err)
	}
	fields, err := q.byFields(ctx)
	if err != nil {
		return &collected{graph: graph, missing: err}
	}
	selector := q.selector()
	for _, n := range graph.Nodes() {
		if q.selects(n) && selector.Matches(labels.Set(n.Labels)) && (fields == nil || fields[n.UID]) {
			c.asked = append(c.asked, n)
		}
	}
	c.missing = errors.Join(errs...)
	return c
}

// selects reports whether the object is of one of the kinds asked for as a whole; without any, whether it is in the
// namespace.
func (q *query) selects(n *ownertree.Node) bool {
	if namespace := q.options.namespace(); len(q.targets) == 0 {
		return namespace == "" || n.Namespace == namespace
	}
	return slices.ContainsFunc(q.targets, func(t connect.Target) bool {
		there := t.Namespace == "" || t.Namespace == n.Namespace
		return there && t.Name == "" && t.Kind.GroupResource() == n.Kind.GroupResource()
	})
}

// addKind returns why a kind asked for as a whole was not listed. One that the garbage collector does not watch, as
// Events, it lists itself.
func (q *query) addKind(ctx context.Context, graph *ownertree.Graph, t connect.Target) error {
	missing := slices.DeleteFunc(graph.Incomplete(), func(i cluster.Incomplete) bool {
		return i.Group != t.Kind.Group || i.Resource != t.Kind.Resource || i.Namespace != t.Namespace
	})
	if !t.Kind.Collected() {
		var err error
		add := func(t cluster.Target, object *metav1.PartialObjectMetadata) { graph.Add(t.Kind, object) }
		missing, err = q.cluster.Reader.ListMetadata(ctx, []cluster.Target{t.Target}, add)
		if err != nil {
			return q.options.connection.Explain(err)
		}
	}
	all := q.options.targets.AllNamespaces
	switch {
	case len(missing) == 0:
		return nil
	case unreadable(missing[0].Reason):
		return q.options.connection.ForbiddenError([]connect.Target{t}, all)
	}
	return fmt.Errorf("listing %s%s: %s", t.Kind.GroupResource(), t.Where(all), missing[0].Message)
}

// unreadable reports whether something may not be read, or was not recorded.
func unreadable(reason string) bool {
	return reason == cluster.ReasonForbidden || reason == cluster.ReasonNotRecorded
}

// findOne finds an object by its name, which need not be of a kind that can be listed.
func (q *query) findOne(ctx context.Context, graph *ownertree.Graph, t connect.Target) (*ownertree.Node, error) {
	n, err := graph.Get(ctx, q.cluster.Reader, ownertree.Ref{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name})
	if err != nil {
		return nil, q.options.connection.ReadError(ctx, q.cluster, t, false, err)
	}
	return n, nil
}

// byFields are the uids of the objects that --field-selector selects; nil if there is none.
func (q *query) byFields(ctx context.Context) (map[types.UID]bool, error) {
	selector := q.options.targets.Fields
	if selector == "" {
		return nil, nil
	}
	out := map[types.UID]bool{}
	for _, t := range q.targets {
		options := cluster.ListOptions{Fields: selector}
		err := q.cluster.Reader.ListObjects(ctx, t.Target, options, func(obj *unstructured.Unstructured) error {
			out[obj.GetUID()] = true
			return nil
		})
		if err != nil {
			return nil, q.options.connection.ReadError(ctx, q.cluster, t, q.options.targets.AllNamespaces, err)
		}
	}
	return out, nil
}

// explainEmpty writes to stderr why there is nothing to show, or returns an error if nothing could be read at all, or
// if the namespace does not exist.
func explainEmpty(ctx context.Context, q *query, graph *ownertree.Graph) error {
	o := q.options
	missing := graph.Incomplete()
	where, everywhere := "in any namespace", o.namespace() == ""
	if !everywhere {
		where = fmt.Sprintf("in namespace %q", o.namespace())
	}
	switch {
	case len(graph.Nodes()) > 0 || len(missing) == 0 || len(q.targets) > 0:
	case unreadable(missing[0].Reason):
		if o.connection.Recording != nil {
			return cli.WithHint(fmt.Errorf("nothing %s was recorded", where), o.connection.PermissionHint())
		}
		return cli.WithHint(fmt.Errorf("no permission to list anything %s", where), o.connection.PermissionHint())
	case slices.ContainsFunc(missing, func(i cluster.Incomplete) bool { return i.Resource != "" }):
		return fmt.Errorf("listing anything %s: %s", where, missing[0].Message)
	}
	if everywhere {
		fmt.Fprintln(o.streams.ErrOut, "No resources found.")
		return nil
	}
	if err := q.cluster.CheckNamespace(ctx, o.namespace()); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.ErrOut, "No resources found in %s namespace.\n", o.namespace())
	return nil
}
