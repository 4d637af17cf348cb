package controllers

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kcmconfig "k8s.io/kube-controller-manager/config/v1alpha1"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	lifecycleconfig "k8s.io/kubernetes/pkg/controller/nodelifecycle/config/v1alpha1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// nodeLifecycle is newNodeLifecycleController of cmd/kube-controller-manager/app/core.go.
func nodeLifecycle() Controller {
	return Controller{
		Name:    names.NodeLifecycleController,
		Short:   "node-lifecycle",
		Aliases: []string{"nodelifecycle"},
		Reads: append(podsAndNodes(),
			schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, schema.GroupResource{Group: "apps", Resource: "daemonsets"}),
		Writes: podsAndNodes(),
		Danger: "takes a node for dead whose lease it does not see, and evicts its pods",
		// Every change of a node and of a pod is a key, and a node that stays silent is looked at again and again.
		NoisyLogMessages: []string{
			"Node hasn't been updated", "Missing timestamp for Node. Assuming now as a timestamp",
			"Setting initial state for unseen zone", "Initializing eviction metric for zone",
			"Recording event message for node", "Recording status change event message for node",
		},
		workers: nodeUpdateWorkers,
		build:   buildNodeLifecycle,
	}
}

// nodeUpdateWorkers is nodeUpdateWorkerSize of pkg/controller/nodelifecycle/node_lifecycle_controller.go, which is not
// configurable.
const nodeUpdateWorkers = 8

// What kube-controller-manager's flags default to (cmd/kube-controller-manager/app/options/nodelifecyclecontroller.go).
const (
	evictionRate          = 0.1
	secondaryEvictionRate = 0.01
	largeCluster          = 50
	unhealthyZone         = 0.55
)

// lifecycle completes the times by kube-controller-manager's defaults.
func (h NodeControllerOptions) lifecycle() kcmconfig.NodeLifecycleControllerConfiguration {
	var c kcmconfig.NodeLifecycleControllerConfiguration
	c.NodeMonitorPeriod.Duration, c.NodeMonitorGracePeriod.Duration = h.MonitorPeriod, h.GracePeriod
	lifecycleconfig.RecommendedDefaultNodeLifecycleControllerConfiguration(&c)
	c.NodeEvictionRate = cmp.Or(h.EvictionRate, evictionRate)
	return c
}

// podToUpdate is podUpdateItem of pkg/controller/nodelifecycle/node_lifecycle_controller.go.
type podToUpdate struct{ namespace, name string }

func (p podToUpdate) key() string { return p.namespace + "/" + p.name }

func buildNodeLifecycle(ctx context.Context, e environment) (loop, error) {
	times := e.hosts.lifecycle()
	core := e.informers.Core().V1()
	c, err := nodelifecycle.NewNodeLifecycleController(
		ctx, e.informers.Coordination().V1().Leases(), core.Pods(), core.Nodes(), e.informers.Apps().V1().DaemonSets(), e.client,
		times.NodeMonitorPeriod.Duration, times.NodeStartupGracePeriod.Duration, times.NodeMonitorGracePeriod.Duration,
		times.NodeEvictionRate, secondaryEvictionRate, largeCluster, unhealthyZone,
	)
	if err != nil {
		return nil, err
	}
	if err := tap.SwapQueue(e.tap, c, "nodeUpdateQueue", stringKey); err != nil {
		return nil, err
	}
	run := func(ctx context.Context, _ int) { c.Run(e.tap.TimerLoops(ctx)) }
	return run, tap.SwapQueue(e.tap, c, "podUpdateQueue", podToUpdate.key)
}
