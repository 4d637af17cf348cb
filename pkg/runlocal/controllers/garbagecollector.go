package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	gc "k8s.io/kubernetes/pkg/controller/garbagecollector"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// garbageCollector is newGarbageCollectorController of cmd/kube-controller-manager/app/core.go.
func garbageCollector() Controller {
	every := []schema.GroupResource{{Group: "*", Resource: "*"}}
	return Controller{
		Name:    names.GarbageCollectorController,
		Short:   "garbagecollector",
		Aliases: []string{"garbagecollector"},
		Reads:   every,
		Writes:  every,
		Needs:   []Need{NeedsMetadata, NeedsMapper},
		Danger:  "deletes objects whose owner it does not see",
		Routine: []string{"Processing item", "item doesn't have an owner, continue on next item"},
		workers: 20,
		build:   buildGarbageCollector,
	}
}

// syncPeriod is how long the collector waits for informers before it begins, and for those of new kinds. It is also the
// least time between two looks at which kinds there are. kube-controller-manager has 30 s; here kinds are asked for only
// when they may have changed.
const syncPeriod = time.Second

func buildGarbageCollector(ctx context.Context, e environment) (loop, error) {
	graph, err := newDependencyGraph(ctx, e)
	if err != nil {
		return nil, err
	}
	e.tap.SetHabits(collectorHabits(graph.kinds))
	swapped := tapGraph(e.tap, graph.GraphBuilder, graph.kinds.key)
	collector, err := gc.NewComposedGarbageCollector(ctx, e.client, graph.client, graph.mapper, graph.GraphBuilder)
	if err != nil {
		return nil, err
	}
	e.shared.graph = graph.GraphBuilder
	e.tap.Preparing(true)
	return func(ctx context.Context, workers int) {
		var running sync.WaitGroup
		running.Go(func() { collector.Run(ctx, workers, syncPeriod) })
		running.Go(func() {
			untilSynced(ctx, collector)
			e.tap.Preparing(false)
		})
		collector.Sync(ctx, graph.kinds, syncPeriod)
		running.Wait()
		graph.monitors.Wait()
	}, swapped
}

const (
	syncLook = 5 * time.Millisecond
	// syncPatience is how long the session does not count as settled while a resource cannot be listed.
	syncPatience = 10 * time.Second
)

// untilSynced returns when the collector has listed all that there is, or when that takes too long.
func untilSynced(ctx context.Context, collector *gc.GarbageCollector) {
	ctx, cancel := context.WithTimeout(ctx, syncPatience)
	defer cancel()
	for !collector.IsSynced(logr.Discard()) && pause(ctx, syncLook) {
	}
}

// tapGraph observes the queues of the graph. The collector takes two of them from the graph when it is made.
func tapGraph(c *tap.Controller, graph *gc.GraphBuilder, spell func(*tap.Identity) string) error {
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
	return tap.SwapRelay(c, graph, "graphChanges")
}
