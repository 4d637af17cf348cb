package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/bootstrap"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// bootstrapSigner is newBootstrapSignerController of cmd/kube-controller-manager/app/bootstrap.go.
func bootstrapSigner() Controller {
	return Controller{
		Name:              names.BootstrapSignerController,
		Short:             "bootstrapsigner",
		Aliases:           []string{"bootstrapsigner"},
		Reads:             []schema.GroupResource{{Resource: "secrets"}, {Resource: "configmaps"}},
		Writes:            []schema.GroupResource{{Resource: "configmaps"}},
		OffByDefault:      true,
		ClusterScopedWork: true,
		workers:           1, // its Run takes no other number
		build:             buildBootstrapSigner,
	}
}

func buildBootstrapSigner(_ context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c, err := bootstrap.NewSigner(e.client, core.Secrets(), core.ConfigMaps(), bootstrap.DefaultSignerOptions())
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, _ int) { c.Run(ctx) }
	return run, tap.SwapQueue(e.tap, c, "syncQueue", stringKey)
}

// tokenCleaner is newTokenCleanerController of cmd/kube-controller-manager/app/bootstrap.go.
func tokenCleaner() Controller {
	secrets := []schema.GroupResource{{Resource: "secrets"}}
	return Controller{
		Name:         names.TokenCleanerController,
		Short:        "tokencleaner",
		Aliases:      []string{"tokencleaner"},
		Reads:        secrets,
		Writes:       secrets,
		OffByDefault: true,
		workers:      1, // its Run takes no other number
		build:        buildTokenCleaner,
	}
}

func buildTokenCleaner(_ context.Context, e environment) (loop, error) {
	c, err := bootstrap.NewTokenCleaner(e.client, e.informers.Core().V1().Secrets(), bootstrap.DefaultTokenCleanerOptions())
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, _ int) { c.Run(ctx) }
	return run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
