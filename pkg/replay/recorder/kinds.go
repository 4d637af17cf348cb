package recorder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// workloadResources are what Choose returns besides custom resources: what the controllers of workloads, of their
// storage and of their networks work on and read, and Events. Leases are left out: they are heartbeats.
func workloadResources() map[schema.GroupResource]bool {
	out := map[schema.GroupResource]bool{crdResource(): true}
	for group, resources := range map[string][]string{
		"": {
			"pods", "services", "endpoints", "configmaps", "secrets", "serviceaccounts", "persistentvolumeclaims",
			"persistentvolumes", "nodes", "namespaces", "events", "resourcequotas", "limitranges",
			"replicationcontrollers", "podtemplates",
		},
		"apps":             {"deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions"},
		"batch":            {"jobs", "cronjobs"},
		"autoscaling":      {"horizontalpodautoscalers"},
		"policy":           {"poddisruptionbudgets"},
		"discovery.k8s.io": {"endpointslices"},
		"networking.k8s.io": {
			"ingresses", "ingressclasses", "networkpolicies", "servicecidrs", "ipaddresses",
		},
		"storage.k8s.io": {
			"storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments",
			"volumeattributesclasses",
		},
		"scheduling.k8s.io": {"priorityclasses"},
		"resource.k8s.io":   {"resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses"},
	} {
		for _, resource := range resources {
			out[schema.GroupResource{Group: group, Resource: resource}] = true
		}
	}
	return out
}

// crdResource are the definitions of custom resources.
func crdResource() schema.GroupResource {
	return schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
}

// Choice is what to choose of the kinds that a server has.
type Choice struct {
	// All chooses all kinds; else those that workloads consist of and depend on, Events, and custom resources with
	// their definitions.
	All bool
	// Also are kinds that are chosen besides, if the server has them.
	Also []schema.GroupResource
	// Namespaces are those of namespaced kinds; none is all.
	Namespaces []string
	// Labels and Fields select among namespaced objects other than Events: what controllers need besides is of no use
	// in part.
	Labels, Fields string
}

// Choose returns selections of the kinds that can be recorded. Events are recorded once, though they are served in two
// groups.
func Choose(kinds *cluster.Kinds, c Choice) []Selection {
	var out []Selection
	workloads := workloadResources()
	for _, resource := range c.Also {
		workloads[resource] = true
	}
	for _, kind := range kinds.All() {
		resource := kind.GroupResource()
		sameAsCore := resource == schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
		if !Recordable(&kind) || sameAsCore || !c.All && !workloads[resource] && isBuiltIn(&kind) {
			continue
		}
		s := Selection{Target: cluster.Target{Kind: kind}}
		switch {
		case resource == schema.GroupResource{Resource: "namespaces"}:
			for _, name := range c.Namespaces {
				s.Fields = metav1.ObjectNameField + "=" + name
				out = append(out, s)
			}
			if len(c.Namespaces) > 0 {
				continue
			}
		case kind.Namespaced && resource != schema.GroupResource{Resource: "events"}:
			s.Labels, s.Fields = c.Labels, c.Fields
		}
		if !kind.Namespaced || len(c.Namespaces) == 0 {
			out = append(out, s)
			continue
		}
		for _, namespace := range c.Namespaces {
			s.Namespace = namespace
			out = append(out, s)
		}
	}
	return out
}

// Recordable reports whether a kind can be recorded: it must be possible to list and to watch it.
func Recordable(kind *cluster.Kind) bool { return kind.Can("list") && kind.Can("watch") }

// isBuiltIn reports whether a kind is Kubernetes' own, rather than that of a CustomResourceDefinition or of another API
// server.
func isBuiltIn(kind *cluster.Kind) bool {
	return scheme.Scheme.IsGroupRegistered(kind.Group) || kind.Group == crdResource().Group ||
		kind.Group == "apiregistration.k8s.io"
}

// DefinitionOf returns the selection of the definition of a custom resource; false if the kind is built in.
func DefinitionOf(kinds *cluster.Kinds, kind *cluster.Kind) (Selection, bool) {
	if isBuiltIn(kind) {
		return Selection{}, false
	}
	definitions, err := kinds.Resolve(crdResource().String())
	if err != nil || definitions.GroupResource() != crdResource() {
		return Selection{}, false
	}
	return Selection{
		Target: cluster.Target{Kind: definitions}, Fields: metav1.ObjectNameField + "=" + kind.GroupResource().String(),
	}, true
}
