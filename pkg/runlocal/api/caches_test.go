package api

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestSeen wants what Seen says to be true of what admission reads.
func TestSeen(t *testing.T) {
	f := plain.fixture(t)
	quotas := schema.GroupResource{Resource: "resourcequotas"}
	lister := f.informers.Core().V1().ResourceQuotas().Lister()
	for i := range 20 {
		name := fmt.Sprintf("q%d", i)
		_, err := f.CoreV1().ResourceQuotas(f.namespace).Create(t.Context(),
			&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the quota is seen", func(context.Context) (bool, error) { return f.CachesSynced(quotas), nil })
		if _, err := lister.ResourceQuotas(f.namespace).Get(name); err != nil {
			t.Errorf("it is seen, but admission does not find it: %v", err)
		}
	}
	for resource, reason := range map[string]string{
		"limitranges": "LimitRanger", "namespaces": "NamespaceLifecycle", "serviceaccounts": "ServiceAccount", "resourcequotas": "ResourceQuota",
		"priorityclasses.scheduling.k8s.io": "Priority", "runtimeclasses.node.k8s.io": "RuntimeClass",
		"storageclasses.storage.k8s.io": "DefaultStorageClass", "ingressclasses.networking.k8s.io": "DefaultIngressClass",
		"validatingadmissionpolicybindings.admissionregistration.k8s.io": "ValidatingAdmissionPolicy",
		"roles.rbac.authorization.k8s.io":                                "RBAC", "ipaddresses.networking.k8s.io": "the allocator of addresses",
	} {
		if _, ok := f.caches[schema.ParseGroupResource(resource)]; !ok {
			t.Errorf("%s is not known, by which %s goes", resource, reason)
		}
	}
	if !f.CachesSynced(schema.GroupResource{Group: "example.com", Resource: "things"}) {
		t.Error("what the server does not go by is not seen")
	}
}
