package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/endpoint"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// endpointsController is newEndpointsController of cmd/kube-controller-manager/app/core.go.
func endpointsController() Controller {
	return Controller{
		Name:    names.EndpointsController,
		Short:   "endpoint",
		Aliases: []string{"endpoint"},
		Reads:   []schema.GroupResource{{Resource: "services"}, {Resource: "pods"}, {Resource: "endpoints"}},
		Writes:  []schema.GroupResource{{Resource: "endpoints"}},
		workers: 5,
		build:   buildEndpoints,
	}
}

// noBatching is kube-controller-manager's default of the periods in which changes of endpoints are gathered
// (--endpoint-updates-batch-period and the two like it).
const noBatching = 0

// buildEndpoints has the queue of pods, which only finds the services of a pod that has changed, hand on what it saw.
func buildEndpoints(ctx context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c := endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), e.client, noBatching)
	if err := tap.SwapRelay(e.tap, c, "podQueue"); err != nil {
		return c.Run, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
