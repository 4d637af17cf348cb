package api

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// boundObjects reads the objects that a service account's token is bound to. Upstream's getter asks informers first,
// which would keep a second copy of every pod, secret and node in memory; here a read costs less than that.
type boundObjects struct{ client kubernetes.Interface }

var _ serviceaccount.ServiceAccountTokenGetter = boundObjects{}

// GetServiceAccount reads the account that the token speaks for.
func (b boundObjects) GetServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return b.client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
}

// GetPod reads the pod that the token lives as long as.
func (b boundObjects) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return b.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

// GetSecret reads the secret that the token lives as long as.
func (b boundObjects) GetSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return b.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// GetNode reads the node that the token lives as long as.
func (b boundObjects) GetNode(ctx context.Context, name string) (*corev1.Node, error) {
	return b.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

// GetValidatingWebhookConfiguration reads the configuration that the token was made for.
func (b boundObjects) GetValidatingWebhookConfiguration(ctx context.Context, name string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	return b.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
}

// GetMutatingWebhookConfiguration reads the configuration that the token was made for.
func (b boundObjects) GetMutatingWebhookConfiguration(ctx context.Context, name string) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	return b.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
}
