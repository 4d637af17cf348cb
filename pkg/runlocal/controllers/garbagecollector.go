package controllers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	gc "k8s.io/kubernetes/pkg/controller/garbagecollector"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// garbageCollector mirrors newGarbageCollectorController of k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func garbageCollector() Controller {
	every := []schema.GroupResource{{Group: "*", Resource: "*"}}
	return Controller{
		Name:                   names.GarbageCollectorController,
		Short:                  "garbagecollector",
		Aliases:                []string{"garbagecollector"},
		Reads:                  every,
		Writes:                 every,
		Needs:                  []Need{NeedsMetadata, NeedsMapper},
		Danger:                 "deletes objects whose owner it does not see",
		ToleratesUnlistedKinds: true,
		NoisyLogMessages:       []string{"Processing item", "item doesn't have an owner, continue on next item"},
		workers:                20,
		build:                  buildGarbageCollector,
	}
}

const (
	// syncPeriod is the least time between two discoveries. kube-controller-manager has 30 s; here discovery is read
	// only when kinds may have changed.
	syncPeriod = time.Second
	// initialSyncTimeout is how long the collector waits for its monitors at first: without a limit. After that the
	// gate of its queues decides when its workers may take keys.
	initialSyncTimeout = math.MaxInt64
	// quotaSyncTimeout is how long a session does not count as settled because a resource that quotas count was not
	// listed.
	quotaSyncTimeout = 10 * time.Second
)

// buildGarbageCollector builds the collector with a gate before its queues, and with Sync reading discovery only when
// kinds may have changed. Preparing counts the controller as busy until the gate is open for the first time.
func buildGarbageCollector(ctx context.Context, e environment) (runFunc, error) {
	graph, err := newDependencyGraph(ctx, e)
	if err != nil {
		return nil, err
	}
	e.tap.SetTraits(collectorTraits(graph.kinds))
	gate := &collectorGate{tap: e.tap, delivered: graph.delivered, kinds: graph.kinds, onChange: e.collector}
	if gate.onChange == nil {
		gate.onChange = func(CollectorView) {}
	}
	e.tap.Gate(gate.isOpen)
	swapped := tapGraph(e, graph.GraphBuilder, graph.kinds.key)
	collector, err := gc.NewComposedGarbageCollector(ctx, e.client, graph.client, graph.mapper, graph.GraphBuilder)
	if err != nil {
		return nil, err
	}
	e.shared.graph = graph.GraphBuilder
	e.tap.SetPreparing(true)
	return func(ctx context.Context, workers int) {
		var running sync.WaitGroup
		running.Go(func() { collector.Run(ctx, workers, initialSyncTimeout) })
		running.Go(func() { gate.run(ctx) })
		collector.Sync(ctx, graph.kinds, syncPeriod)
		running.Wait()
		graph.monitors.Wait()
	}, swapped
}

// tapGraph taps the queues of the graph. It must be called before the collector is made, which copies two of them.
func tapGraph(e environment, graph *gc.GraphBuilder, text func(*tap.Identity) string) error {
	c := e.tap
	attemptToDelete, _, _ := graph.GetGraphResources()
	key, err := tap.Identities(attemptToDelete, text)
	if err != nil {
		return fmt.Errorf("naming the keys of controller %q: %w", c.Name(), err)
	}
	for _, field := range []string{"attemptToDelete", "attemptToOrphan"} {
		if err := tap.SwapQueue(c, graph, field, key); err != nil {
			return err
		}
	}
	return tap.SwapOrderedRelay(c, graph, "graphChanges", e.newest)
}

// shared is what controllers of one Start have in common. Only buildAll and the builders use it, one after another.
type shared struct {
	// graph is the garbage collector's; nil before that is built. kube-controller-manager makes one for several
	// controllers.
	graph *gc.GraphBuilder
}

