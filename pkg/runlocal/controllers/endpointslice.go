package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/endpointslice"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// endpointSliceController is newEndpointSliceController of cmd/kube-controller-manager/app/discovery.go.
func endpointSliceController() Controller {
	return Controller{
		Name:    names.EndpointSliceController,
		Short:   "endpointslice",
		Aliases: []string{"endpointslice"},
		Reads: []schema.GroupResource{
			{Resource: "services"}, {Resource: "pods"}, {Resource: "nodes"}, {Group: "discovery.k8s.io", Resource: "endpointslices"},
		},
		Writes: []schema.GroupResource{{Group: "discovery.k8s.io", Resource: "endpointslices"}},
		NoisyLogMessages: []string{
			"Can't get CPU or zone information for node", "Insufficient node info for topology hints", // of Services that ask for none
		},
		workers: 5,
		build:   buildEndpointSlice,
	}
}

// maxEndpointsPerSlice is the default of kube-controller-manager's flag of that name.
const maxEndpointsPerSlice = 100

// buildEndpointSlice has the queue of pods, which only finds the services of a pod that has changed, hand on what it saw.
func buildEndpointSlice(ctx context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c := endpointslice.NewController(
		ctx, core.Pods(), core.Services(), core.Nodes(), e.informers.Discovery().V1().EndpointSlices(),
		maxEndpointsPerSlice, e.client, noBatching,
	)
	e.tap.SetTraits(tap.ControllerTraits{Bare: tap.AllNamespaces}) // the one key of topologyQueue, by which it learns of nodes
	if err := tap.SwapRelay(e.tap, c, "podQueue"); err != nil {
		return c.Run, err
	}
	for _, field := range []string{"serviceQueue", "topologyQueue"} {
		if err := tap.SwapQueue(e.tap, c, field, stringKey); err != nil {
			return c.Run, err
		}
	}
	return c.Run, nil
}
