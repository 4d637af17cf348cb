package api

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// loaded are objects of another cluster: a namespace with a pod that is being deleted, and a custom resource.
func loaded() []StoredObject {
	object := func(group, version, kind, resource, text string) StoredObject {
		return StoredObject{Kind: schema.GroupVersionKind{Group: group, Version: version, Kind: kind},
			Resource: resource, JSON: []byte(text)}
	}
	return []StoredObject{
		object("example.com", "v1", "Widget", "widgets", `{"metadata":{"name":"w","namespace":"shop",
			"uid":"11111111-0000-0000-0000-000000000003","resourceVersion":"70000","generation":4},
			"spec":{"size":3},"status":{"phase":"Ready"}}`),
		object("", "v1", "Namespace", "namespaces", `{"metadata":{"name":"shop",
			"uid":"11111111-0000-0000-0000-000000000001","resourceVersion":"12"},
			"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`),
		object("", "v1", "Pod", "pods", `{"metadata":{"name":"p","namespace":"shop",
			"uid":"11111111-0000-0000-0000-000000000002","resourceVersion":"80001","generation":2,
			"creationTimestamp":"2020-01-02T03:04:05Z","deletionTimestamp":"2020-01-03T03:04:05Z",
			"deletionGracePeriodSeconds":30,"finalizers":["example.com/hold"],
			"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2020-01-02T03:04:05Z",
				"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:nodeName":{}}}}]},
			"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]},
			"status":{"phase":"Running","podIP":"10.1.2.3"}}`),
		object("example.com", "v1", "Gadget", "gadgets", `{"metadata":{"name":"g","namespace":"shop"}}`),
		object("", "v1", "ConfigMap", "configmaps", `{"metadata":{"name":"broken","namespace":"shop"},"data":"text"}`),
		object("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
			`{"metadata":{"name":"widgets.example.com","uid":"11111111-0000-0000-0000-000000000004",
			"resourceVersion":"20"},"spec":{"group":"example.com","scope":"Namespaced",
			"names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
			"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
			"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]},
			"status":{"conditions":[{"type":"NamesAccepted","status":"True","lastTransitionTime":"2020-01-02T03:04:05Z",
			"reason":"NoConflicts","message":"no conflicts found"},{"type":"Established","status":"True",
			"lastTransitionTime":"2020-01-02T03:04:05Z","reason":"InitialNamesAccepted","message":"ok"}],
			"acceptedNames":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
			"storedVersions":["v1"]}}`),
		object("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", `{"metadata":{"name":"kubernetes",
			"uid":"11111111-0000-0000-0000-000000000005","resourceVersion":"5"},
			"spec":{"cidrs":["192.168.128.0/20","fd00:10:20::/112"]},
			"status":{"conditions":[{"type":"Ready","status":"True","reason":"","message":"ready",
			"lastTransitionTime":"2020-01-02T03:04:05Z"}]}}`),
	}
}

func TestObjectsToBeginWith(t *testing.T) {
	f := start(t, Options{Objects: loaded(), ResourceVersion: 90000, DefaultServiceAccounts: true})
	pod, err := f.CoreV1().Pods("shop").Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var want corev1.Pod
	if err := json.Unmarshal(loaded()[2].JSON, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.ObjectMeta, pod.ObjectMeta); diff != "" {
		t.Errorf("metadata of what was loaded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Status.PodIP, pod.Status.PodIP); diff != "" {
		t.Errorf("status of what was loaded (-want +got):\n%s", diff)
	}
	widgets := f.dynamic.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	widget, err := widgets.Namespace("shop").Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	size, _, _ := unstructured.NestedInt64(widget.Object, "spec", "size")
	if widget.GetGeneration() != 4 || widget.GetResourceVersion() != "70000" || size != 3 {
		t.Errorf("the custom resource is %v", widget.Object)
	}
	created, err := f.CoreV1().ConfigMaps("shop").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(created.ResourceVersion) < 5 || created.ResourceVersion <= "90000" {
		t.Errorf("a write after the start has version %s", created.ResourceVersion)
	}
	w, err := f.CoreV1().Pods("shop").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "80000"})
	if err != nil {
		t.Fatal(err)
	}
	if event := <-w.ResultChan(); !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("a watch from before the start begins with %v, want 410", event)
	}
	service, err := f.CoreV1().Services("shop").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "s"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}},
			IPFamilyPolicy: new(corev1.IPFamilyPolicyRequireDualStack)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ips := service.Spec.ClusterIPs; len(ips) != 2 || ips[0][:8] != "192.168." || ips[1][:4] != "fd00" {
		t.Errorf("a Service gets the addresses %v, want of the ranges loaded", ips)
	}
	var unloaded []string
	for _, u := range f.Unloaded() {
		unloaded = append(unloaded, u.Resource+" "+u.Namespace+"/"+u.Name)
		if (u.Resource == "gadgets") != errors.Is(u.Err, ErrNotServed) {
			t.Errorf("%s %q: %v", u.Resource, u.Name, u.Err)
		}
	}
	if diff := cmp.Diff([]string{"gadgets shop/g", "configmaps shop/broken"}, unloaded); diff != "" {
		t.Errorf("not loaded (-want +got):\n%s", diff)
	}
}
