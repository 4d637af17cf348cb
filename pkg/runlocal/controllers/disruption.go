package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/disruption"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// disruptionController is newDisruptionController of cmd/kube-controller-manager/app/policy.go.
func disruptionController() Controller {
	return Controller{
		Name:    names.DisruptionController,
		Short:   "disruption",
		Aliases: []string{"disruption"},
		Reads: []schema.GroupResource{
			{Resource: "pods"}, {Group: "policy", Resource: "poddisruptionbudgets"}, {Resource: "replicationcontrollers"},
			{Group: "apps", Resource: "replicasets"}, {Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "statefulsets"},
		},
		Writes:  []schema.GroupResource{{Group: "policy", Resource: "poddisruptionbudgets"}, {Resource: "pods"}},
		Needs:   []Need{NeedsMapper, NeedsScale},
		workers: 1,
		build:   buildDisruption,
	}
}

func buildDisruption(ctx context.Context, e environment) (loop, error) {
	discoverer := e.client.Discovery()
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	scales, err := scale.NewForConfig(e.config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(discoverer))
	if err != nil {
		return nil, fmt.Errorf("making the scale client: %w", err)
	}
	apps, core := e.informers.Apps().V1(), e.informers.Core().V1()
	c := disruption.NewDisruptionController(
		ctx, core.Pods(), e.informers.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
		apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), e.client, mapper, scales, discoverer,
	)
	for _, field := range []string{"queue", "recheckQueue", "stalePodDisruptionQueue"} {
		if err := tap.SwapQueue(e.tap, c, field, stringKey); err != nil {
			return c.Run, err
		}
	}
	return c.Run, nil
}
