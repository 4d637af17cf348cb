package compare

import (
	"regexp"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// nodeField are the fields by which a DaemonSet has a pod scheduled to one node.
var nodeField = regexp.MustCompile(`^spec\.affinity\.nodeAffinity\.requiredDuringSchedulingIgnoredDuringExecution` +
	`\.nodeSelectorTerms\[\d+\]\.matchFields\[key=metadata\.name\]\.values$`)

// isOtherNode reports whether a write makes the pod of a DaemonSet that was recorded, but on another node, and
// whether the set has pods on both that are alike. If the controller makes new pods beside old ones, on some nodes at
// a time, it goes through the nodes in the order of a Go map, which is no order: rollingUpdate of
// pkg/controller/daemon of k8s.io/kubernetes. r.mu must be held.
func (r *run) isOtherNode(w *write, ev *event) bool {
	owner := w.content.controllerOwner()
	if w.verb != VerbCreate || owner == nil || owner.text("kind") != "DaemonSet" {
		return false
	}
	changes, err := inspect.Changes(object(ev.content), object(w.content), inspect.Mask{Resource: core("pods")})
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
func nodeOf(pod fields) string {
	required := "requiredDuringSchedulingIgnoredDuringExecution"
	for _, term := range pod.maps("spec", "affinity", "nodeAffinity", required, "nodeSelectorTerms") {
		for _, field := range term.maps("matchFields") {
			if values := field.list("values"); field.text("key") == "metadata.name" && len(values) == 1 {
				name, _ := values[0].(string)
				return name
			}
		}
	}
	return ""
}

// ranksOn returns the rankText of the owner's pods on a node, sorted. r.mu must be held.
func (r *run) ranksOn(node, namespace string, owner fields) []string {
	var out []string
	for id, object := range r.objects {
		ref := object.current.controllerOwner()
		if id.resource == core("pods") && id.namespace == namespace && ref != nil &&
			ref.text("kind") == "DaemonSet" && ref.text("name") == owner.text("name") &&
			nodeOf(object.current) == node {
			out = append(out, rankText(object.current))
		}
	}
	slices.Sort(out)
	return out
}
