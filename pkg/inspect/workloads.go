package inspect

import (
	"cmp"
	"fmt"
)

// deployment corrects kstatus, which waits for ever for one that is paused, and overlooks pods that may not be made.
func (o subject) deployment() Status {
	want := o.count(1, "spec", "replicas")
	counts := o.deploymentCounts(want)
	progressing := o.condition("Progressing")
	switch {
	case progressing.Reason == "ProgressDeadlineExceeded":
		return o.is(Failed, "progress deadline exceeded"+after(": ", counts))
	case progressing.Status == "False":
		return o.is(Failed, reasonOf(progressing))
	case o.condition("ReplicaFailure").Status == "True":
		return o.replicaFailure()
	case o.flag("spec", "paused"):
		return o.paused(want)
	case o.base.Status == Current && want == 0:
		return o.because("scaled to 0")
	case o.base.Status == Current:
		return o.base
	}
	return o.because(cmp.Or(counts, o.base.Message))
}

// deploymentCounts tells what of the pods is still to come, in the order in which a rollout goes.
func (o subject) deploymentCounts(want int64) string {
	updated, available := o.count(0, "status", "updatedReplicas"), o.count(0, "status", "availableReplicas")
	old := o.count(0, "status", "replicas") - updated
	switch {
	case updated < want && old > 0:
		return short(updated, want, "pods updated")
	case updated < want:
		return short(updated, want, "pods created")
	case available < want:
		return short(available, want, "updated pods available")
	case old > 0:
		return plural(old, "old pod") + " to remove"
	case updated > want:
		return plural(updated-want, "pod") + " to remove"
	}
	return short(o.count(0, "status", "readyReplicas"), want, "pods ready")
}

// paused is where a Deployment's spec wants it to be, if the pods that there are run; its rollout may be half way.
func (o subject) paused(want int64) Status {
	updated, available := o.count(0, "status", "updatedReplicas"), o.count(0, "status", "availableReplicas")
	switch {
	case available < want:
		return o.is(InProgress, fmt.Sprintf("paused, %d of %d pods available", available, want))
	case updated < want:
		return o.is(Suspended, fmt.Sprintf("paused, %d of %d pods updated", updated, want))
	}
	return o.is(Suspended, "paused")
}

// replicaFailure is of pods that the API server does not let the controller make or delete, by quota or admission.
func (o subject) replicaFailure() Status {
	failure := o.condition("ReplicaFailure")
	word := Degraded
	if o.count(0, "status", "availableReplicas") == 0 && o.count(1, "spec", "replicas") > 0 {
		word = Failed
	}
	s := o.is(word, reasonOf(failure))
	s.Message = cmp.Or(failure.Message, s.Message)
	return s
}

// replicaSet is of ReplicaSets and ReplicationControllers; kstatus knows the former only, and not that they fail.
func (o subject) replicaSet() Status {
	want, have := o.count(1, "spec", "replicas"), o.count(0, "status", "replicas")
	counts := cmp.Or(
		short(have, want, "pods created"),
		short(o.count(0, "status", "readyReplicas"), want, "pods ready"),
		short(o.count(0, "status", "availableReplicas"), want, "ready pods available"),
	)
	switch {
	case o.condition("ReplicaFailure").Status == "True":
		return o.replicaFailure()
	case counts != "":
		return o.is(InProgress, counts)
	case have > want:
		return o.is(InProgress, plural(have-want, "pod")+" to remove")
	case o.base.Status == Current && want == 0:
		return o.because("scaled to 0")
	case o.base.Status == Current:
		return o.base
	}
	return o.because(o.base.Message)
}

// statefulSet corrects kstatus, which takes one that is updated by hand (OnDelete) for done whatever its pods do.
func (o subject) statefulSet() Status {
	want, have := o.count(1, "spec", "replicas"), o.count(0, "status", "replicas")
	updated := o.count(0, "status", "updatedReplicas")
	counts := cmp.Or(
		short(have, want, "pods created"),
		short(o.count(0, "status", "readyReplicas"), want, "pods ready"),
		o.notAvailable(want),
	)
	switch {
	case counts != "":
		return o.is(InProgress, counts)
	case have > want:
		return o.is(InProgress, plural(have-want, "pod")+" to remove")
	case o.text("spec", "updateStrategy", "type") == "OnDelete" && updated < want && o.revisionsDiffer():
		return o.because(short(updated, want, "pods updated") + ", the others when they are deleted (OnDelete)")
	case o.base.Status != Current:
		target := max(want-o.count(0, "spec", "updateStrategy", "rollingUpdate", "partition"), 0)
		return o.because(cmp.Or(short(updated, target, "pods updated"), o.base.Message))
	case want == 0:
		return o.because("scaled to 0")
	}
	return o.base
}

// notAvailable counts pods that are ready and not yet for minReadySeconds; kstatus does not.
func (o subject) notAvailable(want int64) string {
	available, told := o.number("status", "availableReplicas")
	if !told && o.count(0, "spec", "minReadySeconds") == 0 {
		return ""
	}
	return short(available, want, "ready pods available")
}

func (o subject) revisionsDiffer() bool {
	return o.text("status", "currentRevision") != o.text("status", "updateRevision")
}

// daemonSet corrects kstatus, which waits for ever for pods that are updated by hand (OnDelete).
func (o subject) daemonSet() Status {
	want, told := o.number("status", "desiredNumberScheduled")
	updated := o.count(0, "status", "updatedNumberScheduled")
	updates := short(updated, want, "pods updated")
	byHand := o.text("spec", "updateStrategy", "type") == "OnDelete"
	counts := cmp.Or(
		short(o.count(0, "status", "currentNumberScheduled"), want, "pods created"),
		short(o.count(0, "status", "numberReady"), want, "pods ready"),
		short(o.count(0, "status", "numberAvailable"), want, "ready pods available"),
	)
	switch {
	case !told || o.drift.State == NotReported:
		return o.is(InProgress, unseen)
	case !byHand && counts != "" && updates != "" && updated > 0:
		return o.is(InProgress, updates)
	case counts != "":
		return o.is(InProgress, counts)
	case byHand && updates != "":
		return o.is(Current, updates+", the others when they are deleted (OnDelete)")
	case updates != "":
		return o.is(InProgress, updates)
	case want == 0:
		return o.because("no node matches")
	}
	return o.because("")
}

// after joins two parts of a sentence, if there is a second.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}
