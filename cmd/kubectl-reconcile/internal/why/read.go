package why

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// query is the object of the command line, resolved by the kinds that the server serves.
type query struct {
	options *Options
	cluster *connect.Cluster
	target  connect.Target
}

// open discovers the kinds of the cluster, and finds that of the object.
func (o *Options) open(ctx context.Context) (*query, error) {
	config := rest.CopyConfig(o.connection.Config)
	config.WarningHandler = rest.NoWarnings{} // most kinds were not named by the user
	served, err := o.connection.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	targets, err := o.named.Resolve(served.Kinds, o.connection.Namespace)
	if err != nil {
		return nil, o.connection.ExplainEach(err)
	}
	return &query{o, served, targets[0]}, nil
}

// scope is what must be listed.
func (q *query) scope() ownertree.Scope {
	return diagnosis.Scope(q.target.Kind, q.target.Namespace, q.target.Name)
}

// read reads what is of interest around the object.
func (q *query) read(ctx context.Context) (*diagnosis.Situation, error) {
	graph, err := ownertree.Collect(ctx, q.cluster.Reader, q.cluster.Kinds, q.scope())
	if err != nil {
		return nil, q.options.connection.Explain(err)
	}
	n := q.find(graph)
	if n == nil {
		metadata, err := q.metadata(ctx)
		if definition, ok := q.notConverted(err); ok {
			fmt.Fprintf(q.options.streams.ErrOut, "warning: %s %s cannot be read, because it cannot be converted; "+
				"this explains the definition of its kind\n", q.target.Kind.Kind, q.target.Name)
			return definition.read(ctx)
		}
		if err != nil {
			return nil, q.explain(ctx, err)
		}
		n = graph.Add(q.target.Kind, metadata)
	}
	s, err := q.around(ctx, graph, n)
	return s, q.options.connection.Explain(err)
}

// notConverted returns the query for the definition of the object's kind if the object cannot be read because its
// conversion webhook fails.
func (q *query) notConverted(err error) (*query, bool) {
	definitions, ok, lookup := q.cluster.Kinds.Lookup(schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition",
	})
	if err == nil || !strings.Contains(err.Error(), "conversion webhook for ") || !ok || lookup != nil {
		return nil, false
	}
	name := q.target.Kind.GroupResource().String()
	return &query{q.options, q.cluster, connect.Target{Target: cluster.Target{Kind: definitions}, Name: name}}, true
}

// find returns the object; nil if no list of the graph has it.
func (q *query) find(graph *ownertree.Graph) *ownertree.Node {
	return graph.Find(q.target.Kind, q.target.Namespace, q.target.Name)
}

// metadata reads the metadata of the object. The error is the server's: explain makes one for people of it.
func (q *query) metadata(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	t := q.target
	out, err := q.cluster.Reader.Metadata(ctx, t.Kind, t.Namespace, t.Name)
	if apierrors.IsUnauthorized(err) { // after that, client-go asks a credential plugin for others
		out, err = q.cluster.Reader.Metadata(ctx, t.Kind, t.Namespace, t.Name)
	}
	return out, err
}

// around reads what is of interest around the object, which is in the graph. The error is not nil only if ctx has
// ended.
func (q *query) around(
	ctx context.Context, graph *ownertree.Graph, n *ownertree.Node,
) (*diagnosis.Situation, error) {
	return diagnosis.Read(ctx, q.cluster.Reader, q.cluster.Kinds, graph, n, q.options.clock.Now())
}

// explain returns what to say of an error of the server for a read of the object.
func (q *query) explain(ctx context.Context, err error) error {
	return q.options.connection.ReadError(ctx, q.cluster, q.target, false, err)
}
