package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var deployments = Kind{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Resource: "deployments", Namespaced: true}

// somePods have many fields that do not affect their state.
func somePods() *corev1.PodList {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "5"}}
	for i, meta := range objects("a", 3) {
		pod := corev1.Pod{ObjectMeta: meta.ObjectMeta, Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.0.0.%d", i)}}
		pod.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
		pod.Spec = corev1.PodSpec{
			NodeName: "n", Volumes: []corev1.Volume{{Name: "v"}},
			InitContainers: []corev1.Container{{Name: "side", Image: "s", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Env: []corev1.EnvVar{{Name: "E"}}}},
			Containers:     []corev1.Container{{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "E", Value: "x"}}}},
			EphemeralContainers: []corev1.EphemeralContainer{{
				TargetContainerName: "c", EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "d", Args: []string{"x"}},
			}},
		}
		list.Items = append(list.Items, pod)
	}
	return list
}

func read(t *testing.T, r *Reader, target Target, o ListOptions) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	err := r.ListObjects(t.Context(), target, o, func(obj *unstructured.Unstructured) error {
		out = append(out, obj)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestListObjectsAlike: objects from protobuf equal those from JSON, except for the fields that are removed.
func TestListObjectsAlike(t *testing.T) {
	s := newServer(t)
	s.HandleFunc("/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Accept"), "application/vnd.kubernetes.protobuf") {
			t.Errorf("pods are requested as %q", r.Header.Get("Accept"))
		}
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		_, _ = w.Write(typed(t, somePods()))
	})
	s.HandleFunc("/api/v1/namespaces/a/pods", answerJSON("application/json", somePods()))
	r := s.reader(t)
	byProtobuf, byJSON := read(t, r, Target{pods, ""}, ListOptions{Whole: true}), read(t, r, Target{pods, "a"}, ListOptions{Whole: true})
	for i := range byJSON {
		if diff := cmp.Diff(byJSON[i].Object, byProtobuf[i].Object); diff != "" {
			t.Errorf("by JSON and by protobuf (-JSON +protobuf):\n%s", diff)
		}
	}
	for _, pod := range read(t, r, Target{pods, ""}, ListOptions{}) {
		if pod.GetManagedFields() != nil || pod.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "" || pod.GetAnnotations()["a"] == "" {
			t.Errorf("metadata: %v", pod.Object["metadata"])
		}
		want := map[string]any{
			"nodeName":       "n",
			"initContainers": []any{map[string]any{"name": "side", "image": "s", "restartPolicy": "Always", "resources": map[string]any{}}},
			"containers":     []any{map[string]any{"name": "c", "image": "i", "resources": map[string]any{}}},
			"ephemeralContainers": []any{
				map[string]any{"name": "debug", "image": "d", "targetContainerName": "c", "resources": map[string]any{}},
			},
		}
		if diff := cmp.Diff(want, pod.Object["spec"]); diff != "" {
			t.Errorf("what is left of the spec (-want +got):\n%s", diff)
		}
		if pod.GetKind() != "Pod" || pod.GetAPIVersion() != "v1" {
			t.Errorf("kind %s %s", pod.GetAPIVersion(), pod.GetKind())
		}
	}
	for _, pod := range read(t, r, Target{pods, "a"}, ListOptions{}) {
		if pod.GetManagedFields() != nil || pod.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "" {
			t.Errorf("by JSON: metadata %v", pod.Object["metadata"])
		}
	}
}

func TestTrimTemplates(t *testing.T) {
	s := newServer(t)
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "u", Generation: 3}, Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 4}}
	d.Spec.Replicas, d.Spec.Paused = new(int32(4)), true
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c"}}
	s.HandleFunc("/apis/apps/v1/deployments", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		_, _ = w.Write(typed(t, &appsv1.DeploymentList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DeploymentList"}, Items: []appsv1.Deployment{d}}))
	})
	got := read(t, s.reader(t), Target{deployments, ""}, ListOptions{})[0]
	if c, _, _ := unstructured.NestedSlice(got.Object, "spec", "template", "spec", "containers"); len(c) > 0 {
		t.Errorf("the template is there: %v", c)
	}
	replicas, _, _ := unstructured.NestedInt64(got.Object, "status", "replicas")
	paused, _, _ := unstructured.NestedBool(got.Object, "spec", "paused")
	if replicas != 4 || !paused || got.GetGeneration() != 3 {
		t.Errorf("fields of the state are missing: %v", got.Object)
	}
}

