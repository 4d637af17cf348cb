package runlocal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/internal/apirequest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/lease"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// ClusterOptions say on which cluster a session runs, and what it may do there. All but Config may be left zero: then
// nothing is written.
type ClusterOptions struct {
	// Config is how the cluster is reached. It is not changed. Its rate limiter, if it has one, is shared by all
	// clients, in place of Options.QPS.
	Config *rest.Config
	// Authority is what those of the controllers sign with that sign.
	Authority controllers.Authority
	// Write lets the controllers write. Without it they run in dry run.
	Write bool
	// DryRun is how a dry run is done; the zero value is guard.Server.
	DryRun guard.Mode
	// DryRunAggregated is guard.Options.Aggregated.
	DryRunAggregated bool
	// Notice is called, once for each sort, with writes that a dry run on the server could not try there. It may be
	// nil.
	Notice func(guard.Notice)
	// Namespaces are those that the controllers see, as if there were no others; nil is all. Those whose view must be
	// whole must not run then: see controllers.Controller.Danger.
	Namespaces []string
	// Keep reports whether keys of a namespace are worked on, as InScope of tap.Options; nil keeps all.
	Keep func(namespace string) bool
	// Filling is called again and again during the start, and not after it, with how many of the resources that the
	// caches hold are listed, and how many there are. It may be nil.
	Filling func(listed, all int)
	// Waiting is called once, after a few seconds, with the resources that the start waits for; Trouble, when the
	// controllers run, with those that began to fail or to work again. Both are called from a goroutine of the session,
	// with at least one. They may be nil.
	Waiting, Trouble func([]Listing)

	refusalGrace time.Duration // set by tests on slow machines
}

// StartCluster starts controllers on a cluster, and returns when their caches are filled and their workers run. It
// fails with a *CacheError when a resource that one of the controllers reads may not be listed, or is not served. Of
// the session's methods, Apply and EnsureNamespace are not for clusters, and Server returns nil. It ends with Stop, or
// when ctx does; Stop must be called either way.
func StartCluster(ctx context.Context, c ClusterOptions, o Options) (*Session, error) {
	manager := ""
	if c.Write {
		manager = controllers.FieldManager
	}
	known := newListings(o.Controllers)
	s := &Session{tap: tap.New(tap.Options{
		Recorder: o.Recorder, Verbosity: o.Verbosity, DryRun: !c.Write, Unsent: unsent, InScope: c.Keep,
		FieldManager: manager, ListFailed: func(r schema.GroupVersionResource, err error) {
			known.ended(r.GroupResource(), err)
		},
	}), listings: known}
	s.HoldKeys(o.HoldKeys)
	return s.begin(ctx, o.Controllers, func(_, running context.Context) error { return s.startCluster(running, c, o) })
}

// unsent reports whether a write was not sent: the guard answered it, or the Lease that permits it was not valid.
func unsent(resp *http.Response, err error) bool {
	if err != nil {
		return errors.As(err, new(*lease.FencedError))
	}
	return guard.Answered(resp)
}

func (s *Session) startCluster(ctx context.Context, c ClusterOptions, o Options) error {
	known := s.listings
	s.config = bounded(clusterConfig(c), o)
	slots, prefix := make(chan struct{}, maxParallelLists), apirequest.Prefix(s.config)
	s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &listingTransport{listings: known, prefix: prefix, slots: slots, next: next}
	})
	if err := s.clients(nil); err != nil {
		return err
	}
	reading := rest.CopyConfig(s.config)
	reading.QPS, reading.Burst = -1, 0
	client, err := kubernetes.NewForConfig(reading)
	if err != nil {
		return fmt.Errorf("making the client of the informers: %w", err)
	}
	s.controllers, err = s.awaitCaches(ctx, c, known, func(ctx context.Context) (*controllers.Running, error) {
		return controllers.Start(ctx, controllers.Deps{
			Tap: s.tap, Informers: s.tap.Informers(client, o.Resync), Config: s.config, Workers: o.Workers,
			Authority:   c.Authority,
			Autoscaling: o.Autoscaling, NodeControllers: o.NodeControllers, Collector: s.observeCollector(o.Collector),
		}, o.Controllers)
	})
	return err
}

// clusterConfig is what all clients of the session are made of: nothing that it sends gets past the guard.
func clusterConfig(c ClusterOptions) *rest.Config {
	config := rest.CopyConfig(c.Config)
	if len(c.Namespaces) > 0 {
		config = guard.LimitNamespaces(config, c.Namespaces)
	}
	if !c.Write {
		config = guard.DryRun(config, guard.Options{Mode: c.DryRun, Aggregated: c.DryRunAggregated, Notice: c.Notice})
	}
	config.WarningHandler = rest.NoWarnings{} // what upstream's controllers use is nothing that a user could change
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}
