package compare

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// Deletions name no one. The functions below report whether a controller has a reason for one, by what it knows.

// ownerStays reports whether the owner is there and stays: else the garbage collector deletes.
func ownerStays(state known, c *change) bool { return standingOwner(state, c) != nil }

// standingOwner returns the controller owner, if it is there and is not being deleted; nil otherwise.
func standingOwner(state known, c *change) untyped.Map {
	ref := controllerOwner(c.newest())
	if ref == nil {
		return nil
	}
	owner := state.find(ownerResource(ref), c.namespace, ref.Text("name"))
	if owner == nil || isDeleting(owner) || owner.Text("metadata", "uid") != ref.Text("uid") {
		return nil
	}
	return owner
}

// ownerResource returns the resource of an owner.
func ownerResource(ref untyped.Map) schema.GroupResource {
	group, _, grouped := strings.Cut(ref.Text("apiVersion"), "/")
	if !grouped {
		group = ""
	}
	return schema.GroupResource{Group: group, Resource: cluster.GuessResource(ref.Text("kind"))}
}

// wantsFewerPods reports whether the owner has more pods than it wants.
func wantsFewerPods(state known, c *change) bool {
	owner := standingOwner(state, c)
	return owner != nil && int64(len(activePods(state, c, owner))) > owner.Count(1, "spec", "replicas")
}

// activePods returns the pods of the owner that have not ended and are not being deleted, that of the change included.
func activePods(state known, c *change, owner untyped.Map) []untyped.Map {
	var out []untyped.Map
	for _, pod := range state.list(core("pods"), c.namespace) {
		ref := controllerOwner(pod)
		if ref == nil || ref.Text("uid") != owner.Text("metadata", "uid") || isDeleting(pod) || hasEnded(pod) {
			continue
		}
		out = append(out, pod)
	}
	return out
}

func hasEnded(pod untyped.Map) bool {
	phase := pod.Text("status", "phase")
	return phase == "Succeeded" || phase == "Failed"
}

// statefulSetDeletes reports whether the pod has ended, is of an older revision, or is above the number of replicas.
func statefulSetDeletes(state known, c *change) bool {
	owner := standingOwner(state, c)
	if owner == nil {
		return false
	}
	revision := c.before.Text("metadata", "labels", "controller-revision-hash")
	return hasEnded(c.before) || wantsFewerPods(state, c) ||
		!waitsForDeletion(owner) && revision != newestRevision(state, owner).Text("metadata", "name")
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
	revision := newest.Text("metadata", "labels", hash)
	if hasEnded(c.before) || !waitsForDeletion(owner) && c.before.Text("metadata", "labels", hash) != revision {
		return true
	}
	node := state.find(core("nodes"), "", c.before.Text("spec", "nodeName"))
	return node == nil || len(node.List("spec", "taints")) > 0
}

// waitsForDeletion reports whether users, not the controller, delete pods of older revisions.
func waitsForDeletion(owner untyped.Map) bool {
	return owner.Text("spec", "updateStrategy", "type") == "OnDelete"
}

// newestRevision returns the ControllerRevision of the owner with the highest number; nil if there is none.
func newestRevision(state known, owner untyped.Map) untyped.Map {
	var newest untyped.Map
	for _, revision := range state.list(apps("controllerrevisions"), owner.Text("metadata", "namespace")) {
		ref := controllerOwner(revision)
		if ref != nil && ref.Text("uid") == owner.Text("metadata", "uid") &&
			revision.Count(0, "revision") > newest.Count(0, "revision") {
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
		ends = isEnding(later.next(batch("jobs"), c.namespace, owner.Text("metadata", "name")))
	}
	return ends || owner.At("spec", "suspend") == true ||
		int64(len(activePods(state, c, owner))) > owner.Count(1, "spec", "parallelism")
}

// isEnding reports whether a job has ended, or has what makes it end.
func isEnding(job untyped.Map) bool {
	return slices.ContainsFunc(job.Maps("status", "conditions"), func(condition untyped.Map) bool {
		switch condition.Text("type") {
		case "Complete", "Failed", "FailureTarget", "SuccessCriteriaMet":
			return condition.Text("status") == "True"
		}
		return false
	})
}

// notOrphaned reports whether the change is none of the garbage collector, which removes an owner that is deleted from
// what is to stay.
func notOrphaned(state known, c *change) bool {
	owner := controllerOwner(c.before)
	if owner == nil || controllerOwner(c.after) != nil {
		return true
	}
	return standingOwner(state, &change{namespace: c.namespace, before: c.before}) != nil
}

// isOldReplicaSet reports whether the Deployment stays and the ReplicaSet is one without replicas, which is no longer
// needed for a rollback.
func isOldReplicaSet(state known, c *change) bool {
	owner := standingOwner(state, c)
	if owner == nil || c.before.Count(1, "spec", "replicas") != 0 {
		return false
	}
	old := int64(-1) // one is in use
	for _, rs := range state.list(apps("replicasets"), c.namespace) {
		ref := controllerOwner(rs)
		if ref != nil && ref.Text("uid") == owner.Text("metadata", "uid") && !isDeleting(rs) {
			old++
		}
	}
	return old > owner.Count(10, "spec", "revisionHistoryLimit")
}

// hasTTL reports whether a job has ended and is to be deleted some time later.
func hasTTL(_ known, c *change) bool {
	ended := c.before.Text("status", "completionTime") != "" || len(c.before.Maps("status", "conditions")) > 0
	return c.before.At("spec", "ttlSecondsAfterFinished") != nil && ended
}

// isClaimOfSet reports whether a claim is named like those of a StatefulSet.
func isClaimOfSet(state known, c *change) bool {
	for _, set := range state.list(apps("statefulsets"), c.namespace) {
		for _, template := range set.Maps("spec", "volumeClaimTemplates") {
			prefix := template.Text("metadata", "name") + "-" + set.Text("metadata", "name") + "-"
			if number, ok := strings.CutPrefix(c.name, prefix); ok && strings.Trim(number, "0123456789") == "" {
				return true
			}
		}
	}
	return false
}

func isDefaultAccount(_ known, c *change) bool { return c.name == "default" }
