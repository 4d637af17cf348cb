package runlocal

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// stage is when an object is applied: after all objects of the stages before it, and before those of the stages after
// it.
type stage int

const (
	// namespacesFirst: what has a namespace is refused without it.
	namespacesFirst stage = iota
	// definitions: custom resources are refused until their kind is served.
	definitions
	// classesAndQuotas: a pod of a class that admission does not know is refused, an object that is made before the
	// default of its class is never has one, and the binder of volumes looks again 15 s later at a claim whose class it
	// did not find. A quota is enforced from when its status is set; what is there before counts, but is not refused.
	classesAndQuotas
	// accountsAndLimits: pods are refused until their account is there, tokens are deleted whose account is not, and
	// defaults of limits are set when pods are made.
	accountsAndLimits
	// references: what pods, claims and policies name. The binder looks again 15 s later for volumes that it did not
	// find.
	references
	// policies judge all that comes after them, and need their parameters for that.
	policies
	// others are all else, admission webhooks included, which would call what may not be there yet.
	others
)

const (
	schedulingGroup = "scheduling.k8s.io"
	storageGroup    = "storage.k8s.io"
	networkingGroup = "networking.k8s.io"
	resourceGroup   = "resource.k8s.io"
	admissionGroup  = "admissionregistration.k8s.io"
)

var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	crdKind       = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	quotaKind     = schema.GroupKind{Kind: "ResourceQuota"}
)

// stageOf is when objects of a kind are applied.
func stageOf(kind schema.GroupKind) stage {
	switch kind {
	case namespaceKind:
		return namespacesFirst
	case crdKind:
		return definitions
	case quotaKind,
		schema.GroupKind{Group: schedulingGroup, Kind: "PriorityClass"},
		schema.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"},
		schema.GroupKind{Group: storageGroup, Kind: "StorageClass"},
		schema.GroupKind{Group: storageGroup, Kind: "VolumeAttributesClass"},
		schema.GroupKind{Group: networkingGroup, Kind: "IngressClass"},
		schema.GroupKind{Group: networkingGroup, Kind: "ServiceCIDR"},
		schema.GroupKind{Group: resourceGroup, Kind: "DeviceClass"}:
		return classesAndQuotas
	case schema.GroupKind{Kind: "ServiceAccount"}, schema.GroupKind{Kind: "LimitRange"}:
		return accountsAndLimits
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"},
		schema.GroupKind{Kind: "PersistentVolume"},
		schema.GroupKind{Group: resourceGroup, Kind: "ResourceClaimTemplate"}:
		return references
	case schema.GroupKind{Group: admissionGroup, Kind: "ValidatingAdmissionPolicy"},
		schema.GroupKind{Group: admissionGroup, Kind: "ValidatingAdmissionPolicyBinding"},
		schema.GroupKind{Group: admissionGroup, Kind: "MutatingAdmissionPolicy"},
		schema.GroupKind{Group: admissionGroup, Kind: "MutatingAdmissionPolicyBinding"}:
		return policies
	}
	return others
}

// groupByStage divides the manifests by when they are applied, each stage in the order given. Those of kinds that
// policies among them take parameters from are references.
func groupByStage(manifests []Manifest) [others + 1][]Manifest {
	var parameters []schema.GroupKind
	for _, m := range manifests {
		if kind, ok := parameterKind(m.Object); ok {
			parameters = append(parameters, kind)
		}
	}
	var out [others + 1][]Manifest
	for _, m := range manifests {
		kind := m.Object.GroupVersionKind().GroupKind()
		when := stageOf(kind)
		if when == others && slices.Contains(parameters, kind) {
			when = references
		}
		out[when] = append(out[when], m)
	}
	return out
}

// parameterKind is the kind that the object takes parameters from, if it is a policy that has some.
func parameterKind(obj *unstructured.Unstructured) (schema.GroupKind, bool) {
	if stageOf(obj.GroupVersionKind().GroupKind()) != policies {
		return schema.GroupKind{}, false
	}
	kind, found, err := unstructured.NestedStringMap(obj.Object, "spec", "paramKind")
	if err != nil || !found {
		return schema.GroupKind{}, false
	}
	return schema.FromAPIVersionAndKind(kind["apiVersion"], kind["kind"]).GroupKind(), true
}