// customs serves custom resources, which have no Go type, in pages of two.
func customs(t *testing.T, s *fakeServer, query *url.Values) {
	s.HandleFunc("/apis/example.com/v1/widgets", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "protobuf") {
			t.Errorf("custom resources are requested as %q", r.Header.Get("Accept"))
		}
		*query = r.URL.Query()
		page := map[string]any{"apiVersion": "example.com/v1", "kind": "WidgetList", "metadata": map[string]any{"continue": "more"}}
		items := objects("a", 4)
		if query.Get("continue") == "more" {
			page["metadata"] = map[string]any{}
			items = items[2:]
		} else {
			items = items[:2]
		}
		var out []any
		for _, o := range items {
			out = append(out, map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": o.ObjectMeta, "spec": map[string]any{"big": 1 << 60}})
		}
		page["items"] = out
		w.Header().Set("Content-Type", "application/json")
		writeJSON(w, page)
	})
}

func TestListObjectsOfCustomKinds(t *testing.T) {
	s := newServer(t)
	var query url.Values
	customs(t, s, &query)
	got := read(t, s.reader(t), Target{widgets, ""}, ListOptions{Labels: "app=x", Fields: "metadata.name=y"})
	if len(got) != 4 || got[3].GetName() != "o-0003" {
		t.Fatalf("%d objects", len(got))
	}
	if query.Get("labelSelector") != "app=x" || query.Get("fieldSelector") != "metadata.name=y" {
		t.Errorf("selectors were not passed on: %v", query)
	}
	if big, _, err := unstructured.NestedInt64(got[0].Object, "spec", "big"); err != nil || big != 1<<60 {
		t.Errorf("a big number became %v, %v", big, err)
	}
}

func TestListObjectsStops(t *testing.T) {
	s := newServer(t)
	var query url.Values
	customs(t, s, &query)
	enough := errors.New("enough")
	n := 0
	err := s.reader(t).ListObjects(t.Context(), Target{widgets, ""}, ListOptions{}, func(*unstructured.Unstructured) error {
		n++
		return enough
	})
	if !errors.Is(err, enough) || n != 1 {
		t.Errorf("after %d objects: %v", n, err)
	}
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		s.HandleFunc("/api/v1/namespaces/"+contentType[:5]+contentType[len(contentType)-3:]+"/pods", answerJSON(contentType, "x"))
		err := s.reader(t).ListObjects(t.Context(), Target{pods, contentType[:5] + contentType[len(contentType)-3:]}, ListOptions{}, nil)
		if Reason(err) != ReasonUnreadable {
			t.Errorf("%s of another shape: %v", contentType, err)
		}
	}
}

func TestObject(t *testing.T) {
	s := newServer(t)
	s.HandleFunc("/api/v1/namespaces/a/pods/p", answerJSON("application/json", map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p", "managedFields": []any{map[string]any{"manager": "m"}}}, "spec": map[string]any{"fieldOfTheFuture": true},
	}))
	s.HandleFunc("/api/v1/namespaces/a/pods/bad", answerJSON("application/json", []int{}))
	r := s.reader(t)
	got, err := r.Object(t.Context(), pods, "a", "p")
	if err != nil {
		t.Fatal(err)
	}
	if future, _, _ := unstructured.NestedBool(got.Object, "spec", "fieldOfTheFuture"); !future || len(got.GetManagedFields()) != 1 {
		t.Errorf("a whole object has lost something: %v", got.Object)
	}
	if _, err := r.Object(t.Context(), pods, "a", "bad"); Reason(err) != ReasonUnreadable {
		t.Errorf("what is no object: %v", err)
	}
}

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
			t.Errorf("requested %s", r.URL)
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

// TestListTypedOfAnotherVersion: a server whose preferred version has another Go type is requested in JSON.
func TestListTypedOfAnotherVersion(t *testing.T) {
	kind := Kind{GroupVersionKind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}, Resource: "hpas", Namespaced: true}
	s := newServer(t)
	s.HandleFunc("/apis/autoscaling/v1/hpas", func(w http.ResponseWriter, r *http.Request) {
		if accept := r.Header.Get("Accept"); strings.Contains(accept, "protobuf") {
			t.Errorf("requested %s", accept)
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
