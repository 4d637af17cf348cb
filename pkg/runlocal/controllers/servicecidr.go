package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// serviceCIDRController is newServiceCIDRsController of cmd/kube-controller-manager/app/networking.go.
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

func buildServiceCIDR(ctx context.Context, e environment) (loop, error) {
	networking := e.informers.Networking().V1()
	c := servicecidrs.NewController(ctx, networking.ServiceCIDRs(), networking.IPAddresses(), e.client)
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
