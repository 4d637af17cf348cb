package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestWrites: what was written is returned in its order, as clients see it before and after.
func TestWrites(t *testing.T) {
	f := plain.fixture(t)
	began := f.ResourceVersion()
	maps := f.CoreV1().ConfigMaps(f.namespace)
	m, err := maps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"n": "1"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.Data["n"] = "2"
	if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	writes, err := f.Writes(began, func(gr schema.GroupResource) bool { return gr.Resource == "configmaps" })
	if err != nil {
		t.Fatal(err)
	}
	value := func(u *unstructured.Unstructured) string {
		if u == nil {
			return "-"
		}
		n, _, _ := unstructured.NestedString(u.Object, "data", "n")
		return u.GetAPIVersion() + " " + u.GetKind() + " " + n
	}
	var got []string
	for _, w := range writes {
		if w.Before != nil && w.Before.GetName() != "m" || w.After != nil && w.After.GetName() != "m" {
			continue // the certificates of a cluster are in a ConfigMap, too
		}
		got = append(got, w.Resource.Version+" "+w.Resource.Resource+": "+value(w.Before)+" -> "+value(w.After))
	}
	want := []string{"v1 configmaps: - -> v1 ConfigMap 1", "v1 configmaps: v1 ConfigMap 1 -> v1 ConfigMap 2",
		"v1 configmaps: v1 ConfigMap 2 -> -"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestWritesOfAllKinds: whatever a server keeps can be returned.
func TestWritesOfAllKinds(t *testing.T) {
	f := plain.fixture(t)
	writes, err := f.Writes(1, func(gr schema.GroupResource) bool { return !strings.HasSuffix(gr.Resource, "events") })
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, w := range writes {
		if w.After != nil {
			kinds[w.After.GetAPIVersion()+" "+w.After.GetKind()] = true
		}
	}
	if !kinds["v1 Namespace"] || !kinds["scheduling.k8s.io/v1 PriorityClass"] {
		t.Errorf("what a cluster starts with is missing: %v", kinds)
	}
}