// dependencyGraph is the garbage collector's view of all objects, with the clients and informers that fill it.
type dependencyGraph struct {
	*gc.GraphBuilder
	client   metadata.Interface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	monitors *tap.MetadataInformers
	kinds    *servedKinds
	// delivered is tap.Controller.Delivered.
	delivered func() bool
}

// newDependencyGraph mirrors CreateControllerContext of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/controllermanager.go in what the graph is made from. The goroutines
// of its queues end only after a collector was run with it.
func newDependencyGraph(ctx context.Context, e environment) (*dependencyGraph, error) {
	config := *e.config
	config.QPS *= 2 // as upstream: each deletion takes two requests
	plain, err := metadata.NewForConfig(&config)
	if err != nil {
		return nil, fmt.Errorf("making the metadata client: %w", err)
	}
	lists := &listResults{}
	client := collectorClient{plain, lists}
	discoverer, err := discovery.NewDiscoveryClientForConfig(e.config)
	if err != nil {
		return nil, fmt.Errorf("making the discovery client: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	monitors := e.tap.MetadataInformers(e.informers, client, mapper)
	started := make(chan struct{})
	close(started) // the collector is run when the other informers have synced
	graph := &dependencyGraph{
		GraphBuilder: gc.NewDependencyGraphBuilder(
			ctx, client, mapper, gc.DefaultIgnoredResources(), monitors, started),
		client: client, mapper: mapper, monitors: monitors, delivered: e.tap.Delivered,
	}
	kinds := &servedKinds{
		DiscoveryClient: discoverer,
		onServed:        monitors.StopUnserved, listed: monitors.Synced, watched: graph.IsResourceSynced,
		lists: lists, listFailureTimeout: cmp.Or(e.listFailureTimeout, listFailureTimeout),
		resources: map[schema.GroupKind]string{}, unread: e.unread,
	}
	lists.setLeftOut(kinds.leftOutBefore())
	kinds.poller = kindPoller{changes: e.changes(), urgent: kinds.mustPoll}
	if e.kinds != nil {
		kinds.custom = e.kinds.Custom
	} else {
		kinds.poller.changes, kinds.poller.partial = definitionChanges(monitors), true
	}
	graph.kinds = kinds
	return graph, nil
}

// definitionChanges returns a function in place of Kinds.Changes, by what the collector sees of
// CustomResourceDefinitions and APIServices.
func definitionChanges(monitors *tap.MetadataInformers) func() uint64 {
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

// collectorTraits are how the garbage collector differs from other controllers: it logs at level 5 that it does not
// know an owner's kind, and adds a key again while no watch event has shown the owner that it waits for.
func collectorTraits(kinds *servedKinds) tap.ControllerTraits {
	return tap.ControllerTraits{
		ErrorLevel: 5, RequeuesWithoutError: true, FormatValue: kinds.value, FormatError: stripNodeDumps,
	}
}

// value returns the text of a logged object or owner reference, as in keys; "" for other values.
func (k *servedKinds) value(v any) string {
	if i := tap.IdentityOf(v); i != nil {
		return k.key(i)
	}
	var refs []metav1.OwnerReference
	switch v := v.(type) {
	case metav1.OwnerReference:
		refs = []metav1.OwnerReference{v}
	case []metav1.OwnerReference:
		refs = v
	}
	var names []string
	for _, ref := range refs {
		names = append(names, k.key(&tap.Identity{OwnerReference: ref}))
	}
	return strings.Join(names, " and ")
}

// nodeDumpPrefix is what the dump of a node of the graph begins with in the collector's errors.
const nodeDumpPrefix = " &garbagecollector.node{"

// stripNodeDumps removes the dumps of nodes from the text of an error. The reconcile's key names the object anyway.
func stripNodeDumps(text string) string {
	before, dump, found := strings.Cut(text, nodeDumpPrefix)
	if !found {
		return text
	}
	open := 1
	for i, c := range dump {
		switch c {
		case '{':
			open++
		case '}':
			open--
		}
		if open == 0 {
			return before + stripNodeDumps(dump[i+1:])
		}
	}
	return before
}
