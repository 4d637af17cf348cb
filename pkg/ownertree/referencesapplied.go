package ownertree

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// applied finds what a custom resource has applied, as its status lists it: the resources of an Application of Argo CD,
// with the hooks of its last synchronization that have failed, and the inventory of a Kustomization of Flux. Of what is
// listed with its health, only what is not healthy is of interest.
func (r *fieldReader) applied(fields untyped.Map) {
	if appliesElsewhere(fields) {
		return
	}
	resources := fields.Maps("status", "resources")
	hasHealth := func(entry untyped.Map) bool { return entry.Text("health", "status") != "" }
	some := slices.ContainsFunc(resources, hasHealth)
	for _, entry := range resources {
		health := entry.Text("health", "status")
		if health != "Healthy" && health != "Suspended" && (health != "" || !some) {
			r.appliedObject(entry.Text("group"), entry.Text("kind"), entry.Text("namespace"), entry.Text("name"))
		}
	}
	for _, entry := range fields.Maps("status", "operationState", "syncResult", "resources") {
		if phase := entry.Text("hookPhase"); entry.Text("hookType") != "" && (phase == "Failed" || phase == "Error") {
			r.appliedObject(entry.Text("group"), entry.Text("kind"), entry.Text("namespace"), entry.Text("name"))
		}
	}
	for _, entry := range fields.Maps("status", "inventory", "entries") {
		// The id is NAMESPACE_NAME_GROUP_KIND; colons in the name are two underscores.
		namespace, rest, _ := strings.Cut(entry.Text("id"), "_")
		toKind := strings.LastIndex(rest, "_")
		toGroup := strings.LastIndex(rest[:max(toKind, 0)], "_")
		if toGroup > 0 {
			name := strings.ReplaceAll(rest[:toGroup], "__", ":")
			r.appliedObject(rest[toGroup+1:toKind], rest[toKind+1:], namespace, name)
		}
	}
}

// appliesElsewhere reports whether a resource of Argo CD or Flux applies objects to another cluster than its own.
func appliesElsewhere(fields untyped.Map) bool {
	server, name := fields.Text("spec", "destination", "server"), fields.Text("spec", "destination", "name")
	return fields.At("spec", "kubeConfig") != nil ||
		server != "" && server != "https://kubernetes.default.svc" || name != "" && name != "in-cluster"
}

// appliedObject notes an object that was applied: it may be gone, or not there yet.
func (r *fieldReader) appliedObject(group, kind, namespace, name string) {
	if name == "" || kind == "" || len(r.out) >= mostReferences {
		return
	}
	r.out = append(r.out, reference{
		relation: "applies", inverse: "applied by", to: schema.GroupKind{Group: group, Kind: kind},
		namespace: namespace, name: name, optional: true, applied: true,
	})
}

// labelledBy are the references of an object of Flux to what its controller has labelled as applied by it: those in
// the graph, as a HelmRelease does not list them.
func (s *relationSource) labelledBy(n *Node) []*Node {
	if !strings.HasSuffix(n.Kind.Group, ".toolkit.fluxcd.io") || s.needsOnly && !s.guessed {
		return nil
	}
	var out []*Node
	for _, other := range s.graph.nodes {
		if other.Labels[n.Kind.Group+"/name"] == n.Name && other.Labels[n.Kind.Group+"/namespace"] == n.Namespace &&
			len(other.Owners) == 0 && len(out) < mostReferences {
			out = append(out, other)
		}
	}
	return out
}
