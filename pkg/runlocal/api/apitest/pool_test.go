package apitest

import (
	"context"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

var servers = NewPool(api.Options{DefaultServiceAccounts: true})

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(Main{M: m, Pools: []*Pool{servers}})
}

func clientOf(t *testing.T, s *api.Server) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestServersAreReused: the second test finds nothing of what the first has made, and the third gets another server than
// the second, which has deleted what the server needs.
func TestServersAreReused(t *testing.T) {
	var before *api.Server
	var commits atomic.Int64
	t.Run("first", func(t *testing.T) {
		before = servers.Server(t, func(context.Context, uint64) { commits.Add(1) })
		client := clientOf(t, before)
		kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Finalizers: []string{"example.com/kept"}}}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), shop, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, namespace := range []string{"default", "shop"} {
			if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if commits.Load() < 4 {
			t.Errorf("%d commits were reported, want one for each object at least", commits.Load())
		}
	})
	reported := commits.Load()
	t.Run("second", func(t *testing.T) {
		server := servers.Server(t, nil)
		if server != before {
			t.Error("the server of the first test is not used again")
		}
		client := clientOf(t, server)
		_, namespace := client.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{})
		_, configMap := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
		_, node := client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
		for what, err := range map[string]error{"namespace": namespace, "ConfigMap": configMap, "node": node} {
			if !apierrors.IsNotFound(err) {
				t.Errorf("the %s of the first test is still there (%v)", what, err)
			}
		}
		if commits.Load() != reported {
			t.Error("the first test got commits after its end")
		}
		if err := client.CoreV1().ServiceAccounts("default").Delete(t.Context(), "default",
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("third", func(t *testing.T) {
		if servers.Server(t, nil) == before {
			t.Error("a server is used again that lacks an object which it made itself")
		}
	})
}
