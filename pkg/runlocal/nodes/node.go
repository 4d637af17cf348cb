package nodes

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// runtimeName is the name of the container runtime of simulated nodes.
const runtimeName = "simulated"

// DefaultCapacity returns the capacity of a simulated node without Options.Capacity: more than that of a usual machine,
// so that a thousand pods fit on three nodes.
func DefaultCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
}

// nodeName returns the name of the n-th node, counted from 0.
func nodeName(n int) string { return fmt.Sprintf("node-%d", n+1) }

// newNode returns the n-th node, counted from 0, with the status that its kubelet would report when it is ready.
func newNode(n int, capacity corev1.ResourceList, version string, now time.Time) *corev1.Node {
	name := nodeName(n)
	id := digest(name)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: runtime.GOARCH,
				SimulatedLabel:         "true",
			},
		},
		Spec: corev1.NodeSpec{
			PodCIDR:    podCIDR(n).String(),
			PodCIDRs:   []string{podCIDR(n).String()},
			ProviderID: runtimeName + "://" + name,
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity.DeepCopy(),
			Allocatable: capacity.DeepCopy(),
			Phase:       corev1.NodeRunning,
			Conditions:  nodeConditions(now),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: hostIP(n)},
				{Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID:               id[:32],
				SystemUUID:              id[32:],
				BootID:                  id[16:48],
				KernelVersion:           runtimeName,
				OSImage:                 "simulated by kubectl reconcile",
				ContainerRuntimeVersion: runtimeName + "://0",
				KubeletVersion:          version,
				OperatingSystem:         "linux",
				Architecture:            runtime.GOARCH,
			},
		},
	}
}

// nodeConditions returns the conditions of a healthy node, with the order and texts of the kubelet. It mirrors
// MemoryPressureCondition, DiskPressureCondition, PIDPressureCondition and ReadyCondition of
// k8s.io/kubernetes/pkg/kubelet/nodestatus/setters.go.
func nodeConditions(now time.Time) []corev1.NodeCondition {
	condition := func(
		t corev1.NodeConditionType, s corev1.ConditionStatus, reason, message string,
	) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: t, Status: s, Reason: reason, Message: message,
			LastHeartbeatTime: *seconds(now), LastTransitionTime: *seconds(now),
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory",
			"kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure",
			"kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID",
			"kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

// ensureNode creates the node unless it exists, and removes the not-ready taint that admission adds to every new node:
// the node lifecycle controller, which would remove it when the node is ready, need not run.
func ensureNode(ctx context.Context, client corev1client.NodeInterface, node *corev1.Node) (*corev1.Node, error) {
	created, err := client.Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		created, err = client.Get(ctx, node.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("making node %q: %w", node.Name, err)
	}
	kept := slices.DeleteFunc(slices.Clone(created.Spec.Taints),
		func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
	if len(kept) == len(created.Spec.Taints) {
		return created, nil
	}
	created.Spec.Taints = kept
	if created, err = client.Update(ctx, created, metav1.UpdateOptions{}); err != nil {
		return nil, fmt.Errorf("making node %q schedulable: %w", node.Name, err)
	}
	return created, nil
}

// simulated reports whether the node's pods are simulated.
func simulated(node *corev1.Node) bool { return node.Labels[SimulatedLabel] == "true" }

// internalIP returns the node's internal address; "" if it has none.
func internalIP(node *corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}
