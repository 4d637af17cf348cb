package seed

import (
	"encoding/json"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// dependent is what is looked at of an object that depends on another one without being owned by it.
type dependent struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Target struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		} `json:"scaleTargetRef"`
	} `json:"spec"`
	Status struct {
		ReservedFor []struct {
			UID types.UID `json:"uid"`
		} `json:"reservedFor"`
	} `json:"status"`
}

// linkDependents links what depends on an object as if that owned it: controllers would change it if the object were
// not there. An autoscaler depends on what it scales, the endpoints of a Service on that, and a claim of devices on the
// pods that it is reserved for.
func (r *reading) linkDependents() {
	named := map[ownerName]types.UID{}
	for uid, m := range r.related.members {
		named[ownerName{m.group.target.Kind.GroupKind(), m.group.target.Namespace, m.name}] = uid
	}
	for k, object := range r.objects {
		named[ownerName{object.Kind.GroupKind(), k.namespace, k.name}] = object.UID
	}
	for k, object := range r.objects {
		for _, uid := range dependsOn(k, object, named) {
			if uid != "" {
				r.related.link(object.UID, []metav1.OwnerReference{{UID: uid}})
			}
		}
	}
}

// dependsOn returns the uids of the objects that an object depends on; empty for those that are not there.
func dependsOn(k key, object Object, named map[ownerName]types.UID) []types.UID {
	var d dependent
	decoded := func() bool { return json.Unmarshal(object.JSON, &d) == nil }
	service := func(name string) []types.UID {
		return []types.UID{named[ownerName{schema.GroupKind{Kind: "Service"}, k.namespace, name}]}
	}
	switch {
	case k.resource == autoscalers && decoded():
		target := d.Spec.Target
		kind := schema.FromAPIVersionAndKind(target.APIVersion, target.Kind).GroupKind()
		return []types.UID{named[ownerName{kind, k.namespace, target.Name}]}
	case k.resource == schema.GroupResource{Resource: "endpoints"}:
		return service(k.name)
	case k.resource == schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"} && decoded():
		return service(d.Metadata.Labels[discoveryv1.LabelServiceName])
	case k.resource == schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"} && decoded():
		var out []types.UID
		for _, pod := range d.Status.ReservedFor {
			out = append(out, pod.UID)
		}
		return out
	}
	return nil
}
