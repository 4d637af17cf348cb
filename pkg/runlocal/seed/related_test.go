package seed

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// podAddress is that of all pods.
const podAddress = "10.0.0.9"

// makeFamily makes a Deployment with a ReplicaSet, a pod on a node, an autoscaler and a claim that it owns.
func makeFamily(t *testing.T, config *rest.Config, name string, more map[string]string) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(config)
	set := map[string]string{"app": name}
	maps.Copy(set, more)
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}, NodeName: "n1"}
	pods := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set}, Spec: spec}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	d, err := client.AppsV1().Deployments("shop").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{Selector: selector, Template: pods},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := metav1.ObjectMeta{Name: name + "-1", Labels: set, OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment")),
	}}
	rs, err := client.AppsV1().ReplicaSets("shop").Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: owned, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: pods},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name + "-1-a", Labels: set, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")),
		},
	}, Spec: spec}
	if pod, err = client.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod.Status.PodIP, pod.Status.PodIPs = podAddress, []corev1.PodIP{{IP: podAddress}}
	if _, err := client.CoreV1().Pods("shop").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("shop").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: owned},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = client.AutoscalingV2().HorizontalPodAutoscalers("shop").Create(t.Context(),
		&autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				MaxReplicas:    3,
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// deployment is the kind of Deployments.
var deployment = appsKind("Deployment", "deployments")

func appsKind(name, resource string) cluster.Kind {
	return cluster.Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: name}, Resource: resource,
		Namespaced: true,
	}
}

// podKind is the kind of pods.
var podKind = cluster.Kind{
	GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: "pods", Namespaced: true,
}

// labelled returns an object with the labels of an app.
func labelled(kind, app string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"kind": kind}}
	out.SetLabels(map[string]string{"app": app})
	return out
}

func TestReadRelated(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	makeFamily(t, config, "web", nil)
	makeFamily(t, config, "api", map[string]string{"tier": "back"})
	makeFamily(t, config, "jobs", map[string]string{"tier": "back"})
	create(t, config, `apiVersion: v1
kind: Service
metadata: {name: back, namespace: shop}
spec: {selector: {tier: back}, ports: [{port: 80}]}`)
	family := func(names ...string) (out []string) {
		for _, name := range names {
			out = append(out, "configmaps shop/"+name+"-1", "deployments shop/"+name,
				"horizontalpodautoscalers shop/"+name, "pods shop/"+name+"-1-a", "replicasets shop/"+name+"-1")
		}
		slices.Sort(out)
		return out
	}
	changed := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "new", "namespace": "shop"},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "new"}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "new", "tier": "back"}}},
		},
	}}
	for _, tt := range []struct {
		reason     string
		related    []Related
		want       []string
		unrelated  int
		neighbours int
	}{
		{"all, without any", nil, family("api", "jobs", "web"), 0, 0},
		{"one Deployment, and none of the others", []Related{{Root: Root{deployment, "shop", "web"}}}, family("web"), 11, 2},
		{"from a pod up", []Related{{Root: Root{podKind, "shop", "web-1-a"}}}, family("web"), 11, 2},
		{"a Service has all its pods", []Related{{Root: Root{deployment, "shop", "api"}}}, family("api", "jobs"), 5, 1},
		{"pods that would be made are selected, too", []Related{{Root{deployment, "shop", "new"}, changed}},
			family("api", "jobs"), 5, 1},
		{"what a workload owns has the workload", []Related{{Root: Root{configMap, "shop", "web-1"}}}, family("web"), 11, 2},
		{"a pod has the workload that adopts it", []Related{{Root{podKind, "shop", "debug"}, labelled("Pod", "web")}},
			family("web"), 11, 2},
		{"a ReplicaSet has the Deployment that adopts it", []Related{
			{Root{appsKind("ReplicaSet", "replicasets"), "shop", "by-hand"}, labelled("ReplicaSet", "web")}}, family("web"), 11, 2},
		{"a Deployment is adopted by nothing", []Related{{Root{deployment, "shop", "gone"}, labelled("Deployment", "web")}},
			nil, 16, 3},
		{"what is not there needs nothing", []Related{{Root: Root{deployment, "shop", "gone"}}}, nil, 16, 3},
		{"a kind that others depend on has all", []Related{{Root: Root{cluster.Kind{
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"},
			Resource:         "persistentvolumeclaims", Namespaced: true,
		}, "shop", "data"}}}, family("api", "jobs", "web"), 0, 0},
	} {
		c := mustRead(t, config, Options{Namespaces: []string{"shop"}, Related: tt.related, Neighbours: true})
		got := keys(c, "deployments", "replicasets", "pods", "horizontalpodautoscalers")
		for i := range c.Objects {
			if o := &c.Objects[i]; o.Kind.Resource == "configmaps" && len(o.owners) > 0 {
				got = append(got, "configmaps shop/"+o.Name)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if c.Unrelated != tt.unrelated || len(c.Neighbours) != tt.neighbours {
			t.Errorf("%s: %d unrelated and %d neighbours, want %d and %d", tt.reason, c.Unrelated, len(c.Neighbours),
				tt.unrelated, tt.neighbours)
		}
		for _, pod := range c.Neighbours {
			if pod.Status.PodIP != podAddress {
				t.Errorf("%s: neighbour %s has the address %q", tt.reason, pod.Name, pod.Status.PodIP)
			}
		}
		if len(c.Incomplete) > 0 {
			t.Errorf("%s: incomplete: %v", tt.reason, c.Incomplete)
		}
	}
	create(t, config, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: shop}\nspec: {hard: {pods: 9}}")
	c := mustRead(t, config, Options{Namespaces: []string{"shop"}, Related: []Related{{Root: Root{deployment, "shop", "web"}}}})
	if pods := keys(c, "pods"); len(pods) != 3 || c.Unrelated != 0 {
		t.Errorf("with a quota, which counts all pods, there are %v", pods)
	}
}
