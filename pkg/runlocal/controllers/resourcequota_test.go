package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// quota creates a quota of the namespace default.
func (s *session) quota(t *testing.T, name string, hard map[corev1.ResourceName]string) {
	t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{}}}
	for name, amount := range hard {
		quota.Spec.Hard[name] = resource.MustParse(amount)
	}
	if _, err := s.client.CoreV1().ResourceQuotas("default").Create(t.Context(), quota,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// uses waits until the quota says that so much is used.
func (s *session) uses(t *testing.T, quota string, resource corev1.ResourceName, want string) {
	t.Helper()
	eventually(t, "quota "+quota+" to use "+want+" of "+string(resource), func() bool {
		q, err := s.client.CoreV1().ResourceQuotas("default").Get(t.Context(), quota, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		used, there := q.Status.Used[resource]
		return there && used.String() == want
	})
}

func TestQuotaIsCountedAndFreed(t *testing.T) {
	t.Parallel()
	s := ownSession(t)
	s.run(t, 0, "resourcequota")
	m := s.configMap(t, "default", "one")
	s.quota(t, "maps", map[corev1.ResourceName]string{"count/configmaps": "5"})
	s.uses(t, "maps", "count/configmaps", "1")
	s.settle(t)
	s.delete(t, m, metav1.DeletePropagationBackground)
	s.uses(t, "maps", "count/configmaps", "0")
	s.expectActivity(t, "resourcequota", activity{
		Causes: []string{
			"ADDED ResourceQuota maps seen by addQuota",
			"DELETED ConfigMap one seen by runProcessResourceChanges > processResourceChanges > replenishQuota > enqueueResourceQuota",
		},
		Writes: []string{"update resourcequotas/status by default/maps"},
	})
}

func TestQuotaCountsCustomResourcesOfNewKinds(t *testing.T) {
	t.Parallel()
	s := ownSession(t)
	s.run(t, 0, "resourcequota")
	definitions := apiextensions.NewForConfigOrDie(jsonConfig(s.config)).ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(t.Context(), widgets(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	client := dynamic.NewForConfigOrDie(jsonConfig(s.config)).Resource(kind).Namespace("default")
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "one"},
	}}
	eventually(t, "a widget", func() bool {
		_, err := client.Create(t.Context(), widget, metav1.CreateOptions{})
		return err == nil
	})
	eventually(t, "the controller to have seen it", func() bool {
		handled, watched := s.tap.State().Handled[kind.GroupResource()]
		return watched && handled >= s.server.LastEvent(kind.GroupResource())
	})
	s.quota(t, "widgets", map[corev1.ResourceName]string{"count/widgets.example.com": "5"})
	s.uses(t, "widgets", "count/widgets.example.com", "1")
	s.settle(t)
	if err := client.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.uses(t, "widgets", "count/widgets.example.com", "0")
}
