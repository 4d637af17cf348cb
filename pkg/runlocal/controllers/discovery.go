package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// endpointsController mirrors newEndpointsController of k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func endpointsController() Controller {
	return Controller{
		Name:    names.EndpointsController,
		Short:   "endpoint",
		Aliases: []string{"endpoint"},
		Reads:   []schema.GroupResource{{Resource: "services"}, {Resource: "pods"}, {Resource: "endpoints"}},
		Writes:  []schema.GroupResource{{Resource: "endpoints"}},
		Keys:    []ObjectKind{{"", "Service", "services"}},
		workers: 5,
		build:   buildEndpoints,
	}
}

// noBatching is kube-controller-manager's default of the periods in which changes of endpoints are batched
// (--endpoint-updates-batch-period and the two like it).
const noBatching = 0

// buildEndpoints taps podQueue as a relay: its worker only adds the services of a changed pod to the other queue.
func buildEndpoints(ctx context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	c := endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), e.client, noBatching)
	if err := tap.SwapRelay(e.tap, c, "podQueue"); err != nil {
		return c.Run, err
	}
	return c.Run, e.tapQueues(c, "queue")
}

// endpointSliceController mirrors newEndpointSliceController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/discovery.go.
func endpointSliceController() Controller {
	return Controller{
		Name:    names.EndpointSliceController,
		Short:   "endpointslice",
		Aliases: []string{"endpointslice"},
		Reads: []schema.GroupResource{
			{Resource: "services"}, {Resource: "pods"}, {Resource: "nodes"},
			{Group: "discovery.k8s.io", Resource: "endpointslices"},
		},
		Writes: []schema.GroupResource{{Group: "discovery.k8s.io", Resource: "endpointslices"}},
		NoisyLogMessages: []string{
			// Of Services without topology hints.
			"Can't get CPU or zone information for node", "Insufficient node info for topology hints",
		},
		Keys:    []ObjectKind{{"", "Service", "services"}},
		workers: 5,
		build:   buildEndpointSlice,
	}
}

// maxEndpointsPerSlice is the default of kube-controller-manager's flag of that name.
const maxEndpointsPerSlice = 100

// buildEndpointSlice taps podQueue as a relay: its worker only adds the services of a changed pod to the other queue.
func buildEndpointSlice(ctx context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	c := endpointslice.NewController(
		ctx, core.Pods(), core.Services(), core.Nodes(), e.informers.Discovery().V1().EndpointSlices(),
		maxEndpointsPerSlice, e.client, noBatching,
	)
	// topologyQueue has a single key, for all changes of nodes.
	e.tap.SetTraits(tap.ControllerTraits{Bare: tap.AllNamespaces})
	if err := tap.SwapRelay(e.tap, c, "podQueue"); err != nil {
		return c.Run, err
	}
	return c.Run, e.tapQueues(c, "serviceQueue", "topologyQueue")
}

// endpointSliceMirroringController mirrors newEndpointSliceMirroringController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/discovery.go.
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

func buildEndpointSliceMirroring(ctx context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	c := endpointslicemirroring.NewController(
		ctx, core.Endpoints(), e.informers.Discovery().V1().EndpointSlices(), core.Services(),
		maxEndpointsPerSubset, e.client, noBatching,
	)
	return c.Run, e.tapQueues(c, "queue")
}

// serviceCIDRController mirrors newServiceCIDRsController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/networking.go.
func serviceCIDRController() Controller {
	ranges := schema.GroupResource{Group: "networking.k8s.io", Resource: "servicecidrs"}
	return Controller{
		Name:    names.ServiceCIDRController,
		Short:   "service-cidr",
		Reads:   []schema.GroupResource{ranges, {Group: "networking.k8s.io", Resource: "ipaddresses"}},
		Writes:  []schema.GroupResource{ranges},
		workers: 5,
		build:   buildServiceCIDR,
	}
}

func buildServiceCIDR(ctx context.Context, e environment) (runFunc, error) {
	networking := e.informers.Networking().V1()
	c := servicecidrs.NewController(ctx, networking.ServiceCIDRs(), networking.IPAddresses(), e.client)
	return c.Run, e.tapQueues(c, "queue")
}
