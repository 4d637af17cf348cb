package controllers

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	publisher "k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// servingSigner is whose trust bundle is published; upstream has it as a literal in certificates.go.
const servingSigner = "kubernetes.io/kube-apiserver-serving"

// trustBundlePublisher is newKubeAPIServerSignerClusterTrustBundledPublisherController of
// cmd/kube-controller-manager/app/certificates.go. Its feature gate, ClusterTrustBundle, is on by default.
func trustBundlePublisher() Controller {
	bundles := []schema.GroupResource{{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}}
	return Controller{
		Name:    names.KubeAPIServerClusterTrustBundlePublisherController,
		Short:   "kube-apiserver-serving-clustertrustbundle-publisher",
		Reads:   bundles,
		Writes:  bundles,
		workers: 1, // its Run takes no other number
		build:   buildTrustBundlePublisher,
		lacks:   lacksRootCA,
	}
}

// buildTrustBundlePublisher returns no loop where no version of trust bundles is served, as upstream does. The publisher
// has an informer of its own, as it watches the bundles of one signer only: so its reconciles name the handler that led
// to them, and not the event.
func buildTrustBundlePublisher(ctx context.Context, e environment) (loop, error) {
	content, err := dynamiccertificates.NewStaticCAContent("kube-apiserver-serving", e.authority.RootCA)
	if err != nil {
		return nil, fmt.Errorf("reading the root certificates: %w", err)
	}
	construct, err := bundlePublisherFor(ctx, e.client.Discovery().(discovery.ServerResourcesInterfaceWithContext))
	if err != nil {
		return nil, err
	}
	if construct == nil {
		klog.FromContext(ctx).Info("No known version of ClusterTrustBundle is served, so nothing is published")
		return nil, nil
	}
	c, err := construct(servingSigner, content, e.client)
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, _ int) { c.Run(ctx) }
	return run, tap.SwapQueue(e.tap, c, "queue", func(string) string { return bundleKey })
}

// bundleKey spells the one key, as the names of the signer's bundles begin: they are in no namespace.
const bundleKey = "kubernetes.io:kube-apiserver-serving"

type bundlePublisherConstructor func(string, dynamiccertificates.CAContentProvider, kubernetes.Interface) (publisher.PublisherRunner, error)

// bundlePublisherFor finds the constructor for the newest version of trust bundles that is served, nil if none is.
func bundlePublisherFor(ctx context.Context, served discovery.ServerResourcesInterfaceWithContext) (bundlePublisherConstructor, error) {
	for _, version := range []struct {
		schema.GroupVersion
		construct bundlePublisherConstructor
	}{
		{certificatesv1.SchemeGroupVersion, publisher.NewGAClusterTrustBundlePublisher},
		{certificatesv1beta1.SchemeGroupVersion, publisher.NewBetaClusterTrustBundlePublisher},
		{certificatesv1alpha1.SchemeGroupVersion, publisher.NewAlphaClusterTrustBundlePublisher},
	} {
		resources, err := served.ServerResourcesForGroupVersionWithContext(ctx, version.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("asking for the resources of %s: %w", version.GroupVersion, err)
		}
		if hasResource(resources, "clustertrustbundles") {
			return version.construct, nil
		}
	}
	return nil, nil
}

func hasResource(list *metav1.APIResourceList, name string) bool {
	for i := range list.APIResources {
		if list.APIResources[i].Name == name {
			return true
		}
	}
	return false
}
