package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// rootCAPublisher is newRootCACertificatePublisherController of cmd/kube-controller-manager/app/certificates.go.
func rootCAPublisher() Controller {
	return Controller{
		Name:    names.RootCACertificatePublisherController,
		Short:   "root-ca-cert-publisher",
		Aliases: []string{"root-ca-cert-publisher"},
		Reads:   []schema.GroupResource{{Resource: "configmaps"}, {Resource: "namespaces"}},
		Writes:  []schema.GroupResource{{Resource: "configmaps"}},
		workers: 1,
		build:   buildRootCAPublisher,
		lacks:   lacksRootCA,
	}
}

func buildRootCAPublisher(_ context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), e.client, e.authority.RootCA)
	if err != nil {
		return nil, err
	}
	e.tap.SetTraits(tap.ControllerTraits{Bare: tap.Namespaces})
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
