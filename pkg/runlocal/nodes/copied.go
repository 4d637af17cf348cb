package nodes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// Assumption is what becomes of pods that are made in a copy of a cluster. It implements pflag.Value.
type Assumption string

// The assumptions.
const (
	// AssumeSimulated makes pods behave as on simulated nodes, with the failures that their annotations ask for.
	AssumeSimulated Assumption = ""
	// AssumeReady makes every pod that is bound ready at once, whatever its annotations.
	AssumeReady Assumption = "ready"
	// AssumePending leaves every pod that is bound pending: no container starts.
	AssumePending Assumption = "pending"
)

// Set implements pflag.Value.
func (a *Assumption) Set(text string) error {
	switch value := Assumption(text); value {
	case AssumeReady, AssumePending:
		*a = value
		return nil
	}
	return fmt.Errorf("must be %s or %s", AssumeReady, AssumePending)
}

// String implements pflag.Value.
func (a *Assumption) String() string { return string(*a) }

// Type implements pflag.Value.
func (a *Assumption) Type() string { return "assumption" }

// Copied are the nodes and pods of a copy of a cluster, as they were when it was made.
//
// The kubelets of copied nodes are simulated, but a copied pod stays as it is until another client changes or deletes
// it, and the nodes' conditions are left as they are. The Lease of a node is renewed if its kubelet ran, as far as its
// condition Ready says. A copied pod that was found unschedulable is tried again only when something has changed that
// could let it fit.
type Copied struct {
	nodes map[types.UID]bool // whether their kubelets run
	pods  map[types.UID]copiedPod
}

// copiedPod is what the kubelet compares to see whether a pod was changed.
type copiedPod struct {
	node          string
	generation    int64
	deleting      bool
	unschedulable bool
}

// NewCopied returns the Copied for these nodes and pods, which it does not keep.
func NewCopied(nodes []*corev1.Node, pods []*corev1.Pod) *Copied {
	c := &Copied{nodes: map[types.UID]bool{}, pods: map[types.UID]copiedPod{}}
	for _, node := range nodes {
		ready := corev1.ConditionUnknown
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				ready = condition.Status
			}
		}
		c.nodes[node.UID] = ready != corev1.ConditionUnknown
	}
	for _, pod := range pods {
		_, scheduled := podutil.GetPodCondition(&pod.Status, corev1.PodScheduled)
		c.pods[pod.UID] = copiedPod{
			node: pod.Spec.NodeName, generation: pod.Generation, deleting: pod.DeletionTimestamp != nil,
			unschedulable: pod.Spec.NodeName == "" && scheduled != nil && scheduled.Status == corev1.ConditionFalse,
		}
	}
	return c
}

// hasNode reports whether the node was copied. It is false for all nodes of a nil Copied.
func (c *Copied) hasNode(node *corev1.Node) bool {
	if c == nil {
		return false
	}
	_, ok := c.nodes[node.UID]
	return ok
}

// hasActiveKubelet reports whether the node has a kubelet that is not silent: it is simulated, or it was copied with a
// kubelet that ran.
func (c *Copied) hasActiveKubelet(node *corev1.Node) bool {
	if c.hasNode(node) {
		return c.nodes[node.UID] && nodeFailure(node) != Silent
	}
	return hasActiveKubelet(node)
}

// keeps reports whether the kubelet leaves the pod as it is: it was copied, and was not changed or deleted since.
func (c *Copied) keeps(pod *corev1.Pod) bool {
	if c == nil {
		return false
	}
	was, ok := c.pods[pod.UID]
	return ok && was.node != "" && was.generation == pod.Generation && was.deleting == (pod.DeletionTimestamp != nil)
}

// waits reports whether the scheduler has found the pod unschedulable before it was copied, and the pod has not been
// changed since.
func (c *Copied) waits(pod *corev1.Pod) bool {
	if c == nil {
		return false
	}
	was, ok := c.pods[pod.UID]
	return ok && was.unschedulable && was.generation == pod.Generation
}
