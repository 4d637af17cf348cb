package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

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
	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	publisher "k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// csrResources is what most controllers of certificate signing requests read and write.
func csrResources() []schema.GroupResource {
	return []schema.GroupResource{{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}}
}

// csrApproving mirrors newCertificateSigningRequestApprovingController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/certificates.go.
func csrApproving() Controller {
	return Controller{
		Name:    names.CertificateSigningRequestApprovingController,
		Short:   "csrapproving",
		Aliases: []string{"csrapproving"},
		Reads:   csrResources(),
		Writes: append(csrResources(),
			schema.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}),
		workers: 5,
		build:   buildCSRApproving,
	}
}

func buildCSRApproving(ctx context.Context, e environment) (runFunc, error) {
	c := approver.NewCSRApprovingController(ctx, e.client, e.informers.Certificates().V1().CertificateSigningRequests())
	return c.Run, e.tapQueues(c, "queue")
}

// signingDuration mirrors RecommendedDefaultCSRSigningControllerConfiguration of
// k8s.io/kubernetes/pkg/controller/certificates/signer/config/v1alpha1/defaults.go.
const signingDuration = 365 * 24 * time.Hour

// csrSigning mirrors newCertificateSigningRequestSigningController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/certificates.go, with one certificate for all signers, as kubeadm
// has it.
func csrSigning() Controller {
	return Controller{
		Name:             names.CertificateSigningRequestSigningController,
		Short:            "csrsigning",
		Aliases:          []string{"csrsigning"},
		Reads:            csrResources(),
		Writes:           csrResources(),
		workers:          5,
		build:            buildCSRSigning,
		missingAuthority: missingSigningAuthority,
	}
}

func buildCSRSigning(ctx context.Context, e environment) (runFunc, error) {
	requests, a := e.informers.Certificates().V1().CertificateSigningRequests(), e.authority
	var loops []runFunc
	run := func(ctx context.Context, workers int) { runConcurrently(ctx, workers, loops) }
	for _, s := range []struct {
		queue     string
		construct func(
			context.Context, clientset, csrInformer, string, string, time.Duration,
		) (*signer.CSRSigningController, error)
	}{
		{"kubelet-serving", signer.NewKubeletServingCSRSigningController},
		{"kube-apiserver-client-kubelet", signer.NewKubeletClientCSRSigningController},
		{"kube-apiserver-client", signer.NewKubeAPIServerClientCSRSigningController},
		{"legacy-unknown", signer.NewLegacyUnknownCSRSigningController},
	} {
		c, err := s.construct(ctx, e.client, requests, a.SigningCertFile, a.SigningKeyFile, signingDuration)
		if err != nil {
			return run, err
		}
		loops = append(loops, c.Run)
		if err := tap.SwapNamedQueue(e.tap, c, "certificateController.queue", s.queue, stringKey); err != nil {
			return run, err
		}
	}
	return run, nil
}

// csrCleaner mirrors newCertificateSigningRequestCleanerController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/certificates.go. It has no queue: it checks all requests once an
// hour.
func csrCleaner() Controller {
	return Controller{
		Name:              names.CertificateSigningRequestCleanerController,
		Short:             "csrcleaner",
		Aliases:           []string{"csrcleaner"},
		Reads:             csrResources(),
		Writes:            csrResources(),
		ClusterScopedWork: true,
		workers:           1,
		build:             buildCSRCleaner,
	}
}

func buildCSRCleaner(_ context.Context, e environment) (runFunc, error) {
	requests := e.informers.Certificates().V1().CertificateSigningRequests()
	requests.Informer() // before the informers are started: the cleaner uses only the lister
	return cleaner.NewCSRCleanerController(e.client.CertificatesV1().CertificateSigningRequests(), requests).Run, nil
}

const (
	// podCertificateMaxAge and podCertificateCleanPeriod are those of newPodCertificateRequestCleanerController.
	podCertificateMaxAge      = 15 * time.Minute
	podCertificateCleanPeriod = 5 * time.Minute
)

