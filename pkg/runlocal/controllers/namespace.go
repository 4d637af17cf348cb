package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/namespace"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// namespaceSyncPeriod is NamespaceSyncPeriod of pkg/controller/namespace/config/v1alpha1/defaults.go.
const namespaceSyncPeriod = 5 * time.Minute

// namespaceController is newNamespaceController of cmd/kube-controller-manager/app/core.go.
func namespaceController() Controller {
	every := []schema.GroupResource{{Group: "*", Resource: "*"}}
	return Controller{
		Name:             names.NamespaceController,
		Short:            "namespace",
		Aliases:          []string{"namespace"},
		Reads:            every,
		Writes:           every,
		Needs:            []Need{NeedsMetadata},
		Danger:           "takes a namespace for empty whose content it does not see",
		NoisyLogMessages: []string{"Namespace has been deleted"}, // the last event of a namespace is a key
		workers:          10,
		build:            buildNamespace,
	}
}

func buildNamespace(ctx context.Context, e environment) (loop, error) {
	config := *e.config
	config.QPS *= 20 // upstream: it makes many requests
	config.Burst *= 100
	client, err := kubernetes.NewForConfig(&config)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	contents, err := metadata.NewForConfig(&config)
	if err != nil {
		return nil, fmt.Errorf("making the metadata client: %w", err)
	}
	kinds, err := namespacedKinds(client.Discovery())
	if err != nil {
		return nil, err
	}
	c := namespace.NewNamespaceController(
		ctx, client, contents, kinds, e.informers.Core().V1().Namespaces(), namespaceSyncPeriod, corev1.FinalizerKubernetes,
	)
	e.tap.SetTraits(tap.ControllerTraits{Bare: tap.Namespaces})
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}

// namespacedKinds asks which kinds there are in namespaces. Upstream's constructor, which asks first, ends the process if
// there are none: so it is asked here before, and gets that answer.
func namespacedKinds(from discovery.DiscoveryInterface) (func() ([]*metav1.APIResourceList, error), error) {
	first, err := from.ServerPreferredNamespacedResources()
	if len(first) == 0 {
		return nil, fmt.Errorf("asking which kinds there are in namespaces: %w", orNone(err))
	}
	var asked atomic.Bool
	return func() ([]*metav1.APIResourceList, error) {
		if !asked.Swap(true) {
			return first, err
		}
		return from.ServerPreferredNamespacedResources()
	}, nil
}

// orNone is err, or an error that says that there were none.
func orNone(err error) error {
	if err == nil {
		return errors.New("the API server tells of none")
	}
	return err
}
