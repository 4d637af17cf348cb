package inspect

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// WaitsForController reports whether a workload waits for nothing but its controller, by what it counts: the controller
// has to make or replace pods, and no pod has to become ready before. Mostly that lasts for milliseconds; if it lasts
// longer, what the controller writes is refused, or the controller does not run. It is false for objects that are
// paused or being deleted, and for those of other kinds, of which this cannot be told.
func WaitsForController(obj *unstructured.Unstructured) bool {
	if obj == nil {
		return false
	}
	o := subject{Map: obj.Object, group: obj.GroupVersionKind().Group, kind: obj.GetKind()}
	if o.Text("metadata", "deletionTimestamp") != "" || o.Flag("spec", "paused") || o.Flag("spec", "suspend") {
		return false
	}
	want, have := o.Count(1, "spec", "replicas"), o.Count(0, "status", "replicas")
	ready, updated := o.Count(0, "status", "readyReplicas"), o.Count(0, "status", "updatedReplicas")
	rolls := o.Text("spec", "updateStrategy", "type") != "OnDelete"
	switch o.group + "/" + o.kind {
	case "apps/ReplicaSet", "/ReplicationController":
		return have != want
	case "apps/Deployment":
		available := o.Count(0, "status", "availableReplicas")
		return have < want || available == have && (updated < want || have > want)
	case "apps/StatefulSet":
		if o.Text("spec", "podManagementPolicy") == "Parallel" && have != want {
			return true
		}
		least := want - o.Count(0, "spec", "updateStrategy", "rollingUpdate", "partition")
		return ready == have && (have != want || rolls && updated < least && o.revisionsDiffer())
	case "apps/DaemonSet":
		want, have = o.Count(0, "status", "desiredNumberScheduled"), o.Count(0, "status", "currentNumberScheduled")
		ready, updated = o.Count(0, "status", "numberReady"), o.Count(0, "status", "updatedNumberScheduled")
		return have < want || rolls && ready == want && updated < want
	case "batch/Job":
		pods := o.Count(0, "status", "active") + o.Count(0, "status", "succeeded") + o.Count(0, "status", "failed")
		return pods == 0 && o.Count(1, "spec", "parallelism") > 0 && o.Count(1, "spec", "completions") > 0
	}
	return false
}
