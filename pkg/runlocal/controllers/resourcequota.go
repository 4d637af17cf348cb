package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// resourceQuotaController is newResourceQuotaController of cmd/kube-controller-manager/app/core.go.
func resourceQuotaController() Controller {
	return Controller{
		Name:    names.ResourceQuotaController,
		Short:   "resourcequota",
		Aliases: []string{"resourcequota"},
		Reads: []schema.GroupResource{
			{Group: "*", Resource: "*"},
			{Group: "resource.k8s.io", Resource: "resourceclaims"}, {Group: "resource.k8s.io", Resource: "deviceclasses"}, // waited for
		},
		Writes:  []schema.GroupResource{{Resource: "resourcequotas"}},
		Needs:   []Need{NeedsMetadata, NeedsMapper},
		workers: 5,
		build:   func(ctx context.Context, e environment) (loop, error) { return buildResourceQuota(ctx, e, quotaResync) },
	}
}

// quotaResync is kube-controller-manager's --resource-quota-sync-period: how often all quotas are counted anew.
const quotaResync = 5 * time.Minute

func buildResourceQuota(ctx context.Context, e environment, resync time.Duration) (loop, error) {
	counted, err := newCounted(e)
	if err != nil {
		return nil, err
	}
	listers := generic.ListerFuncForResourceFunc(counted.ForResource)
	quotas, err := quotainstall.NewQuotaConfigurationForControllers(listers, e.informers)
	if err != nil {
		return nil, fmt.Errorf("making what quotas are counted by: %w", err)
	}
	started := make(chan struct{})
	close(started) // it is run when the other informers have synced
	c, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:           e.client.CoreV1(),
		ResourceQuotaInformer: e.informers.Core().V1().ResourceQuotas(),
		ResyncPeriod:          func() time.Duration { return resync },
		InformerFactory:       counted,
		// What is told again changes no quota: kube-controller-manager has its informers tell all once in 12 to 24 h.
		ReplenishmentResyncPeriod: func() time.Duration { return 0 },
		// The kinds are asked for when all controllers have their informers, so that this one can share them.
		DiscoveryFunc:        func() ([]*metav1.APIResourceList, error) { return nil, nil },
		IgnoredResourcesFunc: quotas.IgnoredResources,
		InformersStarted:     started,
		Registry:             generic.NewRegistry(quotas.Evaluators()),
		UpdateFilter:         quotainstall.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}
	e.tap.SetPreparing(true)
	run := func(ctx context.Context, workers int) {
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx, workers) })
		running.Go(func() {
			counted.untilSynced(ctx)
			e.tap.SetPreparing(false)
		})
		c.Sync(ctx, func() ([]*metav1.APIResourceList, error) { return counted.kinds(ctx) }, syncPeriod)
		running.Wait()
		counted.metadata.Wait()
	}
	return run, tapQuotas(e.tap, c)
}

// tapQuotas observes the queues: what handlers see passes through the monitor's.
func tapQuotas(c *tap.Controller, quotas *resourcequota.Controller) error {
	for _, field := range []string{"queue", "missingUsageQueue"} {
		if err := tap.SwapQueue(c, quotas, field, stringKey); err != nil {
			return err
		}
	}
	return tap.SwapRelay(c, quotas, "quotaMonitor.resourceChanges")
}
