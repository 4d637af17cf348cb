package cluster

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func listTyped[T any, P interface {
	*T
	Typed
}](t *testing.T, r *Reader, target Target) ([]P, error) {
	t.Helper()
	var out []P
	err := r.ListTyped(t.Context(), target, ListOptions{Fields: "spec.nodeName=n"}, func() Typed { return P(new(T)) }, func(object Typed) error {
		out = append(out, object.(P))
		return nil
	})
	return out, err
}

// TestListTyped: by protobuf and by JSON what pods say about other objects is there.
func TestListTyped(t *testing.T) {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", Namespace: "a", UID: "u", Labels: map[string]string{"app": "x"}, Annotations: map[string]string{"a": "b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: corev1.PodSpec{
			NodeName: "n", ServiceAccountName: "s", PriorityClassName: "high", RuntimeClassName: new("r"), Affinity: &corev1.Affinity{},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}},
			}}},
			Containers: []corev1.Container{{Name: "c", Image: "i", EnvFrom: []corev1.EnvFromSource{{Prefix: "p"}}, Env: []corev1.EnvVar{{Name: "e"}}}},
			EphemeralContainers: []corev1.EphemeralContainer{{
				EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "d", Env: []corev1.EnvVar{{Name: "e"}}},
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	pods2 := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{pod, pod}}
	s := newServer(t)
	s.HandleFunc("/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("fieldSelector") != "spec.nodeName=n" {
			t.Errorf("asked for %s", r.URL)
		}
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		_, _ = w.Write(typed(t, pods2))
	})
	s.HandleFunc("/api/v1/namespaces/a/pods", answerJSON("application/json", pods2))
	r := s.reader(t)
	lean, err := listTyped[corev1.Pod](t, r, Target{pods, ""})
	if err != nil || len(lean) != 1 {
		t.Fatalf("%d pods of two with the same uid, %v", len(lean), err)
	}
	whole, err := listTyped[corev1.Pod](t, r, Target{pods, "a"})
	if err != nil || len(whole) != 1 {
		t.Fatalf("by JSON: %d pods of two with the same uid, %v", len(whole), err)
	}
	if diff := cmp.Diff(&pod, whole[0]); diff != "" {
		t.Errorf("by JSON (-want +got):\n%s", diff)
	}
	want := pod.DeepCopy()
	want.Annotations, want.ManagedFields, want.Status, want.Spec.Affinity = nil, nil, corev1.PodStatus{}, nil
	want.Spec.Containers[0].Name, want.Spec.Containers[0].Image = "", ""
	want.Spec.EphemeralContainers[0].Name = ""
	if diff := cmp.Diff(want, lean[0]); diff != "" {
		t.Errorf("by protobuf (-want +got):\n%s", diff)
	}
}

// TestListTypedOfAnotherVersion: a server whose preferred version has another Go type is asked for JSON.
func TestListTypedOfAnotherVersion(t *testing.T) {
	kind := Kind{GroupVersionKind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}, Resource: "hpas", Namespaced: true}
	s := newServer(t)
	s.HandleFunc("/apis/autoscaling/v1/hpas", func(w http.ResponseWriter, r *http.Request) {
		if accept := r.Header.Get("Accept"); strings.Contains(accept, "protobuf") {
			t.Errorf("asked for %s", accept)
		}
		answerJSON("application/json", map[string]any{"metadata": map[string]any{}, "items": []any{map[string]any{
			"metadata": map[string]any{"name": "h"}, "spec": map[string]any{"scaleTargetRef": map[string]any{"name": "web"}},
		}}})(w, r)
	})
	s.HandleFunc("/apis/autoscaling/v1/namespaces/bad/hpas", answerJSON("application/json", map[string]any{"items": []any{map[string]any{"spec": 1}}}))
	got, err := listTyped[autoscalingv2.HorizontalPodAutoscaler](t, s.reader(t), Target{kind, ""})
	if err != nil || len(got) != 1 || got[0].Spec.ScaleTargetRef.Name != "web" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := listTyped[autoscalingv2.HorizontalPodAutoscaler](t, s.reader(t), Target{kind, "bad"}); Reason(err) != ReasonUnreadable {
		t.Errorf("of another shape: %v", err)
	}
}

func TestListTypedStops(t *testing.T) {
	s := newServer(t)
	s.HandleFunc("/api/v1/pods", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		_, _ = w.Write(typed(t, somePods()))
	})
	enough := errors.New("enough")
	err := s.reader(t).ListTyped(t.Context(), Target{pods, ""}, ListOptions{}, func() Typed { return &corev1.Pod{} }, func(Typed) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	err = s.reader(t).ListTyped(t.Context(), Target{pods, "../x"}, ListOptions{}, func() Typed { return &corev1.Pod{} }, nil)
	if err == nil || !strings.Contains(err.Error(), "invalid name") {
		t.Errorf("a namespace that is none: %v", err)
	}
}
