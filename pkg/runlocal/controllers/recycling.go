package controllers

import (
	"context"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// recyclingClient is a client of the binder of volumes, which makes pods only to recycle volumes: in a goroutine for each volume,
// which then waits until the pod has ended, without a limit (pkg/volume/util/recyclerclient). In a dry run the pod is not there, and
// nothing ever comes: so that goroutine ends when the pod has been tried, and with it the reconcile that it is a part of.
type recyclingClient struct{ kubernetes.Interface }

// CoreV1 implements kubernetes.Interface.
func (c recyclingClient) CoreV1() corev1client.CoreV1Interface {
	return recyclingCore{c.Interface.CoreV1()}
}

type recyclingCore struct{ corev1client.CoreV1Interface }

// Pods implements corev1client.PodsGetter.
func (c recyclingCore) Pods(namespace string) corev1client.PodInterface {
	return recyclerPods{c.CoreV1Interface.Pods(namespace)}
}

type recyclerPods struct{ corev1client.PodInterface }

// Create implements corev1client.PodInterface. It does not return if the pod was accepted but is not stored, which shows in that it
// has no resource version. Returning an error instead would have the binder write that the volume could not be recycled.
func (p recyclerPods) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	created, err := p.PodInterface.Create(ctx, pod, o)
	if err == nil && created.ResourceVersion == "" {
		runtime.Goexit() // what is deferred closes the watches and ends the operation
	}
	return created, err
}
