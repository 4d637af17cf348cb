package api

import (
	"context"
	"strconv"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
)

func TestObjectsAreDefaulted(t *testing.T) {
	f := plain.fixture(t)
	created, err := f.AppsV1().Deployments(f.namespace).Create(t.Context(), deployment("web"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if created.UID == "" || created.Generation != 1 || *created.Spec.Replicas != 1 ||
		*created.Spec.RevisionHistoryLimit != 10 {
		t.Errorf("the created deployment lacks uid, generation or upstream's defaults: %+v", created)
	}
	bad := deployment("bad")
	bad.Spec.Template.Labels = nil
	if _, err := f.AppsV1().Deployments(f.namespace).Create(t.Context(), bad,
		metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a deployment whose selector does not match: %v", err)
	}
}

func TestDryRunStoresNothing(t *testing.T) {
	f := plain.fixture(t)
	before := f.ResourceVersion()
	created, err := f.AppsV1().Deployments(f.namespace).Create(t.Context(), deployment("web"),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || created.UID == "" {
		t.Fatalf("dry run: %+v, %v", created, err)
	}
	if _, err := f.AppsV1().Deployments(f.namespace).Get(t.Context(), "web",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run: %v, want not found", err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}},
	}}
	for range 2 { // a port taken by the first would be refused to the second
		if _, err := f.CoreV1().Services(f.namespace).Create(t.Context(), service,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Errorf("dry run of a service: %v", err)
		}
	}
	if after := f.ResourceVersion(); after < before {
		t.Errorf("the resource version went from %d to %d", before, after)
	}
}

func TestServerSideApplyConflict(t *testing.T) {
	f := plain.fixture(t)
	apply := func(manager, data string) error {
		body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":` + data + `}`
		_, err := f.CoreV1().ConfigMaps(f.namespace).Patch(t.Context(), "c", types.ApplyPatchType, []byte(body),
			metav1.PatchOptions{FieldManager: manager})
		return err
	}
	if err := apply("one", `{"a":"1"}`); err != nil {
		t.Fatal(err)
	}
	if err := apply("two", `{"a":"2"}`); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"one"`) {
		t.Errorf("taking a field: %v, want a conflict that names its manager", err)
	}
	if err := apply("two", `{"b":"2"}`); err != nil {
		t.Errorf("adding a field: %v", err)
	}
}

func TestUpdateConflict(t *testing.T) {
	f := plain.fixture(t)
	created, err := f.CoreV1().ConfigMaps(f.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, wantConflict := range []bool{false, true} {
		stale := created.DeepCopy()
		stale.Data = map[string]string{"a": strconv.Itoa(i)}
		if _, err := f.CoreV1().ConfigMaps(f.namespace).Update(t.Context(), stale,
			metav1.UpdateOptions{}); apierrors.IsConflict(err) != wantConflict {
			t.Errorf("update %d from the same version: %v", i, err)
		}
	}
}

func TestScale(t *testing.T) {
	f := plain.fixture(t)
	if _, err := f.AppsV1().Deployments(f.namespace).Create(t.Context(), deployment("web"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: f.namespace},
		Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
	if _, err := f.AppsV1().Deployments(f.namespace).UpdateScale(t.Context(), "web", scale,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := f.AppsV1().Deployments(f.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || *got.Spec.Replicas != 4 || got.Generation != 2 {
		t.Errorf("after scaling: %d replicas, generation %d, %v", *got.Spec.Replicas, got.Generation, err)
	}
}

func TestBindingAndEviction(t *testing.T) {
	f := plain.fixture(t)
	p := f.createPod(t, pod("p"))
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: p.UID},
		Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}
	if err := f.CoreV1().Pods(f.namespace).Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bound, err := f.CoreV1().Pods(f.namespace).Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil || bound.Spec.NodeName != "n1" {
		t.Fatalf("bound to %q, %v", bound.Spec.NodeName, err)
	}
	if err := f.CoreV1().Pods(f.namespace).Bind(t.Context(), binding,
		metav1.CreateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("binding twice: %v", err)
	}
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "p"}}},
	}
	if budget, err = f.PolicyV1().PodDisruptionBudgets(f.namespace).Create(t.Context(), budget,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The disruption controller would fill the status in: nothing may be disrupted.
	budget.Status.ObservedGeneration = budget.Generation
	if budget, err = f.PolicyV1().PodDisruptionBudgets(f.namespace).UpdateStatus(t.Context(), budget,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	makeReady(t, f, "p")
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: f.namespace},
		DeleteOptions: metav1.NewDeleteOptions(0)}
	if err := f.PolicyV1().Evictions(f.namespace).Evict(t.Context(), eviction); !apierrors.IsTooManyRequests(err) {
		t.Errorf("evicting against the budget: %v, want 429", err)
	}
	budget.Status.DisruptionsAllowed = 1
	if _, err := f.PolicyV1().PodDisruptionBudgets(f.namespace).UpdateStatus(t.Context(), budget,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := f.PolicyV1().Evictions(f.namespace).Evict(t.Context(), eviction); err != nil {
		t.Errorf("evicting within the budget: %v", err)
	}
	if _, err := f.CoreV1().Pods(f.namespace).Get(t.Context(), "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after eviction: %v, want not found", err)
	}
}

func makeReady(t *testing.T, f *fixture, name string) {
	t.Helper()
	patch := `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`
	if _, err := f.CoreV1().Pods(f.namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

func TestPagesAndExpiredWatch(t *testing.T) {
	f := start(t, Options{History: 10})
	for i := range 5 {
		f.createPod(t, pod("p"+strconv.Itoa(i)))
	}
	first, err := f.CoreV1().Pods(f.namespace).List(t.Context(), metav1.ListOptions{Limit: 2})
	if err != nil || len(first.Items) != 2 || first.Continue == "" || *first.RemainingItemCount != 3 {
		t.Fatalf("the first page: %d items, continue %q, %v", len(first.Items), first.Continue, err)
	}
	rest, err := f.CoreV1().Pods(f.namespace).List(t.Context(), metav1.ListOptions{Limit: 10, Continue: first.Continue})
	if err != nil || len(rest.Items) != 3 || rest.ResourceVersion != first.ResourceVersion {
		t.Errorf("the second page: %d items of version %s, want version %s; %v", len(rest.Items), rest.ResourceVersion,
			first.ResourceVersion, err)
	}
	for i := range 30 {
		patch := `{"metadata":{"annotations":{"n":"` + strconv.Itoa(i) + `"}}}`
		if _, err := f.CoreV1().Pods(f.namespace).Patch(t.Context(), "p0", types.MergePatchType, []byte(patch),
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := f.CoreV1().Pods(f.namespace).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: first.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := <-w.ResultChan(); e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
		t.Errorf("watching from a version that is forgotten: %v, want 410", e)
	}
}

func TestWatchList(t *testing.T) {
	f := plain.fixture(t)
	f.createPod(t, pod("p"))
	send := true
	w, err := f.CoreV1().Pods(f.namespace).Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: &send, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := <-w.ResultChan(); e.Type != watch.Added {
		t.Errorf("the first event is %v", e)
	}
	e := <-w.ResultChan()
	if p, ok := e.Object.(*corev1.Pod); !ok || e.Type != watch.Bookmark ||
		p.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("the initial events end with %v", e)
	}
}

func TestServicesGetAddressesAndPorts(t *testing.T) {
	f := plain.fixture(t)
	create := func(name string, spec corev1.ServiceSpec) (*corev1.Service, error) {
		return f.CoreV1().Services(f.namespace).Create(t.Context(),
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	}
	ports := []corev1.ServicePort{{Port: 80}}
	a, err := create("a", corev1.ServiceSpec{Ports: ports, Type: corev1.ServiceTypeNodePort})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(a.Spec.ClusterIP, "10.") || a.Spec.Ports[0].NodePort < nodePortBase {
		t.Errorf("the service has %s and port %d", a.Spec.ClusterIP, a.Spec.Ports[0].NodePort)
	}
	if _, err := create("b", corev1.ServiceSpec{Ports: ports, ClusterIP: a.Spec.ClusterIP}); !apierrors.IsInvalid(err) {
		t.Errorf("an address twice: %v", err)
	}
	if err := f.CoreV1().Services(f.namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := create("b", corev1.ServiceSpec{Ports: ports, ClusterIP: a.Spec.ClusterIP}); err != nil {
		t.Errorf("an address that was given back: %v", err)
	}
}

func TestNoKubelet(t *testing.T) {
	f := plain.fixture(t)
	p := pod("p")
	p.Spec.NodeName = f.namespace
	f.createPod(t, p)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	// without one, that is the error
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}}
	if _, err := f.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	client, pods := f.CoreV1().RESTClient(), "/api/v1/namespaces/"+f.namespace+"/pods"
	for path, ask := range map[string]func(context.Context) error{
		"log": func(ctx context.Context) error {
			_, err := f.CoreV1().Pods(f.namespace).GetLogs("p", &corev1.PodLogOptions{}).Stream(ctx)
			return err
		},
		"exec": func(ctx context.Context) error {
			return client.Post().AbsPath(pods+"/p/exec").Param("command", "ls").Param("stdout",
				"true").Do(ctx).Error()
		},
		"portforward": func(ctx context.Context) error {
			return client.Post().AbsPath(pods + "/p/portforward").Do(ctx).Error()
		},
		"node proxy": func(ctx context.Context) error {
			return client.Get().AbsPath("/api/v1/nodes/" + f.namespace + "/proxy/stats").Do(ctx).Error()
		},
	} {
		if err := ask(t.Context()); err == nil || !strings.Contains(err.Error(), "no kubelet") {
			t.Errorf("%s: %v, want an error that says why", path, err)
		}
	}
	for _, path := range []string{"/api/v1/namespaces/default/services/kubernetes/proxy/", pods + "/p/proxy/"} {
		if err := client.Get().AbsPath(path).Do(t.Context()).Error(); err == nil {
			t.Errorf("GET %s succeeds", path)
		}
	}
}
