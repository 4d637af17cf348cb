package nodes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

func TestNodeObjects(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 2, Version: "v1.37.1"})
	list, err := s.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 || list.Items[0].Name != "node-1" || list.Items[1].Name != "node-2" {
		t.Fatalf("nodes %v", list.Items)
	}
	n := list.Items[1]
	if len(n.Spec.Taints) != 0 || n.Spec.PodCIDR != "10.128.16.0/20" || n.Labels[corev1.LabelHostname] != "node-2" ||
		!simulated(&n) {
		t.Errorf("taints %v, pod range %q, labels %v", n.Spec.Taints, n.Spec.PodCIDR, n.Labels)
	}
	if n.Status.NodeInfo.KubeletVersion != "v1.37.1" || !strings.Contains(n.Status.NodeInfo.OSImage, "simulated") {
		t.Errorf("node info %+v", n.Status.NodeInfo)
	}
	if internalIP(&n) != "172.18.0.3" || n.Status.Allocatable.Pods().Value() != podsPerNode {
		t.Errorf("address %q, %v pods", internalIP(&n), n.Status.Allocatable.Pods())
	}
	ready := 0
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			ready++
		}
	}
	if ready != 1 || len(n.Status.Conditions) != 4 {
		t.Errorf("conditions %+v", n.Status.Conditions)
	}
}

func TestLeases(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 2})
	leases := s.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, waitTimeout, true,
		func(ctx context.Context) (bool, error) {
			list, err := leases.List(ctx, metav1.ListOptions{})
			return err == nil && len(list.Items) == 2, err
		})
	if err != nil {
		t.Fatal(err)
	}
	node, err := s.CoreV1().Nodes().Get(t.Context(), "node-2", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := leases.Get(t.Context(), "node-2", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *lease.Spec.HolderIdentity != "node-2" || *lease.Spec.LeaseDurationSeconds != 40 ||
		lease.OwnerReferences[0].UID != node.UID {
		t.Errorf("lease %+v of node %s", lease, node.UID)
	}
	// The sandbox renews the leases of its own nodes all the time, and this one not.
	other := node.DeepCopy()
	other.Name = "elsewhere"
	for _, now := range []time.Time{epoch, epoch.Add(time.Minute)} {
		h := &leaseRenewer{leases: leases, clock: fixed(now)}
		if err := h.renew(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		renewed, err := leases.Get(t.Context(), "elsewhere", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !renewed.Spec.RenewTime.Time.Equal(now) {
			t.Errorf("the lease was renewed at %v, want %v", renewed.Spec.RenewTime, now)
		}
	}
}

func TestNodesThatAreThere(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	again, err := ensureNode(t.Context(), s.CoreV1().Nodes(), newNode(0, DefaultCapacity(), "v9", epoch))
	if err != nil {
		t.Fatal(err)
	}
	if again.Status.NodeInfo.KubeletVersion != "v0.0.0" {
		t.Errorf("a node that was there was changed: %+v", again.Status.NodeInfo)
	}
}

func TestStartRefuses(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	tests := []struct {
		reason string
		o      Options
	}{
		{"there is nothing to talk to", Options{Informers: factory}},
		{"there is nothing to listen to", Options{Config: config}},
		{"there are no negative nodes", Options{Config: config, Informers: factory, Count: -1}},
		{"there are only so many ranges of addresses", Options{Config: config, Informers: factory, Count: maxNodes + 1}},
		{"time does not go back", Options{Config: config, Informers: factory, PodReadyAfter: -1}},
		{"an API that cannot be reached is an error, not a hang", Options{Config: config, Informers: factory, Count: 1}},
		{"a config that makes no client is an error", Options{Config: &rest.Config{Host: "://"}, Informers: factory}},
	}
	for _, tt := range tests {
		if n, err := Start(t.Context(), tt.o); err == nil {
			t.Errorf("Start() = %v, want an error: %s", n, tt.reason)
		}
	}
}

func TestContextEndsNodes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newSandbox(t, Options{})
	n, err := Start(ctx, Options{Config: s.config, Informers: informers.NewSharedInformerFactory(s, 0)})
	if err != nil {
		t.Fatal(err)
	}
	cancel(errors.New("enough"))
	if err := n.Wait(); err != nil {
		t.Errorf("Wait() = %v", err)
	}
	n.Stop() // again, without harm
}
