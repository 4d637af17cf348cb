package compare

import (
	"regexp"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// nodeField are the fields by which a DaemonSet has a pod scheduled to one node.
var nodeField = regexp.MustCompile(`^spec\.affinity\.nodeAffinity\.requiredDuringSchedulingIgnoredDuringExecution` +
	`\.nodeSelectorTerms\[\d+\]\.matchFields\[key=metadata\.name\]\.values$`)

// isOtherNode reports whether a write makes the pod of a DaemonSet that was recorded, but on another node, and
// whether the set has pods on both that are alike. If the controller makes new pods beside old ones, on some nodes at
// a time, it goes through the nodes in the order of a Go map, which is no order: rollingUpdate of
// pkg/controller/daemon of k8s.io/kubernetes. r.mu must be held.
func (r *run) isOtherNode(w *write, ev *event) bool {
	owner := controllerOwner(w.content)
	if w.verb != VerbCreate || owner == nil || owner.Text("kind") != "DaemonSet" {
		return false
	}
	changes, err := fields.Changes(object(ev.content), object(w.content), fields.Mask{Resource: core("pods")})
	if err != nil { // cannot happen: they are JSON values
		return false
	}
	for _, change := range changes {
		if !nodeField.MatchString(change.Path) {
			return false
		}
	}
	here := r.ranksOn(nodeOf(w.content), w.object.Namespace, owner)
	return len(here) > 0 && slices.Equal(here, r.ranksOn(nodeOf(ev.content), w.object.Namespace, owner))
}

// nodeOf returns the node that a DaemonSet has made a pod for; "" if there is none.
func nodeOf(pod untyped.Map) string {
	required := "requiredDuringSchedulingIgnoredDuringExecution"
	for _, term := range pod.Maps("spec", "affinity", "nodeAffinity", required, "nodeSelectorTerms") {
		for _, field := range term.Maps("matchFields") {
			if values := field.List("values"); field.Text("key") == "metadata.name" && len(values) == 1 {
				name, _ := values[0].(string)
				return name
			}
		}
	}
	return ""
}

// ranksOn returns the rankText of the owner's pods on a node, sorted. r.mu must be held.
func (r *run) ranksOn(node, namespace string, owner untyped.Map) []string {
	var out []string
	for id, object := range r.objects {
		ref := controllerOwner(object.current)
		if id.resource == core("pods") && id.namespace == namespace && ref != nil &&
			ref.Text("kind") == "DaemonSet" && ref.Text("name") == owner.Text("name") &&
			nodeOf(object.current) == node {
			out = append(out, rankText(object.current))
		}
	}
	slices.Sort(out)
	return out
}
