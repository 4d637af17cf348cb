package controllers

import (
	"context"
	"sync"

	certificatesinformers "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
)

// Names for what upstream's constructors take.
type (
	clientset   = kubernetes.Interface
	csrInformer = certificatesinformers.CertificateSigningRequestInformer
)

// concurrently runs all of loops, as concurrentRun of cmd/kube-controller-manager/app/controller_utils.go does, and
// returns when all have.
func concurrently(ctx context.Context, workers int, loops []loop) {
	var running sync.WaitGroup
	for _, l := range loops {
		running.Go(func() { l(ctx, workers) })
	}
	running.Wait()
}
