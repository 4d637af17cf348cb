package compare

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Deletions name no one. The functions below report whether a controller has a reason for one, by what it knows.

// ownerStays reports whether the owner is there and stays: else the garbage collector deletes.
func ownerStays(state known, c *change) bool { return standingOwner(state, c) != nil }

// standingOwner returns the controller owner, if it is there and is not being deleted; nil otherwise.
func standingOwner(state known, c *change) fields {
	ref := c.newest().controllerOwner()
	if ref == nil {
		return nil
	}
	owner := state.find(ownerResource(ref), c.namespace, ref.text("name"))
	if owner == nil || owner.isDeleting() || owner.text("metadata", "uid") != ref.text("uid") {
		return nil
	}
	return owner
}

// ownerResource returns the resource of an owner.
func ownerResource(ref fields) schema.GroupResource {
	group, _, grouped := strings.Cut(ref.text("apiVersion"), "/")
	if !grouped {
		group = ""
	}
	return schema.GroupResource{Group: group, Resource: cluster.GuessResource(ref.text("kind"))}
}

// wantsFewerPods reports whether the owner has more pods than it wants.
func wantsFewerPods(state known, c *change) bool {
	owner := standingOwner(state, c)
	return owner != nil && int64(len(activePods(state, c, owner))) > owner.number(1, "spec", "replicas")
}

// activePods returns the pods of the owner that have not ended and are not being deleted, that of the change included.
func activePods(state known, c *change, owner fields) []fields {
	var out []fields
	for _, pod := range state.list(core("pods"), c.namespace) {
		ref := pod.controllerOwner()
		if ref == nil || ref.text("uid") != owner.text("metadata", "uid") || pod.isDeleting() || hasEnded(pod) {
			continue
		}
		out = append(out, pod)
	}
	return out
}

func hasEnded(pod fields) bool {
	phase := pod.text("status", "phase")
	return phase == "Succeeded" || phase == "Failed"
}

// statefulSetDeletes reports whether the pod has ended, is of an older revision, or is above the number of replicas.
func statefulSetDeletes(state known, c *change) bool {
	owner := standingOwner(state, c)
	if owner == nil {
		return false
	}
	revision := c.before.text("metadata", "labels", "controller-revision-hash")
	return hasEnded(c.before) || wantsFewerPods(state, c) ||
		!waitsForDeletion(owner) && revision != newestRevision(state, owner).text("metadata", "name")
}

// daemonSetDeletes reports whether the pod has ended or is not of the newest revision, or its node is gone or is not to
// be used.
func daemonSetDeletes(state known, c *change) bool {
	owner := standingOwner(state, c)
	if owner == nil {
		return false
	}
	newest := newestRevision(state, owner)
	const hash = "controller-revision-hash"
	revision := newest.text("metadata", "labels", hash)
	if hasEnded(c.before) || !waitsForDeletion(owner) && c.before.text("metadata", "labels", hash) != revision {
		return true
	}
	node := state.find(core("nodes"), "", c.before.text("spec", "nodeName"))
	return node == nil || len(node.list("spec", "taints")) > 0
}

// waitsForDeletion reports whether users, not the controller, delete pods of older revisions.
func waitsForDeletion(owner fields) bool {
	return owner.text("spec", "updateStrategy", "type") == "OnDelete"
}

// newestRevision returns the ControllerRevision of the owner with the highest number; nil if there is none.
func newestRevision(state known, owner fields) fields {
	var newest fields
	for _, revision := range state.list(apps("controllerrevisions"), owner.text("metadata", "namespace")) {
		ref := revision.controllerOwner()
		if ref != nil && ref.text("uid") == owner.text("metadata", "uid") &&
			revision.number(0, "revision") > newest.number(0, "revision") {
			newest = revision
		}
	}
	return newest
}

// jobDeletes reports whether the job has ended, is suspended, or has more pods than it wants. The controller deletes
// the pods of a job that is to end before it writes so in the status.
func jobDeletes(state known, c *change) bool {
	owner := standingOwner(state, c)
	if owner == nil {
		return false
	}
	ends := isEnding(owner)
	if later, ok := state.(foreseeing); ok && !ends {
		ends = isEnding(later.next(batch("jobs"), c.namespace, owner.text("metadata", "name")))
	}
	return ends || owner.at("spec", "suspend") == true ||
		int64(len(activePods(state, c, owner))) > owner.number(1, "spec", "parallelism")
}

// isEnding reports whether a job has ended, or has what makes it end.
func isEnding(job fields) bool {
	return slices.ContainsFunc(job.maps("status", "conditions"), func(condition fields) bool {
		switch condition.text("type") {
		case "Complete", "Failed", "FailureTarget", "SuccessCriteriaMet":
			return condition.text("status") == "True"
		}
		return false
	})
}

// notOrphaned reports whether the change is none of the garbage collector, which removes an owner that is deleted from
// what is to stay.
func notOrphaned(state known, c *change) bool {
	owner := c.before.controllerOwner()
	if owner == nil || c.after.controllerOwner() != nil {
		return true
	}
	return standingOwner(state, &change{namespace: c.namespace, before: c.before}) != nil
}

// isOldReplicaSet reports whether the Deployment stays and the ReplicaSet is one without replicas, which is no longer
// needed for a rollback.
func isOldReplicaSet(state known, c *change) bool {
	owner := standingOwner(state, c)
	if owner == nil || c.before.number(1, "spec", "replicas") != 0 {
		return false
	}
	old := int64(-1) // one is in use
	for _, rs := range state.list(apps("replicasets"), c.namespace) {
		ref := rs.controllerOwner()
		if ref != nil && ref.text("uid") == owner.text("metadata", "uid") && !rs.isDeleting() {
			old++
		}
	}
	return old > owner.number(10, "spec", "revisionHistoryLimit")
}

// hasTTL reports whether a job has ended and is to be deleted some time later.
func hasTTL(_ known, c *change) bool {
	ended := c.before.text("status", "completionTime") != "" || len(c.before.maps("status", "conditions")) > 0
	return c.before.at("spec", "ttlSecondsAfterFinished") != nil && ended
}

// isClaimOfSet reports whether a claim is named like those of a StatefulSet.
func isClaimOfSet(state known, c *change) bool {
	for _, set := range state.list(apps("statefulsets"), c.namespace) {
		for _, template := range set.maps("spec", "volumeClaimTemplates") {
			prefix := template.text("metadata", "name") + "-" + set.text("metadata", "name") + "-"
			if number, ok := strings.CutPrefix(c.name, prefix); ok && strings.Trim(number, "0123456789") == "" {
				return true
			}
		}
	}
	return false
}

func isDefaultAccount(_ known, c *change) bool { return c.name == "default" }
