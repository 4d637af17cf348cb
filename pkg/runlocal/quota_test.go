package runlocal

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// TestQuotasAreInForceBeforeWhatTheyCount applies Deployments beside quotas for half of their pods, the Deployments
// first. The quotas must hold for the first pod.
func TestQuotasAreInForceBeforeWhatTheyCount(t *testing.T) {
	s := start(t, Options{Nodes: 1}, "deployment", "replicaset", "resourcequota")
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	const namespaces = 20
	var objects []string
	for i := range namespaces {
		name := fmt.Sprintf("n%d", i)
		objects = append(objects,
			fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: %s}, spec: {replicas: 4, selector: {matchLabels: {a: b}}, "+
				"template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}", name),
			fmt.Sprintf("{apiVersion: v1, kind: ResourceQuota, metadata: {name: two, namespace: %s}, spec: {hard: {pods: '2'}}}", name),
			fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name))
	}
	if _, err := s.Apply(within(t), "default", manifests(t, objects...)); err != nil {
		t.Fatal(err)
	}
	for i := range namespaces {
		name := fmt.Sprintf("n%d", i)
		var last *appsv1.Deployment
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true,
			func(ctx context.Context) (bool, error) {
				last, err = client.AppsV1().Deployments(name).Get(ctx, "web", metav1.GetOptions{})
				return err == nil && replicaFailure(last) && last.Status.Replicas >= 2, err
			})
		if err != nil {
			t.Errorf("waiting until the quota of %s holds pods back: %v; the Deployment is %+v", name, err, last.Status)
			continue
		}
		pods, err := client.CoreV1().Pods(name).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(pods.Items) != 2 {
			t.Errorf("%d pods in %s, whose quota is 2, %v", len(pods.Items), name, err)
		}
	}
}

// replicaFailure reports whether pods of the Deployment could not be made.
func replicaFailure(d *appsv1.Deployment) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == "True" {
			return true
		}
	}
	return false
}
