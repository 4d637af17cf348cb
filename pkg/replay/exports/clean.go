package exports

import (
	"slices"
	"strings"
)

// rank orders kinds by what must be there before others can be applied.
func rank(kind string) int {
	switch kind {
	case "Namespace":
		return 0
	case "CustomResourceDefinition":
		return 1
	default:
		return 2
	}
}

// clean removes from an object what only the API server or a controller may write, and reports whether what remains can
// be applied: it is not if a controller made the object, or if it says what happened.
func clean(object map[string]any) bool {
	kind, _ := object["kind"].(string)
	meta := mapAt(object, "metadata")
	switch {
	case kind == "Event", kind == "Lease", kind == "Node", meta == nil:
		return false
	case hasController(meta), isDefault(kind, meta):
		return false
	case meta["deletionTimestamp"] != nil: // it was to be gone
		return false
	}
	delete(object, "status")
	for _, name := range []string{
		"creationTimestamp", "deletionGracePeriodSeconds", "generateName", "generation", "managedFields",
		"ownerReferences", "resourceVersion", "selfLink", "uid",
	} {
		delete(meta, name)
	}
	cleanAnnotations(meta)
	switch kind {
	case "Service":
		cleanService(mapAt(object, "spec"))
	case "Job":
		cleanJob(object)
	case "Pod":
		removeAt(object, "spec", "nodeName")
	case "Namespace":
		delete(object, "spec") // its finalizers
	case "PersistentVolume":
		removeAt(object, "spec", "claimRef")
	case "PersistentVolumeClaim":
		removeAt(object, "spec", "volumeName")
	}
	return true
}

// hasController reports whether a controller made an object.
func hasController(meta map[string]any) bool {
	owners, _ := meta["ownerReferences"].([]any)
	return slices.ContainsFunc(owners, func(o any) bool {
		owner, _ := o.(map[string]any)
		return owner["controller"] == true
	})
}

// isDefault reports whether every namespace or cluster has an object, which something makes again.
func isDefault(kind string, meta map[string]any) bool {
	name, _ := meta["name"].(string)
	switch kind {
	case "ConfigMap":
		return name == "kube-root-ca.crt"
	case "ServiceAccount":
		return name == "default"
	case "Namespace":
		return name == "default" || strings.HasPrefix(name, "kube-")
	case "Endpoints":
		return true
	case "Service":
		return name == "kubernetes" && meta["namespace"] == "default"
	}
	return false
}

// cleanAnnotations removes the annotations that kubectl apply and controllers write.
func cleanAnnotations(meta map[string]any) {
	annotations := mapAt(meta, "annotations")
	for name := range annotations {
		switch prefix, _, _ := strings.Cut(name, "/"); prefix {
		case "deployment.kubernetes.io", "pv.kubernetes.io", "volume.kubernetes.io", "volume.beta.kubernetes.io":
			delete(annotations, name)
		}
	}
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	if annotations != nil && len(annotations) == 0 {
		delete(meta, "annotations")
	}
}

// cleanService removes addresses that another cluster has not, or has given to others.
func cleanService(spec map[string]any) {
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	delete(spec, "healthCheckNodePort")
	ports, _ := spec["ports"].([]any)
	for _, p := range ports {
		if port, ok := p.(map[string]any); ok {
			delete(port, "nodePort")
		}
	}
}

// cleanJob removes the selector and the labels that the API server makes of the uid, if it made them.
func cleanJob(object map[string]any) {
	spec := mapAt(object, "spec")
	if spec["manualSelector"] == true {
		return
	}
	delete(spec, "selector")
	for _, labels := range []map[string]any{
		mapAt(object, "metadata", "labels"), mapAt(spec, "template", "metadata", "labels"),
	} {
		for _, name := range []string{
			"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name",
		} {
			delete(labels, name)
		}
	}
}

// mapAt returns the map at a path; nil if there is none.
func mapAt(object map[string]any, path ...string) map[string]any {
	for _, name := range path {
		object, _ = object[name].(map[string]any)
	}
	return object
}

// removeAt removes a field.
func removeAt(object map[string]any, path ...string) {
	last := len(path) - 1
	delete(mapAt(object, path[:last]...), path[last])
}
