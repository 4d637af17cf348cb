package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// serviceAccountController is newServiceAccountController of cmd/kube-controller-manager/app/core.go.
func serviceAccountController() Controller {
	return Controller{
		Name:    names.ServiceAccountController,
		Short:   "serviceaccount",
		Aliases: []string{"serviceaccount"},
		Reads:   []schema.GroupResource{{Resource: "namespaces"}, {Resource: "serviceaccounts"}},
		Writes:  []schema.GroupResource{{Resource: "serviceaccounts"}},
		workers: 1,
		build:   buildServiceAccount,
	}
}

func buildServiceAccount(ctx context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c, err := serviceaccount.NewServiceAccountsController(
		klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(), e.client,
		serviceaccount.DefaultServiceAccountsControllerOptions(),
	)
	if err != nil {
		return nil, err
	}
	e.tap.SetTraits(tap.ControllerTraits{Bare: tap.Namespaces})
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
