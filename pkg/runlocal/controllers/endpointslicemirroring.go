package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// endpointSliceMirroringController is newEndpointSliceMirroringController of cmd/kube-controller-manager/app/discovery.go.
func endpointSliceMirroringController() Controller {
	return Controller{
		Name:    names.EndpointSliceMirroringController,
		Short:   "endpointslicemirroring",
		Aliases: []string{"endpointslicemirroring"},
		Reads: []schema.GroupResource{
			{Resource: "services"}, {Resource: "endpoints"}, {Group: "discovery.k8s.io", Resource: "endpointslices"},
		},
		Writes:  []schema.GroupResource{{Group: "discovery.k8s.io", Resource: "endpointslices"}},
		workers: 5,
		build:   buildEndpointSliceMirroring,
	}
}

// maxEndpointsPerSubset is the default of kube-controller-manager's flag --mirroring-max-endpoints-per-subset.
const maxEndpointsPerSubset = 1000

func buildEndpointSliceMirroring(ctx context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c := endpointslicemirroring.NewController(
		ctx, core.Endpoints(), e.informers.Discovery().V1().EndpointSlices(), core.Services(),
		maxEndpointsPerSubset, e.client, noBatching,
	)
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
