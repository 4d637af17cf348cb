package controllers

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	gc "k8s.io/kubernetes/pkg/controller/garbagecollector"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// shared is what controllers of one Start use together. It is for buildAll and the builders, one after the other.
type shared struct {
	// graph is the garbage collector's, nil before that is built: kube-controller-manager makes one for several controllers.
	graph *gc.GraphBuilder
}

// dependencyGraph is the garbage collector's view of all objects, and what it is made of.
type dependencyGraph struct {
	*gc.GraphBuilder
	client   metadata.Interface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	monitors *tap.MetadataInformers
	kinds    *servedKinds
	// delivered is Tap.Delivered.
	delivered func() bool
}

// newDependencyGraph mirrors what CreateControllerContext of cmd/kube-controller-manager/app/controllermanager.go makes
// the graph from. The goroutines of its queues end when it is run.
func newDependencyGraph(ctx context.Context, e environment) (*dependencyGraph, error) {
	config := *e.config
	config.QPS *= 2 // upstream: each deletion takes two requests
	plain, err := metadata.NewForConfig(&config)
	if err != nil {
		return nil, fmt.Errorf("making the metadata client: %w", err)
	}
	lists := &listAnswers{}
	client := collectorClient{plain, lists}
	discoverer, err := discovery.NewDiscoveryClientForConfig(e.config)
	if err != nil {
		return nil, fmt.Errorf("making the discovery client: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	monitors := e.tap.MetadataInformers(e.informers, client, mapper)
	started := make(chan struct{})
	close(started) // it is run when the other informers have synced
	graph := &dependencyGraph{
		GraphBuilder: gc.NewDependencyGraphBuilder(ctx, client, mapper, gc.DefaultIgnoredResources(), monitors, started),
		client:       client, mapper: mapper, monitors: monitors, delivered: e.tap.Delivered,
	}
	kinds := &servedKinds{
		DiscoveryClient: discoverer, keep: monitors.StopUnserved, listed: monitors.Synced, watched: graph.IsResourceSynced,
		lists: lists, after: cmp.Or(e.unlistedAfter, unlistedAfter), resources: map[schema.GroupKind]string{},
	}
	kinds.turns = kindTurns{changes: e.changes(), pressing: kinds.pressing}
	if e.kinds != nil {
		kinds.custom = e.kinds.Custom
	} else {
		kinds.turns.changes, kinds.turns.partial = definitions(monitors), true
	}
	graph.kinds = kinds
	return graph, nil
}

// definitions returns Kinds.Changes as far as the collector sees what defines kinds.
func definitions(monitors *tap.MetadataInformers) func() uint64 {
	defining := []schema.GroupVersionResource{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	}
	return func() (latest uint64) {
		for _, resource := range defining {
			latest += monitors.Handled(resource)
		}
		return latest
	}
}
