package compare

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// primary returns the resource and the kind of the objects that the keys of a controller name; empty if they name none.
func primary(controller string) (resource schema.GroupResource, kind string) {
	switch controller {
	case "deployment":
		return apps("deployments"), "Deployment"
	case "replicaset":
		return apps("replicasets"), "ReplicaSet"
	case "replicationcontroller":
		return core("replicationcontrollers"), "ReplicationController"
	case "statefulset":
		return apps("statefulsets"), "StatefulSet"
	case "daemonset":
		return apps("daemonsets"), "DaemonSet"
	case "job", "ttl-after-finished":
		return batch("jobs"), "Job"
	case "cronjob":
		return batch("cronjobs"), "CronJob"
	case "endpoint", "endpointslice":
		return core("services"), "Service"
	case "disruption":
		return schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}, "PodDisruptionBudget"
	case "horizontalpodautoscaling":
		autoscalers := schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}
		return autoscalers, "HorizontalPodAutoscaler"
	case "serviceaccount":
		return core("namespaces"), "Namespace"
	case "resourcequota":
		return core("resourcequotas"), "ResourceQuota"
	}
	return schema.GroupResource{}, ""
}

// namedObject returns the object that a key names; zero if it names none that is known. r.mu must be held.
func (r *run) namedObject(id keyID) trace.Object {
	resource, kind := primary(id.controller)
	if kind == "" || id.key == "" {
		return trace.Object{}
	}
	namespace, name, namespaced := strings.Cut(id.key, "/")
	if !namespaced {
		namespace, name = "", id.key
	}
	return trace.Object{
		Group: resource.Group, Resource: resource.Resource, Kind: kind, Namespace: namespace, Name: name,
	}
}
