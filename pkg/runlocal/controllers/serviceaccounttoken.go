package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	tokens "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// serviceAccountToken is newServiceAccountTokenController of cmd/kube-controller-manager/app/service_accounts.go.
func serviceAccountToken() Controller {
	both := []schema.GroupResource{{Resource: "serviceaccounts"}, {Resource: "secrets"}}
	return Controller{
		Name:    names.ServiceAccountTokenController,
		Short:   "serviceaccount-token",
		Aliases: []string{"serviceaccount-token"},
		Reads:   both,
		Writes:  both,
		workers: 5,
		build:   buildServiceAccountToken,
		lacks:   lacksServiceAccountKey,
	}
}

// accountKey and secretKey are laid out as serviceAccountQueueKey and secretQueueKey of
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

func buildServiceAccountToken(ctx context.Context, e environment) (loop, error) {
	signer, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, e.authority.ServiceAccountKey)
	if err != nil {
		return nil, fmt.Errorf("signing with the private key of service accounts: %w", err)
	}
	core := e.informers.Core().V1()
	c, err := tokens.NewTokensController(klog.FromContext(ctx), core.ServiceAccounts(), core.Secrets(), e.client,
		tokens.TokensControllerOptions{TokenGenerator: signer, RootCA: e.authority.RootCA})
	if err != nil {
		return nil, err
	}
	if err := tap.SwapQueue(e.tap, c, "syncServiceAccountQueue", accountKey.text); err != nil {
		return c.Run, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "syncSecretQueue", secretKey.text)
}
