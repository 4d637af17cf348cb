package controllerruntime

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/controllerruntime/website"
)

// TestWithControllers is what envtest cannot do: Kubernetes' own controllers take the Deployment of a Website to Ready
// on simulated nodes, and the status of the Website follows.
func TestWithControllers(t *testing.T) {
	t.Parallel()
	config := startSandbox(t, "--controller", "deployment,replicaset", "--nodes", "2", "--pod-ready-after", "0s")
	startOperator(t, config)
	c := newClient(t, config)
	site := newSite("blog")
	site.Spec.Replicas = new(int32(3))
	create(t, c, newContent("files"), site)
	eventuallyObject(t, c, site, wantReady("AllReady"))
	if site.Status.ReadyReplicas != 3 {
		t.Errorf("%d ready replicas, want 3", site.Status.ReadyReplicas)
	}
	wantReadyPods(t, c, 3)

	update(t, c, site, func() { site.Spec.Replicas = new(int32(1)) })
	eventuallyObject(t, c, site, func(site *website.Website) error {
		if site.Status.ReadyReplicas != 1 {
			return fmt.Errorf("%d ready replicas, want 1", site.Status.ReadyReplicas)
		}
		return wantReady("AllReady")(site)
	})
}

func wantReadyPods(t *testing.T, c client.Client, want int) {
	t.Helper()
	pods := &corev1.PodList{}
	if err := c.List(t.Context(), pods, client.InNamespace(namespace), client.MatchingLabels{"website": "blog"}); err != nil {
		t.Fatal(err)
	}
	ready := 0
	for i := range pods.Items {
		for _, condition := range pods.Items[i].Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready != want {
		t.Errorf("%d of %d pods are ready, want %d", ready, len(pods.Items), want)
	}
}
