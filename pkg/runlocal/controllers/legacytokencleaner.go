package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/utils/clock"
)

// legacyTokenLife is CleanUpPeriod of pkg/controller/serviceaccount/config/v1alpha1/defaults.go.
const legacyTokenLife = 365 * 24 * time.Hour

// legacyTokenCleaner is newLegacyServiceAccountTokenCleanerController of cmd/kube-controller-manager/app/core.go. It has
// no queue: it looks at all tokens once a day. now tells their age.
func legacyTokenCleaner(now clock.Clock) Controller {
	return Controller{
		Name:              names.LegacyServiceAccountTokenCleanerController,
		Short:             "legacy-service-account-token-cleaner",
		Aliases:           []string{"legacy-service-account-token-cleaner"},
		Reads:             []schema.GroupResource{{Resource: "serviceaccounts"}, {Resource: "secrets"}, {Resource: "pods"}},
		Writes:            []schema.GroupResource{{Resource: "secrets"}},
		ClusterScopedWork: true,
		workers:           1, // its Run takes no other number
		build: func(_ context.Context, e environment) (loop, error) {
			core := e.informers.Core().V1()
			c, err := serviceaccount.NewLegacySATokenCleaner(core.ServiceAccounts(), core.Secrets(), core.Pods(), e.client, now,
				serviceaccount.LegacySATokenCleanerOptions{
					CleanUpPeriod: legacyTokenLife, SyncInterval: serviceaccount.DefaultCleanerSyncInterval,
				})
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, _ int) { c.Run(ctx) }, nil
		},
	}
}
