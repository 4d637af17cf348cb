package seed

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// Resources that Read treats in a particular way.
var (
	namespaces  = schema.GroupResource{Resource: "namespaces"}
	nodes       = schema.GroupResource{Resource: "nodes"}
	secrets     = schema.GroupResource{Resource: "secrets"}
	volumes     = schema.GroupResource{Resource: "persistentvolumes"}
	claims      = schema.GroupResource{Resource: "persistentvolumeclaims"}
	leases      = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	ipAddresses = schema.GroupResource{Group: "networking.k8s.io", Resource: "ipaddresses"}
	definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
)

// admissionGroup is the API group of admission webhooks and policies.
const admissionGroup = "admissionregistration.k8s.io"

// readWhole reports whether a kind that is in no namespace is read whole: controllers, the scheduler or admission
// decide by it. What is not among these is read only if it owns something, or is a root.
func readWhole(resource schema.GroupResource) bool {
	switch resource {
	case nodes, volumes, ipAddresses:
		return true
	}
	switch resource.Group {
	case "storage.k8s.io":
		return slices.Contains([]string{"storageclasses", "csidrivers", "csinodes", "volumeattributesclasses"},
			resource.Resource)
	case "scheduling.k8s.io":
		return resource.Resource == "priorityclasses"
	case "node.k8s.io":
		return resource.Resource == "runtimeclasses"
	case "networking.k8s.io":
		return slices.Contains([]string{"ingressclasses", "servicecidrs"}, resource.Resource)
	case "resource.k8s.io":
		return slices.Contains([]string{"deviceclasses", "resourceslices"}, resource.Resource)
	case "rbac.authorization.k8s.io":
		return true // clusterroles and clusterrolebindings
	case admissionGroup:
		return true // webhooks are read to be named
	}
	return false
}

// NeverRead reports whether objects of a kind stay where they are: no controller decides by Events; Leases other than
// those of nodes are locks of those who hold them, which a copy would keep from expiring or would take.
func NeverRead(resource schema.GroupResource) bool {
	return resource.Resource == "events" && (resource.Group == "" || resource.Group == "events.k8s.io") ||
		resource == leases
}

// targets returns the lists to read.
func (r *reading) targets() []cluster.Target {
	var out []cluster.Target
	for _, kind := range r.o.Kinds.All() {
		resource := kind.GroupResource()
		switch {
		case resource == leases:
			out = append(out, cluster.Target{Kind: r.decodable(kind), Namespace: corev1.NamespaceNodeLease})
		case !kind.Can("list") || NeverRead(resource) || resource == namespaces && !r.o.AllNamespaces:
		case !kind.Namespaced:
			if readWhole(resource) || resource == namespaces {
				out = append(out, cluster.Target{Kind: r.decodable(kind)})
			}
		case !kind.Can("create") && !kind.Can("update"):
			// Such as the usage of pods: a view of something else.
		case r.o.AllNamespaces:
			out = append(out, cluster.Target{Kind: r.decodable(kind)})
		default:
			for _, namespace := range r.namespaces {
				out = append(out, cluster.Target{Kind: r.decodable(kind), Namespace: namespace})
			}
		}
	}
	return out
}

// decodable returns a built-in kind in a version that this program can decode, which may be another than the one that
// a server of another Kubernetes version prefers. It returns the kind itself if there is none, and for custom
// resources.
func (r *reading) decodable(kind cluster.Kind) cluster.Kind {
	if !api.BuiltIn(kind.Group) || scheme.Scheme.Recognizes(kind.GroupVersionKind) {
		return kind
	}
	for _, version := range scheme.Scheme.PrioritizedVersionsForGroup(kind.Group) {
		other, ok, err := r.o.Kinds.Lookup(version.WithKind(kind.Kind))
		if ok && err == nil && scheme.Scheme.Recognizes(other.GroupVersionKind) {
			return other
		}
	}
	return kind
}
