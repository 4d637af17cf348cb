package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	kcm "k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// taintEviction is newTaintEvictionController of cmd/kube-controller-manager/app/core.go.
func taintEviction() Controller {
	return Controller{
		Name:    names.TaintEvictionController,
		Short:   "taint-eviction",
		Reads:   podsAndNodes(),
		Writes:  []schema.GroupResource{{Resource: "pods"}},
		Danger:  "deletes pods by taints that it may see late",
		workers: tainteviction.UpdateWorkerSize,
		build:   buildTaintEviction,
	}
}

// Keys of pkg/controller/tainteviction/taint_eviction.go.
type (
	// taintedNode is nodeUpdateItem.
	taintedNode struct{ nodeName string }
	// taintedPod is podUpdateItem.
	taintedPod struct{ podName, podNamespace, nodeName string }
)

func (n taintedNode) key() string { return n.nodeName }
func (p taintedPod) key() string  { return p.podNamespace + "/" + p.podName }

// evict is the function by which taint-eviction deletes a pod when its time has come.
type evict = func(ctx context.Context, fireAt time.Time, args *tainteviction.WorkArgs) error

func buildTaintEviction(ctx context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	// The index that it looks pods up by is node-lifecycle's to make, which need not run.
	if err := kcm.AddPodNodeNameIndexer(core.Pods().Informer()); err != nil {
		return nil, fmt.Errorf("indexing pods by node: %w", err)
	}
	c, err := tainteviction.New(ctx, e.client, core.Pods(), core.Nodes(), names.TaintEvictionController)
	if err != nil {
		return nil, err
	}
	evictions := e.tap.TimedWork("taintEvictionQueue")
	e.tap.SetTraits(tap.ControllerTraits{ErrorLevel: 4, BegunKey: func(message string, keysAndValues []any) string {
		tellEvictions(evictions, message, keysAndValues)
		return beginsTaint(message, keysAndValues)
	}})
	if err := tap.SwapQueue(e.tap, c, "nodeUpdateQueue", taintedNode.key); err != nil {
		return nil, err
	}
	if err := tap.SwapQueue(e.tap, c, "podUpdateQueue", taintedPod.key); err != nil {
		return nil, err
	}
	run := func(ctx context.Context, _ int) { c.Run(ctx) }
	return run, tap.SwapField(e.tap, c, "taintEvictionQueue.workFunc", func(next evict) evict {
		return func(ctx context.Context, fireAt time.Time, args *tainteviction.WorkArgs) error {
			return evictions.Do(args.KeyFromWorkArgs(), func() error { return next(ctx, fireAt, args) })
		}
	})
}

// beginsTaint tells which node or pod a worker begins to work on. Two goroutines take keys from the queues, and hand them
// to the workers through channels.
func beginsTaint(message string, keysAndValues []any) string {
	switch message {
	case "Noticed node update", "Noticed node deletion", "Noticed pod update", "Noticed pod deletion":
		return fmt.Sprint(valueOf("node", keysAndValues), valueOf("pod", keysAndValues))
	}
	return ""
}

// tellEvictions tells which deletions are planned and cancelled, by what TimedWorkerQueue of
// pkg/controller/tainteviction/timed_workers.go logs of each.
func tellEvictions(evictions *tap.TimedWork, message string, keysAndValues []any) {
	item := fmt.Sprint(valueOf("item", keysAndValues))
	switch message {
	case "Adding TimedWorkerQueue item and to be fired at firedTime":
		from, ok := valueOf("createTime", keysAndValues).(time.Time)
		to, also := valueOf("firedTime", keysAndValues).(time.Time)
		if ok && also {
			evictions.Scheduled(item, to.Sub(from)) // as createWorker counts
		}
	case "Cancelling TimedWorkerQueue item", "Replacing existing work":
		evictions.Cancelled(item)
	}
}

// valueOf is the value of a key that was logged, an empty text if there is none.
func valueOf(key string, keysAndValues []any) any {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if keysAndValues[i] == key {
			return keysAndValues[i+1]
		}
	}
	return ""
}
