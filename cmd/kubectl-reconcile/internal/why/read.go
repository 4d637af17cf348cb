package why

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
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
	return q.situation(ctx, graph)
}

// situation reads what is of interest around the object, which need not be in the graph.
func (q *query) situation(ctx context.Context, graph *ownertree.Graph) (*diagnosis.Situation, error) {
	t := q.target
	n := graph.Find(t.Kind, t.Namespace, t.Name)
	if n == nil {
		metadata, err := q.cluster.Reader.Metadata(ctx, t.Kind, t.Namespace, t.Name)
		switch {
		case err == nil:
			n = graph.Add(t.Kind, metadata)
		case apierrors.IsNotFound(err):
			return nil, q.cluster.NotFound(ctx, t)
		case apierrors.IsForbidden(err):
			return nil, q.options.connection.ForbiddenError([]connect.Target{t}, false)
		default:
			return nil, q.options.connection.ExplainReadError(t, err)
		}
	}
	s, err := diagnosis.Read(ctx, q.cluster.Reader, q.cluster.Kinds, graph, n, q.options.clock.Now())
	if err != nil {
		return nil, q.options.connection.Explain(err)
	}
	return s, nil
}
