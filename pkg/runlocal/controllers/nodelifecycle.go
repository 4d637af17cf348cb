package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kcmconfig "k8s.io/kube-controller-manager/config/v1alpha1"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	kcm "k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	lifecycleconfig "k8s.io/kubernetes/pkg/controller/nodelifecycle/config/v1alpha1"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// NodeControllerOptions are settings of the controllers that look after nodes and the pods on them: node lifecycle,
// taint eviction and pod garbage collection. The zero value is kube-controller-manager's defaults.
type NodeControllerOptions struct {
	// MonitorPeriod is how often the health of nodes is checked, as with the flag --node-monitor-period; 0 is 5 s.
	MonitorPeriod time.Duration
	// GracePeriod is how long a node may be silent before it is marked as unreachable, as with the flag
	// --node-monitor-grace-period; 0 is 50 s.
	GracePeriod time.Duration
	// EvictionRate is how many nodes a second may be tainted because they are not ready, as with the flag
	// --node-eviction-rate; 0 is 0.1. The first of a zone is tainted at once.
	EvictionRate float32
	// TerminatedPods is how many terminated pods may exist before the oldest are deleted, as with the flag
	// --terminated-pod-gc-threshold; 0 is 12500, and with less than 0 none is deleted.
	TerminatedPods int

	// HeldLoops has the loops of node-lifecycle and podgc wait before each iteration until it is released, as
	// tap.Controller.HeldTimerLoops does; MonitorPeriod has no effect then.
	HeldLoops bool

	// podGCQuarantine is how long a node must be gone before its pods are deleted, podGCPeriod how often podgc checks;
	// 0 is podgc's default.
	podGCQuarantine, podGCPeriod time.Duration
	// evictionClock times the deletion of pods that tolerate a taint for a while; nil is the real clock.
	evictionClock clock.WithDelayedExecution
}

// heldLoopPeriod is the pause between iterations with HeldLoops.
const heldLoopPeriod = time.Millisecond

// loops returns a context for the Run of a controller that works in loops.
func (h NodeControllerOptions) loops(ctx context.Context, c *tap.Controller) context.Context {
	if h.HeldLoops {
		return c.HeldTimerLoops(ctx)
	}
	return c.TimerLoops(ctx)
}

// podAndNodeResources is what most of these controllers read.
func podAndNodeResources() []schema.GroupResource {
	return []schema.GroupResource{{Resource: "pods"}, {Resource: "nodes"}}
}

// nodeLifecycle mirrors newNodeLifecycleController of k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func nodeLifecycle() Controller {
	return Controller{
		Name:    names.NodeLifecycleController,
		Short:   "node-lifecycle",
		Aliases: []string{"nodelifecycle"},
		Reads: append(podAndNodeResources(),
			schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"},
			schema.GroupResource{Group: "apps", Resource: "daemonsets"}),
		Writes: podAndNodeResources(),
		Danger: "takes a node for dead whose lease it does not see, and evicts its pods",
		// Every change of a node and of a pod is a key, and a silent node is checked again each period.
		NoisyLogMessages: []string{
			"Node hasn't been updated", "Missing timestamp for Node. Assuming now as a timestamp",
			"Setting initial state for unseen zone", "Initializing eviction metric for zone",
			"Recording event message for node", "Recording status change event message for node",
		},
		workers: nodeUpdateWorkers,
		build:   buildNodeLifecycle,
	}
}

// nodeUpdateWorkers mirrors nodeUpdateWorkerSize of
// k8s.io/kubernetes/pkg/controller/nodelifecycle/node_lifecycle_controller.go, which is not configurable.
const nodeUpdateWorkers = 8

// Defaults of kube-controller-manager's flags (cmd/kube-controller-manager/app/options/nodelifecyclecontroller.go).
const (
	evictionRate          = 0.1
	secondaryEvictionRate = 0.01
	largeCluster          = 50
	unhealthyZone         = 0.55
)

// lifecycleConfig returns kube-controller-manager's configuration with these settings.
func (h NodeControllerOptions) lifecycleConfig() kcmconfig.NodeLifecycleControllerConfiguration {
	var c kcmconfig.NodeLifecycleControllerConfiguration
	c.NodeMonitorPeriod.Duration, c.NodeMonitorGracePeriod.Duration = h.MonitorPeriod, h.GracePeriod
	lifecycleconfig.RecommendedDefaultNodeLifecycleControllerConfiguration(&c)
	c.NodeEvictionRate = cmp.Or(h.EvictionRate, evictionRate)
	if h.HeldLoops {
		c.NodeMonitorPeriod.Duration = heldLoopPeriod
	}
	return c
}

// podToUpdate is podUpdateItem of pkg/controller/nodelifecycle/node_lifecycle_controller.go.
type podToUpdate struct{ namespace, name string }

func (p podToUpdate) text() string { return p.namespace + "/" + p.name }