// podCertificateRequestCleaner mirrors newPodCertificateRequestCleanerController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/certificates.go. Its feature gate, PodCertificateRequest, is on by
// default. It has no queue: it checks all requests from time to time. Their age is counted by now.
func podCertificateRequestCleaner(now clock.PassiveClock) Controller {
	requests := []schema.GroupResource{{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}}
	return Controller{
		Name:              names.PodCertificateRequestCleanerController,
		Short:             "podcertificaterequest-cleaner",
		Reads:             requests,
		Writes:            requests,
		ClusterScopedWork: true,
		workers:           1,
		build: func(_ context.Context, e environment) (runFunc, error) {
			requests := e.informers.Certificates().V1().PodCertificateRequests()
			return cleaner.NewPCRCleanerController(e.client, requests, now, podCertificateMaxAge,
				podCertificateCleanPeriod).Run, nil
		},
	}
}

// rootCAPublisher mirrors newRootCACertificatePublisherController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/certificates.go.
func rootCAPublisher() Controller {
	return Controller{
		Name:             names.RootCACertificatePublisherController,
		Short:            "root-ca-cert-publisher",
		Aliases:          []string{"root-ca-cert-publisher"},
		Reads:            []schema.GroupResource{{Resource: "configmaps"}, {Resource: "namespaces"}},
		Writes:           []schema.GroupResource{{Resource: "configmaps"}},
		workers:          1,
		build:            buildRootCAPublisher,
		missingAuthority: missingRootCA,
	}
}

func buildRootCAPublisher(_ context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	c, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), e.client, e.authority.RootCA)
	if err != nil {
		return nil, err
	}
	e.tap.SetTraits(tap.ControllerTraits{Bare: tap.Namespaces})
	return c.Run, e.tapQueues(c, "queue")
}

// servingSigner is the signer whose trust bundle is published; upstream has it as a literal in certificates.go.
const servingSigner = "kubernetes.io/kube-apiserver-serving"

// trustBundlePublisher mirrors newKubeAPIServerSignerClusterTrustBundledPublisherController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/certificates.go. Its feature gate, ClusterTrustBundle, is on by
// default.
func trustBundlePublisher() Controller {
	bundles := []schema.GroupResource{{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}}
	return Controller{
		Name:             names.KubeAPIServerClusterTrustBundlePublisherController,
		Short:            "kube-apiserver-serving-clustertrustbundle-publisher",
		Reads:            bundles,
		Writes:           bundles,
		workers:          1, // its Run takes no other number
		build:            buildTrustBundlePublisher,
		missingAuthority: missingRootCA,
	}
}

// buildTrustBundlePublisher returns nil if no version of trust bundles is served: the controller has nothing to do
// then, as upstream. The publisher makes its informer itself, for the bundles of one signer only, and the tap does not
// see its events: the cause of a reconcile is the handler that added the key, not the event.
func buildTrustBundlePublisher(ctx context.Context, e environment) (runFunc, error) {
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

// bundleKey is the text of the only key: what the names of the signer's bundles begin with. They are in no namespace,
// and a slash would look like one.
const bundleKey = "kubernetes.io:kube-apiserver-serving"

type bundlePublisherConstructor func(
	string, dynamiccertificates.CAContentProvider, kubernetes.Interface,
) (publisher.PublisherRunner, error)

// bundlePublisherFor returns the constructor for the newest version of trust bundles that is served; nil if none is.
func bundlePublisherFor(
	ctx context.Context, served discovery.ServerResourcesInterfaceWithContext,
) (bundlePublisherConstructor, error) {
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
			return nil, fmt.Errorf("discovering the resources of %s: %w", version.GroupVersion, err)
		}
		if hasResource(resources, "clustertrustbundles") {
			return version.construct, nil
		}
	}
	return nil, nil
}

func hasResource(list *metav1.APIResourceList, name string) bool {
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
}
