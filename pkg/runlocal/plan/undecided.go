package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
)

// undecidedNode takes the place of the node of a pod that kube-scheduler would choose by fields which are not
// simulated.
const undecidedNode = "<not decided>"

// nodeOf returns the node of a pod; empty if it has none, or for nil.
func nodeOf(pod *unstructured.Unstructured) string {
	if pod == nil {
		return ""
	}
	name, _, err := unstructured.NestedString(pod.Object, "spec", "nodeName")
	if err != nil {
		return ""
	}
	return name
}

// ignoredFields is nodes.IgnoredFields of a pod.
func ignoredFields(pod *unstructured.Unstructured) []string {
	spec, ok := pod.Object["spec"].(map[string]any)
	if !ok {
		return nil
	}
	// Only what IgnoredFields looks at is converted.
	some := map[string]any{}
	for _, field := range []string{"affinity", "topologySpreadConstraints", "resourceClaims"} {
		if v, ok := spec[field]; ok {
			some[field] = v
		}
	}
	var typed corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(some, &typed); err != nil {
		return nil // cannot happen: the API has written it
	}
	return nodes.IgnoredFields(&typed)
}

// learnUndecided takes note of the pods that a write has bound to a node that is not decided.
func (n *names) learnUndecided(w api.Write) {
	if w.After == nil || w.After.GetKind() != "Pod" || nodeOf(w.After) == "" || nodeOf(w.Before) != "" ||
		len(ignoredFields(w.After)) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.undecided[w.After.GetNamespace()+"/"+w.After.GetName()] = true
}

// isUndecided reports whether the node of a pod is not decided.
func (n *names) isUndecided(namespace, name string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.undecided[namespace+"/"+name]
}

// hideNode replaces the node of a pod, and its addresses.
func hideNode(pod *unstructured.Unstructured) {
	if spec, ok := pod.Object["spec"].(map[string]any); ok && spec["nodeName"] != nil {
		spec["nodeName"] = undecidedNode
	}
	if status, ok := pod.Object["status"].(map[string]any); ok {
		for _, field := range []string{"hostIP", "hostIPs"} {
			if status[field] != nil {
				status[field] = undecidedNode
			}
		}
	}
}
