package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	kcmconfig "k8s.io/kube-controller-manager/config/v1alpha1"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/podgc"
	podgcconfig "k8s.io/kubernetes/pkg/controller/podgc/config/v1alpha1"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/ttl"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// replicationController mirrors newReplicationController of k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func replicationController() Controller {
	return Controller{
		Name:            names.ReplicationControllerController,
		Short:           "replicationcontroller",
		Aliases:         []string{"replicationcontroller"},
		Reads:           []schema.GroupResource{{Resource: "replicationcontrollers"}, {Resource: "pods"}},
		Writes:          []schema.GroupResource{{Resource: "replicationcontrollers"}, {Resource: "pods"}},
		Keys:            []ObjectKind{{"", "ReplicationController", "replicationcontrollers"}},
		MakesReady:      true,
		IndependentKeys: true,
		workers:         5,
		build:           buildReplicationController,
	}
}

// buildReplicationController taps a queue that two structs hold: upstream copies the controller after it has registered
// its handlers.
func buildReplicationController(ctx context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	c := replication.NewReplicationManager(ctx, core.Pods(), core.ReplicationControllers(), e.client,
		replication.BurstReplicas)
	return c.Run, tap.SwapSharedQueue(e.tap, c, "queue", stringKey)
}

// namespaceSyncPeriod mirrors RecommendedDefaultNamespaceControllerConfiguration of
// k8s.io/kubernetes/pkg/controller/namespace/config/v1alpha1/defaults.go.
const namespaceSyncPeriod = 5 * time.Minute

// namespaceController mirrors newNamespaceController of k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func namespaceController() Controller {
	every := []schema.GroupResource{{Group: "*", Resource: "*"}}
	return Controller{
		Name:             names.NamespaceController,
		Short:            "namespace",
		Aliases:          []string{"namespace"},
		Reads:            every,
		Writes:           every,
		Needs:            []Need{NeedsMetadata},
		Danger:           "takes a namespace for empty whose content it does not see",
		NoisyLogMessages: []string{"Namespace has been deleted"}, // it is a key once more when it is gone
		workers:          10,
		build:            buildNamespace,
	}
}

// buildNamespace builds the controller with clients of higher rate limits, because it deletes everything in a
// namespace.
func buildNamespace(ctx context.Context, e environment) (runFunc, error) {
	config := *e.config
	config.QPS *= 20 // as upstream: it makes many requests
	config.Burst *= 100
	client, err := kubernetes.NewForConfig(&config)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	contents, err := metadata.NewForConfig(&config)
	if err != nil {
		return nil, fmt.Errorf("making the metadata client: %w", err)
	}
	kinds, err := namespacedKinds(client.Discovery())
	if err != nil {
		return nil, err
	}
	c := namespace.NewNamespaceController(
		ctx, client, contents, kinds,
		e.informers.Core().V1().Namespaces(), namespaceSyncPeriod, corev1.FinalizerKubernetes,
	)
	e.tap.SetTraits(tap.ControllerTraits{Bare: tap.Namespaces})
	return c.Run, e.tapQueues(c, "queue")
}

// namespacedKinds returns a function that discovers the kinds of namespaced objects. Upstream's constructor calls it
// once and ends the process if it returns none: so discovery is read here first, and the first call returns what it
// answered.
func namespacedKinds(from discovery.DiscoveryInterface) (func() ([]*metav1.APIResourceList, error), error) {
	first, err := from.ServerPreferredNamespacedResources()
	if len(first) == 0 {
		return nil, fmt.Errorf("discovering the kinds of namespaced objects: %w", orNoKinds(err))
	}
	var called atomic.Bool
	return func() ([]*metav1.APIResourceList, error) {
		if !called.Swap(true) {
			return first, err
		}
		return from.ServerPreferredNamespacedResources()
	}, nil
}

// orNoKinds returns err, or if it is nil an error for an answer without kinds.
func orNoKinds(err error) error {
	if err == nil {
		return errors.New("the API server returned none")
	}
	return err
}

// podGarbageCollector mirrors newPodGarbageCollectorController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func podGarbageCollector() Controller {
	return Controller{
		Name:              names.PodGarbageCollectorController,
		Short:             "podgc",
		Aliases:           []string{"podgc"},
		Reads:             podAndNodeResources(),
		Writes:            []schema.GroupResource{{Resource: "pods"}},
		Danger:            "deletes pods whose node it does not see",
		ClusterScopedWork: true,
		workers:           1,
		build:             buildPodGarbageCollector,
	}
}

// podGCPeriod and podGCQuarantine mirror gcCheckPeriod and quarantineTime of
// k8s.io/kubernetes/pkg/controller/podgc/gc_controller.go.
const (
	podGCPeriod     = 20 * time.Second
	podGCQuarantine = 40 * time.Second
)

// terminatedPods returns the threshold as NewPodGCInternal takes it, 0 for none.
func (h NodeControllerOptions) terminatedPods() int {
	if h.TerminatedPods != 0 {
		return max(h.TerminatedPods, 0)
	}
	var c kcmconfig.PodGCControllerConfiguration
	podgcconfig.RecommendedDefaultPodGCControllerConfiguration(&c)
	return int(c.TerminatedPodGCThreshold)
}

// buildPodGarbageCollector does what NewPodGC does, which takes no periods.
func buildPodGarbageCollector(ctx context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	period := cmp.Or(e.nodeControllers.podGCPeriod, podGCPeriod)
	if e.nodeControllers.HeldLoops {
		period = heldLoopPeriod
	}
	c := podgc.NewPodGCInternal(
		ctx, e.client, core.Pods(), core.Nodes(), e.nodeControllers.terminatedPods(),
		period, cmp.Or(e.nodeControllers.podGCQuarantine, podGCQuarantine),
	)
	run := func(ctx context.Context, _ int) { c.Run(e.nodeControllers.loops(ctx, e.tap)) }
	return run, e.tapQueues(c, "nodeQueue")
}

// ttlController mirrors newTTLController of k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func ttlController() Controller {
	nodes := []schema.GroupResource{{Resource: "nodes"}}
	return Controller{
		Name:    names.TTLController,
		Short:   "ttl",
		Aliases: []string{"ttl"},
		Reads:   nodes,
		Writes:  nodes,
		Danger:  "counts the nodes that it sees, and tells kubelets how long to keep Secrets by that",
		workers: 5,
		build:   buildTTL,
	}
}

func buildTTL(ctx context.Context, e environment) (runFunc, error) {
	c := ttl.NewTTLController(ctx, e.informers.Core().V1().Nodes(), e.client)
	return c.Run, e.tapQueues(c, "queue")
}
