package nodes

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// copiedNode is a node that no simulation has made, with a kubelet that runs or not.
func copiedNode(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)},
		Spec:       corev1.NodeSpec{Unschedulable: ready != corev1.ConditionTrue},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: "KubeletStatus",
				Message: "as in the cluster"}},
		},
	}
}

// putCopied puts nodes and pods, with their status, where nothing has acted on them yet.
func putCopied(t *testing.T, client kubernetes.Interface, nodes []*corev1.Node, pods []*corev1.Pod) *Copied {
	t.Helper()
	for i, node := range nodes {
		made, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		made.Spec.Taints = nil // of a node that is not ready yet, by admission
		if made, err = client.CoreV1().Nodes().Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		made.Status = node.Status
		if nodes[i], err = client.CoreV1().Nodes().UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, pod := range pods {
		made, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		made.Status = pod.Status
		if pods[i], err = client.CoreV1().Pods("default").UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return NewCopied(nodes, pods)
}

// on places a pod, with the state of its only container.
func on(node string, phase corev1.PodPhase, state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = node
		p.Status = corev1.PodStatus{Phase: phase, PodIP: "10.9.8.7",
			ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Image: "nginx:1", State: state}}}
	}
}

// TestCopiedPodsStay: nothing becomes of copied pods by themselves, on a node whose kubelet is simulated otherwise.
func TestCopiedPodsStay(t *testing.T) {
	t.Parallel()
	server := podServers.Server(t, nil)
	client := kubernetes.NewForConfigOrDie(server.Config())
	nodes := []*corev1.Node{copiedNode("real", corev1.ConditionTrue), copiedNode("dead", corev1.ConditionUnknown)}
	pods := []*corev1.Pod{
		podOf("pull", on("real", corev1.PodPending,
			corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}})),
		podOf("job", restart(corev1.RestartPolicyNever), on("real", corev1.PodRunning,
			corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Hour))}})),
		podOf("nowhere", func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"disk": "fast"}
			p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
				Message: "0/2 nodes are available: as kube-scheduler says it"}}}
		}),
	}
	copied := putCopied(t, client, nodes, pods)
	s := newSandboxOn(t, server, Options{Copied: copied})
	s.create(podOf("new"))
	placed := s.until("new", "ready", ready)
	if placed.Spec.NodeName != "real" || placed.Status.PodIP == "10.9.8.7" {
		t.Errorf("a new pod is on %q with the address %s", placed.Spec.NodeName, placed.Status.PodIP)
	}
	for _, pod := range pods {
		if diff := cmp.Diff(pod, s.get(pod.Name)); diff != "" {
			t.Errorf("pod %q was changed (-copied +now):\n%s", pod.Name, diff)
		}
	}
	s.untilLease("real")
	if _, err := s.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "dead",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease of a node whose kubelet did not run: %v", err)
	}
	label := []byte(`{"metadata":{"labels":{"disk":"fast"}}}`)
	node, err := s.CoreV1().Nodes().Patch(t.Context(), "real", types.MergePatchType, label, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.until("nowhere", "ready, now that a node fits", ready)
	if diff := cmp.Diff(nodes[0].Status, node.Status); diff != "" {
		t.Errorf("the status of the copied node was changed (-copied +now):\n%s", diff)
	}
	for _, name := range []string{"pull", "job"} {
		if err := s.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.untilGone(name)
	}
}

// untilLease waits until the node has a Lease.
func (s *sandbox) untilLease(node string) {
	s.t.Helper()
	err := wait.PollUntilContextTimeout(s.t.Context(), 5*time.Millisecond, waitTimeout, true,
		func(ctx context.Context) (bool, error) {
			_, err := s.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		})
	if err != nil {
		s.t.Fatalf("waiting for the Lease of node %q: %v", node, err)
	}
}

func TestAssume(t *testing.T) {
	t.Parallel()
	failing := annotated(SimulateAnnotation, "image-pull-error")
	sure := newSandbox(t, Options{Count: 1, Assume: AssumeReady, PodReadyAfter: time.Hour})
	sure.create(podOf("p", failing))
	sure.until("p", "ready at once", ready)

	never := newSandbox(t, Options{Count: 1, Assume: AssumePending})
	never.create(podOf("p"))
	never.until("p", "bound", func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
	if err := never.CoreV1().Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	never.untilGone("p")

	var a Assumption
	if err := a.Set("maybe"); err == nil || a.Set("pending") != nil || a != AssumePending {
		t.Errorf("as a flag: %v, %q", err, a)
	}
}

// TestNeighboursKeepTheirAddresses: a new pod gets another one than those of pods that the API does not have.
func TestNeighboursKeepTheirAddresses(t *testing.T) {
	t.Parallel()
	neighbour := podOf("n", func(p *corev1.Pod) {
		p.Spec.NodeName, p.UID, p.Namespace, p.Status.PodIP = "node-1", "neighbour", "elsewhere", "10.128.0.1"
	})
	s := newSandbox(t, Options{Count: 1, Neighbours: []*corev1.Pod{neighbour}})
	s.create(podOf("p"))
	pod := s.until("p", "running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	if pod.Status.PodIP != "10.128.0.2" {
		t.Errorf("it has the address %s", pod.Status.PodIP)
	}
}

// TestNeighboursTakeRoom: pods that the API does not have are on a node all the same.
func TestNeighboursTakeRoom(t *testing.T) {
	t.Parallel()
	neighbour := podOf("n", requesting(corev1.ResourceCPU, "64"), func(p *corev1.Pod) {
		p.Spec.NodeName, p.UID, p.Namespace = "node-1", "neighbour", "elsewhere"
	})
	s := newSandbox(t, Options{Count: 1, Neighbours: []*corev1.Pod{neighbour}})
	s.create(podOf("p", requesting(corev1.ResourceCPU, "1")))
	s.until("p", "without room", func(p *corev1.Pod) bool {
		return len(p.Status.Conditions) > 0 && p.Status.Conditions[0].Reason == corev1.PodReasonUnschedulable
	})
}
