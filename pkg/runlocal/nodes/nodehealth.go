package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// NodeFailure is a value of SimulateAnnotation on a Node. It may come and go while the node is there. Other values count as
// none.
type NodeFailure string

// The failures of nodes.
const (
	// Silent makes the node's kubelet say and do nothing: it renews no lease and leaves pods as they are.
	Silent NodeFailure = "silent"
	// NotReady makes the kubelet report that the node is not ready. Its pods run on.
	NotReady NodeFailure = "not-ready"
)

// nodeFailure is what the node is to simulate; empty for a healthy node.
func nodeFailure(node *corev1.Node) NodeFailure {
	return NodeFailure(node.Annotations[SimulateAnnotation])
}

// hasActiveKubelet reports whether the node's kubelet is ours to play, and does something.
func hasActiveKubelet(node *corev1.Node) bool { return simulated(node) && nodeFailure(node) != Silent }

// reportedConditions are the conditions that the node's kubelet has to report.
func reportedConditions(node *corev1.Node, now time.Time) []corev1.NodeCondition {
	conditions := nodeConditions(now)
	if nodeFailure(node) == NotReady {
		i := slices.IndexFunc(conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		conditions[i].Status = corev1.ConditionFalse
		conditions[i].Reason, conditions[i].Message = "KubeletNotReady", "not ready, as the node's annotation asks for"
	}
	return conditions
}

// missingConditions are the conditions among readiness that the node does not have. What changes its status has changed now.
func missingConditions(node *corev1.Node, now time.Time) []corev1.NodeCondition {
	return slices.DeleteFunc(reportedConditions(node, now), func(c corev1.NodeCondition) bool {
		return slices.ContainsFunc(node.Status.Conditions, func(has corev1.NodeCondition) bool {
			return has.Type == c.Type && has.Status == c.Status && has.Reason == c.Reason
		})
	})
}

// reportConditions writes what the node's status lacks of what its kubelet has to say, as a kubelet does when something has changed.
func reportConditions(ctx context.Context, client corev1client.NodeInterface, node *corev1.Node, now time.Time) error {
	conditions := missingConditions(node, now)
	if len(conditions) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
	if err != nil {
		return fmt.Errorf("spelling the conditions of node %q: %w", node.Name, err)
	}
	if _, err := client.Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("reporting the conditions of node %q: %w", node.Name, err)
	}
	return nil
}
