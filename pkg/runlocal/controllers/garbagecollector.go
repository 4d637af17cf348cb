package controllers

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	gc "k8s.io/kubernetes/pkg/controller/garbagecollector"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// garbageCollector is newGarbageCollectorController of cmd/kube-controller-manager/app/core.go.
func garbageCollector() Controller {
	every := []schema.GroupResource{{Group: "*", Resource: "*"}}
	return Controller{
		Name:             names.GarbageCollectorController,
		Short:            "garbagecollector",
		Aliases:          []string{"garbagecollector"},
		Reads:            every,
		Writes:           every,
		Needs:            []Need{NeedsMetadata, NeedsMapper},
		Danger:           "deletes objects whose owner it does not see",
		LeavesOut:        true,
		NoisyLogMessages: []string{"Processing item", "item doesn't have an owner, continue on next item"},
		workers:          20,
		build:            buildGarbageCollector,
	}
}

const (
	// syncPeriod is the least time between two looks at which kinds there are. kube-controller-manager has 30 s; here kinds
	// are asked for only when they may have changed.
	syncPeriod = time.Second
	// ungated is how long the collector's workers wait for what it is to see by themselves: the gate of their queues decides.
	ungated = math.MaxInt64
	// syncPatience is how long the session does not count as settled while a resource that quotas count cannot be listed.
	syncPatience = 10 * time.Second
)

func buildGarbageCollector(ctx context.Context, e environment) (loop, error) {
	graph, err := newDependencyGraph(ctx, e)
	if err != nil {
		return nil, err
	}
	e.tap.SetTraits(collectorTraits(graph.kinds))
	gate := &collectorGate{tap: e.tap, whole: graph.delivered, kinds: graph.kinds, told: e.collector}
	if gate.told == nil {
		gate.told = func(CollectorView) {}
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
		running.Go(func() { collector.Run(ctx, workers, ungated) })
		running.Go(func() { gate.keep(ctx) })
		collector.Sync(ctx, graph.kinds, syncPeriod)
		running.Wait()
		graph.monitors.Wait()
	}, swapped
}

// tapGraph observes the queues of the graph. The collector takes two of them from the graph when it is made.
func tapGraph(e environment, graph *gc.GraphBuilder, spell func(*tap.Identity) string) error {
	c := e.tap
	attemptToDelete, _, _ := graph.GetGraphResources()
	key, err := tap.Identities(attemptToDelete, spell)
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
