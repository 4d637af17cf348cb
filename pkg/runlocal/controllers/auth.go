package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/bootstrap"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	serviceaccountcontroller "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// serviceAccountController mirrors newServiceAccountController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func serviceAccountController() Controller {
	return Controller{
		Name:    names.ServiceAccountController,
		Short:   "serviceaccount",
		Aliases: []string{"serviceaccount"},
		Reads:   []schema.GroupResource{{Resource: "namespaces"}, {Resource: "serviceaccounts"}},
		Writes:  []schema.GroupResource{{Resource: "serviceaccounts"}},
		Keys:    []ObjectKind{{"", "Namespace", "namespaces"}},
		workers: 1,
		build:   buildServiceAccount,
	}
}

func buildServiceAccount(ctx context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	c, err := serviceaccountcontroller.NewServiceAccountsController(
		klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(), e.client,
		serviceaccountcontroller.DefaultServiceAccountsControllerOptions(),
	)
	if err != nil {
		return nil, err
	}
	e.tap.SetTraits(tap.ControllerTraits{Bare: tap.Namespaces})
	return c.Run, e.tapQueues(c, "queue")
}

// serviceAccountToken mirrors newServiceAccountTokenController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/service_accounts.go.
func serviceAccountToken() Controller {
	both := []schema.GroupResource{{Resource: "serviceaccounts"}, {Resource: "secrets"}}
	return Controller{
		Name:             names.ServiceAccountTokenController,
		Short:            "serviceaccount-token",
		Aliases:          []string{"serviceaccount-token"},
		Reads:            both,
		Writes:           both,
		workers:          5,
		build:            buildServiceAccountToken,
		missingAuthority: missingServiceAccountKey,
	}
}

// accountKey and secretKey have the layout of serviceAccountQueueKey and secretQueueKey in
// pkg/controller/serviceaccount/tokens_controller.go.
type (
	accountKey struct {
		namespace string
		name      string
		uid       types.UID
	}
	secretKey struct {
		namespace string
		name      string
		uid       types.UID
		saName    string
		saUID     types.UID
	}
)

func (k accountKey) text() string { return fmt.Sprintf("serviceaccounts %s/%s", k.namespace, k.name) }
func (k secretKey) text() string  { return fmt.Sprintf("secrets %s/%s", k.namespace, k.name) }

func buildServiceAccountToken(ctx context.Context, e environment) (runFunc, error) {
	signer, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, e.authority.ServiceAccountKey)
	if err != nil {
		return nil, fmt.Errorf("signing with the private key of service accounts: %w", err)
	}
	core := e.informers.Core().V1()
	c, err := serviceaccountcontroller.NewTokensController(
		klog.FromContext(ctx), core.ServiceAccounts(), core.Secrets(), e.client,
		serviceaccountcontroller.TokensControllerOptions{TokenGenerator: signer, RootCA: e.authority.RootCA},
	)
	if err != nil {
		return nil, err
	}
	if err := tap.SwapQueue(e.tap, c, "syncServiceAccountQueue", accountKey.text); err != nil {
		return c.Run, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "syncSecretQueue", secretKey.text)
}

// legacyTokenMaxAge mirrors RecommendedDefaultLegacySATokenCleanerConfiguration of
// k8s.io/kubernetes/pkg/controller/serviceaccount/config/v1alpha1/defaults.go.
const legacyTokenMaxAge = 365 * 24 * time.Hour

// legacyTokenCleaner mirrors newLegacyServiceAccountTokenCleanerController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go. It has no queue: it checks all tokens once a day. Their
// age is counted by now.
func legacyTokenCleaner(now clock.Clock) Controller {
	return Controller{
		Name:    names.LegacyServiceAccountTokenCleanerController,
		Short:   "legacy-service-account-token-cleaner",
		Aliases: []string{"legacy-service-account-token-cleaner"},
		Reads: []schema.GroupResource{
			{Resource: "serviceaccounts"}, {Resource: "secrets"}, {Resource: "pods"},
		},
		Writes:            []schema.GroupResource{{Resource: "secrets"}},
		ClusterScopedWork: true,
		workers:           1, // its Run takes no other number
		build: func(_ context.Context, e environment) (runFunc, error) {
			core := e.informers.Core().V1()
			c, err := serviceaccountcontroller.NewLegacySATokenCleaner(
				core.ServiceAccounts(), core.Secrets(), core.Pods(), e.client, now,
				serviceaccountcontroller.LegacySATokenCleanerOptions{
					CleanUpPeriod: legacyTokenMaxAge, SyncInterval: serviceaccountcontroller.DefaultCleanerSyncInterval,
				},
			)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, _ int) { c.Run(ctx) }, nil
		},
	}
}

// bootstrapSigner mirrors newBootstrapSignerController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/bootstrap.go.
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

func buildBootstrapSigner(_ context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	c, err := bootstrap.NewSigner(e.client, core.Secrets(), core.ConfigMaps(), bootstrap.DefaultSignerOptions())
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, _ int) { c.Run(ctx) }
	return run, e.tapQueues(c, "syncQueue")
}

// tokenCleaner mirrors newTokenCleanerController of k8s.io/kubernetes/cmd/kube-controller-manager/app/bootstrap.go.
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

func buildTokenCleaner(_ context.Context, e environment) (runFunc, error) {
	c, err := bootstrap.NewTokenCleaner(e.client, e.informers.Core().V1().Secrets(),
		bootstrap.DefaultTokenCleanerOptions())
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, _ int) { c.Run(ctx) }
	return run, e.tapQueues(c, "queue")
}

// clusterRoleAggregation mirrors newClusterRoleAggregationController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/rbac.go.
func clusterRoleAggregation() Controller {
	roles := []schema.GroupResource{{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}}
	return Controller{
		Name:    names.ClusterRoleAggregationController,
		Short:   "clusterrole-aggregation",
		Aliases: []string{"clusterrole-aggregation"},
		Reads:   roles,
		Writes:  roles,
		workers: 5,
		build:   buildClusterRoleAggregation,
	}
}

func buildClusterRoleAggregation(_ context.Context, e environment) (runFunc, error) {
	c := clusterroleaggregation.NewClusterRoleAggregation(e.informers.Rbac().V1().ClusterRoles(), e.client.RbacV1())
	return c.Run, e.tapQueues(c, "queue")
}
