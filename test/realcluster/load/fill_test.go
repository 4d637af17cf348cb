package load

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
)

func TestFill(t *testing.T) {
	sandbox, err := realcluster.StartSandbox(t.Context(), realcluster.SandboxOptions{Args: []string{"--controller", "none", "--nodes", "0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer sandbox.Stop() //nolint:errcheck // what it says of its end is tested where it is started
	config, err := sandbox.Config()
	if err != nil {
		t.Fatal(err)
	}
	made, err := Fill(t.Context(), config, Options{Objects: 4*FamilySize - 1, Namespaces: 2, Prefix: "some", Parallel: 4})
	if err != nil {
		t.Fatal(err)
	}
	if made != 4*FamilySize {
		t.Errorf("made %d objects, want whole Deployments: %d", made, 4*FamilySize)
	}
	client := kubernetes.NewForConfigOrDie(config)
	for _, namespace := range []string{"some-1", "some-2"} {
		checkNamespace(t, client, namespace)
	}
}

// checkNamespace expects two Deployments with all that they own.
func checkNamespace(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	deployments, err := client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sets, err := client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) != 2 || len(sets.Items) != 2*(revisions) || len(list.Items) != 2*pods {
		t.Fatalf("%s has %d Deployments, %d ReplicaSets and %d pods", namespace, len(deployments.Items), len(sets.Items), len(list.Items))
	}
	owned := map[types.UID]int{}
	for i := range sets.Items {
		owned[metav1.GetControllerOf(&sets.Items[i]).UID]++
	}
	for i := range list.Items {
		checkPod(t, &list.Items[i])
		owned[metav1.GetControllerOf(&list.Items[i]).UID]++
	}
	for i := range deployments.Items {
		checkDeployment(t, &deployments.Items[i], owned)
	}
	for i := range sets.Items {
		if rs := &sets.Items[i]; owned[rs.UID] != int(*rs.Spec.Replicas) || rs.Status.ReadyReplicas != *rs.Spec.Replicas {
			t.Errorf("ReplicaSet %s wants %d pods, owns %d and says %d are ready", rs.Name, *rs.Spec.Replicas, owned[rs.UID], rs.Status.ReadyReplicas)
		}
	}
}

func checkDeployment(t *testing.T, d *appsv1.Deployment, owned map[types.UID]int) {
	t.Helper()
	if owned[d.UID] != revisions || d.Status.ReadyReplicas != pods || d.Status.ObservedGeneration != d.Generation {
		t.Errorf("Deployment %s owns %d ReplicaSets; its status is %+v", d.Name, owned[d.UID], d.Status)
	}
}

func checkPod(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" || pod.Spec.NodeName == "" {
		t.Errorf("pod %s is %s at %q on node %q", pod.Name, pod.Status.Phase, pod.Status.PodIP, pod.Spec.NodeName)
	}
	data, err := pod.Marshal()
	if err != nil || len(data) < 2000 {
		t.Errorf("pod %s is smaller than usual pods: %d bytes (%v)", pod.Name, len(data), err)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	good := Options{Objects: 1, Namespaces: 1, Parallel: 1, Prefix: "x"}
	tests := []struct {
		edit   func(*Options)
		reason string
		want   string
	}{
		{func(o *Options) { o.Objects = 0 }, "nothing to do", "number of objects"},
		{func(o *Options) { o.Namespaces = -1 }, "nowhere to do it", "number of namespaces"},
		{func(o *Options) { o.Parallel = 0 }, "no workers", "at a time"},
		{func(o *Options) { o.Prefix = "" }, "no name", "no name"},
	}
	for _, tt := range tests {
		o := good
		tt.edit(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.reason, err, tt.want)
		}
	}
	if err := good.Validate(); err != nil {
		t.Errorf("good options are refused: %v", err)
	}
}
