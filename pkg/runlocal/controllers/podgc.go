package controllers

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kcmconfig "k8s.io/kube-controller-manager/config/v1alpha1"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/podgc"
	podgcconfig "k8s.io/kubernetes/pkg/controller/podgc/config/v1alpha1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// podGarbageCollector is newPodGarbageCollectorController of cmd/kube-controller-manager/app/core.go.
func podGarbageCollector() Controller {
	return Controller{
		Name:              names.PodGarbageCollectorController,
		Short:             "podgc",
		Aliases:           []string{"podgc"},
		Reads:             podsAndNodes(),
		Writes:            []schema.GroupResource{{Resource: "pods"}},
		Danger:            "deletes pods whose node it does not see",
		ClusterScopedWork: true,
		workers:           1,
		build:             buildPodGarbageCollector,
	}
}

// What podgc has (pkg/controller/podgc/gc_controller.go: gcCheckPeriod, quarantineTime).
const (
	podgcCollect    = 20 * time.Second
	podgcQuarantine = 40 * time.Second
)

// terminatedPods is the threshold as podgc takes it, 0 for none.
func (h NodeControllerOptions) terminatedPods() int {
	if h.TerminatedPods != 0 {
		return max(h.TerminatedPods, 0)
	}
	var c kcmconfig.PodGCControllerConfiguration
	podgcconfig.RecommendedDefaultPodGCControllerConfiguration(&c)
	return int(c.TerminatedPodGCThreshold)
}

// buildPodGarbageCollector makes what NewPodGC makes, of which the times cannot be set.
func buildPodGarbageCollector(ctx context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c := podgc.NewPodGCInternal(
		ctx, e.client, core.Pods(), core.Nodes(), e.hosts.terminatedPods(),
		cmp.Or(e.hosts.collect, podgcCollect), cmp.Or(e.hosts.quarantine, podgcQuarantine),
	)
	run := func(ctx context.Context, _ int) { c.Run(e.tap.TimerLoops(ctx)) }
	return run, tap.SwapQueue(e.tap, c, "nodeQueue", stringKey)
}
