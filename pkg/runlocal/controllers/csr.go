package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// csrs are certificate signing requests, as the rows of their controllers have them.
func csrs() []schema.GroupResource {
	return []schema.GroupResource{{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}}
}

// csrApproving is newCertificateSigningRequestApprovingController of cmd/kube-controller-manager/app/certificates.go.
func csrApproving() Controller {
	return Controller{
		Name:    names.CertificateSigningRequestApprovingController,
		Short:   "csrapproving",
		Aliases: []string{"csrapproving"},
		Reads:   csrs(),
		Writes:  append(csrs(), schema.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}),
		workers: 5,
		build:   buildCSRApproving,
	}
}

func buildCSRApproving(ctx context.Context, e environment) (loop, error) {
	c := approver.NewCSRApprovingController(ctx, e.client, e.informers.Certificates().V1().CertificateSigningRequests())
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}

// signingDuration is ClusterSigningDuration of pkg/controller/certificates/signer/config/v1alpha1/defaults.go.
const signingDuration = 365 * 24 * time.Hour

// csrSigning is newCertificateSigningRequestSigningController of cmd/kube-controller-manager/app/certificates.go, with
// one certificate for all signers, as kubeadm has it.
func csrSigning() Controller {
	return Controller{
		Name:    names.CertificateSigningRequestSigningController,
		Short:   "csrsigning",
		Aliases: []string{"csrsigning"},
		Reads:   csrs(),
		Writes:  csrs(),
		workers: 5,
		build:   buildCSRSigning,
		lacks:   lacksSigningAuthority,
	}
}

func buildCSRSigning(ctx context.Context, e environment) (loop, error) {
	requests, a := e.informers.Certificates().V1().CertificateSigningRequests(), e.authority
	var loops []loop
	run := func(ctx context.Context, workers int) { concurrently(ctx, workers, loops) }
	for _, s := range []struct {
		queue     string
		construct func(context.Context, clientset, csrInformer, string, string, time.Duration) (*signer.CSRSigningController, error)
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

// csrCleaner is newCertificateSigningRequestCleanerController of cmd/kube-controller-manager/app/certificates.go. It has
// no queue: it looks at all requests once an hour.
func csrCleaner() Controller {
	return Controller{
		Name:              names.CertificateSigningRequestCleanerController,
		Short:             "csrcleaner",
		Aliases:           []string{"csrcleaner"},
		Reads:             csrs(),
		Writes:            csrs(),
		ClusterScopedWork: true,
		workers:           1,
		build:             buildCSRCleaner,
	}
}

func buildCSRCleaner(_ context.Context, e environment) (loop, error) {
	requests := e.informers.Certificates().V1().CertificateSigningRequests()
	requests.Informer() // the cleaner only asks for a lister, when the informers have been started
	return cleaner.NewCSRCleanerController(e.client.CertificatesV1().CertificateSigningRequests(), requests).Run, nil
}

const (
	// podCertificateLife and podCertificateLook are what newPodCertificateRequestCleanerController has.
	podCertificateLife = 15 * time.Minute
	podCertificateLook = 5 * time.Minute
)

// podCertificateRequestCleaner is newPodCertificateRequestCleanerController of
// cmd/kube-controller-manager/app/certificates.go. Its feature gate, PodCertificateRequest, is on by default. It has no
// queue: it looks at all requests from time to time. now tells their age.
func podCertificateRequestCleaner(now clock.PassiveClock) Controller {
	requests := []schema.GroupResource{{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}}
	return Controller{
		Name:              names.PodCertificateRequestCleanerController,
		Short:             "podcertificaterequest-cleaner",
		Reads:             requests,
		Writes:            requests,
		ClusterScopedWork: true,
		workers:           1,
		build: func(_ context.Context, e environment) (loop, error) {
			requests := e.informers.Certificates().V1().PodCertificateRequests()
			return cleaner.NewPCRCleanerController(e.client, requests, now, podCertificateLife, podCertificateLook).Run, nil
		},
	}
}