func buildNodeLifecycle(ctx context.Context, e environment) (runFunc, error) {
	times := e.nodeControllers.lifecycleConfig()
	core := e.informers.Core().V1()
	c, err := nodelifecycle.NewNodeLifecycleController(
		ctx, e.informers.Coordination().V1().Leases(), core.Pods(), core.Nodes(), e.informers.Apps().V1().DaemonSets(),
		e.client,
		times.NodeMonitorPeriod.Duration, times.NodeStartupGracePeriod.Duration, times.NodeMonitorGracePeriod.Duration,
		times.NodeEvictionRate, secondaryEvictionRate, largeCluster, unhealthyZone,
	)
	if err != nil {
		return nil, err
	}
	if err := e.tapQueues(c, "nodeUpdateQueue"); err != nil {
		return nil, err
	}
	run := func(ctx context.Context, _ int) { c.Run(e.nodeControllers.loops(ctx, e.tap)) }
	return run, tap.SwapQueue(e.tap, c, "podUpdateQueue", podToUpdate.text)
}

// taintEviction mirrors newTaintEvictionController of k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func taintEviction() Controller {
	return Controller{
		Name:    names.TaintEvictionController,
		Short:   "taint-eviction",
		Reads:   podAndNodeResources(),
		Writes:  []schema.GroupResource{{Resource: "pods"}},
		Danger:  "deletes pods by taints that it may see late",
		workers: tainteviction.UpdateWorkerSize,
		build:   buildTaintEviction,
	}
}

// Keys with the layout of those in pkg/controller/tainteviction/taint_eviction.go.
type (
	// taintedNode is nodeUpdateItem.
	taintedNode struct{ nodeName string }
	// taintedPod is podUpdateItem.
	taintedPod struct{ podName, podNamespace, nodeName string }
)

func (n taintedNode) text() string { return n.nodeName }
func (p taintedPod) text() string  { return p.podNamespace + "/" + p.podName }

// evict is the type of the function by which taint-eviction deletes a pod.
type evict = func(ctx context.Context, fireAt time.Time, args *tainteviction.WorkArgs) error

func buildTaintEviction(ctx context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	// The controller finds pods by an index that node-lifecycle adds, which need not run.
	if err := kcm.AddPodNodeNameIndexer(core.Pods().Informer()); err != nil {
		return nil, fmt.Errorf("indexing pods by node: %w", err)
	}
	c, err := tainteviction.New(ctx, e.client, core.Pods(), core.Nodes(), names.TaintEvictionController)
	if err != nil {
		return nil, err
	}
	evictions := e.tap.TimedWork("taintEvictionQueue")
	e.tap.SetTraits(tap.ControllerTraits{ErrorLevel: 4, BegunKey: func(message string, keysAndValues []any) string {
		recordEvictions(evictions, message, keysAndValues)
		return startedNodeOrPod(message, keysAndValues)
	}})
	if err := tap.SwapQueue(e.tap, c, "nodeUpdateQueue", taintedNode.text); err != nil {
		return nil, err
	}
	if err := tap.SwapQueue(e.tap, c, "podUpdateQueue", taintedPod.text); err != nil {
		return nil, err
	}
	if own := e.nodeControllers.evictionClock; own != nil {
		replace := func(clock.WithDelayedExecution) clock.WithDelayedExecution { return own }
		if err := tap.SwapField(e.tap, c, "taintEvictionQueue.clock", replace); err != nil {
			return nil, err
		}
	}
	run := func(ctx context.Context, _ int) { c.Run(ctx) }
	return run, tap.SwapField(e.tap, c, "taintEvictionQueue.workFunc", func(next evict) evict {
		return func(ctx context.Context, fireAt time.Time, args *tainteviction.WorkArgs) error {
			return evictions.Do(args.KeyFromWorkArgs(), func() error { return next(ctx, fireAt, args) })
		}
	})
}

// startedNodeOrPod returns the key of the node or pod that a worker begins to work on, by what it logs first; "" if the
// message is another one. The keys are taken from the queues by two goroutines, which pass them to the workers through
// channels.
func startedNodeOrPod(message string, keysAndValues []any) string {
	switch message {
	case "Noticed node update", "Noticed node deletion", "Noticed pod update", "Noticed pod deletion":
		return fmt.Sprint(valueOf("node", keysAndValues), valueOf("pod", keysAndValues))
	}
	return ""
}

// recordEvictions records which deletions are planned and cancelled, by what TimedWorkerQueue in
// pkg/controller/tainteviction/timed_workers.go logs.
func recordEvictions(evictions *tap.TimedWork, message string, keysAndValues []any) {
	item := fmt.Sprint(valueOf("item", keysAndValues))
	switch message {
	case "Adding TimedWorkerQueue item and to be fired at firedTime":
		from, ok := valueOf("createTime", keysAndValues).(time.Time)
		to, also := valueOf("firedTime", keysAndValues).(time.Time)
		if ok && also {
			evictions.Scheduled(item, to.Sub(from)) // the delay that createWorker uses
		}
	case "Cancelling TimedWorkerQueue item", "Replacing existing work":
		evictions.Cancelled(item)
	}
}

// valueOf returns the value that was logged for a key, "" if there is none.
func valueOf(key string, keysAndValues []any) any {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if keysAndValues[i] == key {
			return keysAndValues[i+1]
		}
	}
	return ""
}
