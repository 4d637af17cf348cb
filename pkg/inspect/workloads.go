package inspect

import (
	"cmp"
	"fmt"
)

// deployment corrects kstatus, for which a paused Deployment is InProgress for ever, and which ignores pods that
// cannot be created.
func (o subject) deployment() Status {
	want := o.Count(1, "spec", "replicas")
	counts := o.deploymentCounts(want)
	progressing := o.condition("Progressing")
	switch {
	case progressing.Reason == "ProgressDeadlineExceeded":
		return o.status(Failed, "progress deadline exceeded"+withSeparator(": ", counts))
	case progressing.Status == "False":
		return o.status(Failed, reasonOf(progressing))
	case o.condition("ReplicaFailure").Status == "True":
		return o.replicaFailure()
	case o.Flag("spec", "paused"):
		return o.paused(want)
	case o.base.Status == Current && want == 0:
		return o.baseStatus("scaled to 0")
	case o.base.Status == Current:
		return o.base
	}
	return o.baseStatus(cmp.Or(counts, o.base.Message))
}

// deploymentCounts returns which pods are still missing or to be removed, in the order in which a rollout proceeds.
func (o subject) deploymentCounts(want int64) string {
	updated, available := o.Count(0, "status", "updatedReplicas"), o.Count(0, "status", "availableReplicas")
	old := o.Count(0, "status", "replicas") - updated
	switch {
	case updated < want && old > 0:
		return shortfall(updated, want, "pods updated")
	case updated < want:
		return shortfall(updated, want, "pods created")
	case available < want:
		return shortfall(available, want, "updated pods available")
	case old > 0:
		return plural(old, "old pod") + " to remove"
	case updated > want:
		return plural(updated-want, "pod") + " to remove"
	}
	return shortfall(o.Count(0, "status", "readyReplicas"), want, "pods ready")
}

// paused returns the status of a paused Deployment: Suspended if enough pods are available, even in the middle of a
// rollout.
func (o subject) paused(want int64) Status {
	updated, available := o.Count(0, "status", "updatedReplicas"), o.Count(0, "status", "availableReplicas")
	switch {
	case available < want:
		return o.status(InProgress, fmt.Sprintf("paused, %d of %d pods available", available, want))
	case updated < want:
		return o.status(Suspended, fmt.Sprintf("paused, %d of %d pods updated", updated, want))
	}
	return o.status(Suspended, "paused")
}

// replicaFailure returns the status of an object whose pods the API server refuses to create or delete, by quota or
// admission.
func (o subject) replicaFailure() Status {
	failure := o.condition("ReplicaFailure")
	word := Degraded
	if o.Count(0, "status", "availableReplicas") == 0 && o.Count(1, "spec", "replicas") > 0 {
		word = Failed
	}
	s := o.status(word, reasonOf(failure))
	s.Message = cmp.Or(failure.Message, s.Message)
	return s
}

// replicaSet is the rule of ReplicaSets and ReplicationControllers; kstatus knows only the former, and ignores their
// failures.
func (o subject) replicaSet() Status {
	want, have := o.Count(1, "spec", "replicas"), o.Count(0, "status", "replicas")
	counts := cmp.Or(
		shortfall(have, want, "pods created"),
		shortfall(o.Count(0, "status", "readyReplicas"), want, "pods ready"),
		shortfall(o.Count(0, "status", "availableReplicas"), want, "ready pods available"),
	)
	switch {
	case o.condition("ReplicaFailure").Status == "True":
		return o.replicaFailure()
	case counts != "":
		return o.status(InProgress, counts)
	case have > want:
		return o.status(InProgress, plural(have-want, "pod")+" to remove")
	case o.base.Status == Current && want == 0:
		return o.baseStatus("scaled to 0")
	case o.base.Status == Current:
		return o.base
	}
	return o.baseStatus(o.base.Message)
}

// statefulSet corrects kstatus, for which one with the strategy OnDelete is Current whatever its pods do.
func (o subject) statefulSet() Status {
	want, have := o.Count(1, "spec", "replicas"), o.Count(0, "status", "replicas")
	updated := o.Count(0, "status", "updatedReplicas")
	counts := cmp.Or(
		shortfall(have, want, "pods created"),
		shortfall(o.Count(0, "status", "readyReplicas"), want, "pods ready"),
		o.notAvailable(want),
	)
	switch {
	case counts != "":
		return o.status(InProgress, counts)
	case have > want:
		return o.status(InProgress, plural(have-want, "pod")+" to remove")
	case o.Text("spec", "updateStrategy", "type") == "OnDelete" && updated < want && o.revisionsDiffer():
		return o.baseStatus(shortfall(updated, want, "pods updated") + ", the others when they are deleted (OnDelete)")
	case o.base.Status != Current:
		target := max(want-o.Count(0, "spec", "updateStrategy", "rollingUpdate", "partition"), 0)
		return o.baseStatus(cmp.Or(shortfall(updated, target, "pods updated"), o.base.Message))
	case want == 0:
		return o.baseStatus("scaled to 0")
	}
	if reason := o.heldByPartition(); reason != "" {
		return o.baseStatus(reason)
	}
	return o.base
}

// heldByPartition returns how many pods of a StatefulSet its partition keeps at the revision before; empty if none.
func (o subject) heldByPartition() string {
	want, updated := o.Count(1, "spec", "replicas"), o.Count(0, "status", "updatedReplicas")
	if o.Count(0, "spec", "updateStrategy", "rollingUpdate", "partition") == 0 || !o.revisionsDiffer() {
		return ""
	}
	if short := shortfall(updated, want, "pods updated"); short != "" {
		return short + ", the others when its partition is lowered"
	}
	return ""
}

// notAvailable returns how many pods are available, if fewer than wanted: ready for minReadySeconds, which kstatus
// ignores.
func (o subject) notAvailable(want int64) string {
	available, reported := o.Number("status", "availableReplicas")
	if !reported && o.Count(0, "spec", "minReadySeconds") == 0 {
		return ""
	}
	return shortfall(available, want, "ready pods available")
}

func (o subject) revisionsDiffer() bool {
	return o.Text("status", "currentRevision") != o.Text("status", "updateRevision")
}

// daemonSet corrects kstatus, for which one with the strategy OnDelete and old pods is InProgress for ever.
func (o subject) daemonSet() Status {
	want, reported := o.Number("status", "desiredNumberScheduled")
	updated := o.Count(0, "status", "updatedNumberScheduled")
	updates := shortfall(updated, want, "pods updated")
	byHand := o.Text("spec", "updateStrategy", "type") == "OnDelete"
	counts := cmp.Or(
		shortfall(o.Count(0, "status", "currentNumberScheduled"), want, "pods created"),
		shortfall(o.Count(0, "status", "numberReady"), want, "pods ready"),
		shortfall(o.Count(0, "status", "numberAvailable"), want, "ready pods available"),
	)
	switch {
	case !reported || o.drift.State == NotReported:
		return o.status(InProgress, reasonUnseen)
	case !byHand && counts != "" && updates != "" && updated > 0:
		return o.status(InProgress, updates)
	case counts != "":
		return o.status(InProgress, counts)
	case byHand && updates != "":
		return o.status(Current, updates+", the others when they are deleted (OnDelete)")
	case updates != "":
		return o.status(InProgress, updates)
	case want == 0:
		return o.baseStatus("no node matches")
	}
	return o.baseStatus("")
}

// withSeparator returns text after separator, or "" if text is empty.
func withSeparator(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// job corrects kstatus, for which a running Job is Current.
func (o subject) job() Status {
	completed := fmt.Sprintf("%d of %d completed", o.Count(0, "status", "succeeded"), o.Count(1, "spec", "completions"))
	active, failed := o.Count(0, "status", "active"), o.Count(0, "status", "failed")
	progress := completed
	if active > 0 {
		progress += fmt.Sprintf(", %d active", active)
	}
	if failed > 0 {
		progress += fmt.Sprintf(", %d failed", failed)
	}
	failure, target := o.condition("Failed"), o.condition("FailureTarget")
	switch {
	case failure.Status == "True":
		return o.status(Failed, cmp.Or(failure.Reason, "failed")+withSeparator(": ", firstLine(failure.Message)))
	case o.condition("Complete").Status == "True":
		return o.status(Current, "completed")
	case target.Status == "True":
		return o.status(Failed, cmp.Or(target.Reason, "failed")+": its pods are being removed")
	case o.Flag("spec", "suspend") && active > 0:
		return o.status(InProgress, "being suspended, "+plural(active, "pod")+" to remove")
	case o.Flag("spec", "suspend"):
		return o.status(Suspended, "suspended")
	case o.Text("status", "startTime") == "":
		return o.status(InProgress, "not started")
	case o.condition("SuccessCriteriaMet").Status == "True":
		return o.status(InProgress, progress+", finishing")
	}
	return o.status(InProgress, progress)
}

// cronJob is Current whatever its Jobs do; kstatus does not know the suspended state.
func (o subject) cronJob() Status {
	active := int64(len(o.Maps("status", "active")))
	running := ""
	if active > 0 {
		running = plural(active, "job") + " active"
	}
	if o.Flag("spec", "suspend") {
		return o.status(Suspended, "suspended"+withSeparator(", ", running))
	}
	return o.baseStatus(running)
}

// horizontalPodAutoscaler corrects kstatus, which does not know the kind: one that cannot read its metrics or scale
// its target is not Current.
func (o subject) horizontalPodAutoscaler() Status {
	able, active := o.condition("AbleToScale"), o.condition("ScalingActive")
	current, desired := o.Count(0, "status", "currentReplicas"), o.Count(0, "status", "desiredReplicas")
	switch {
	case active.Status == "False" && active.Reason == "ScalingDisabled":
		return o.status(Suspended, "its target is scaled to 0")
	case able.Status == "False":
		return o.degradedBy(able)
	case active.Status == "False":
		return o.degradedBy(active)
	case able.Status == "" && o.drift.Observed == nil:
		return o.status(InProgress, "not evaluated yet")
	case current != desired:
		return o.status(InProgress, fmt.Sprintf("scaling from %d to %d", current, desired))
	case o.condition("ScalingLimited").Status == "True":
		return o.baseStatus("limited: " + o.condition("ScalingLimited").Reason)
	}
	return o.base
}

// degradedBy returns Degraded with the reason and message of a condition. For an autoscaler or budget: the pods keep
// running, but are not managed.
func (o subject) degradedBy(c Condition) Status {
	s := o.status(Degraded, reasonOf(c))
	s.Message = cmp.Or(c.Message, s.Message)
	return s
}

// podDisruptionBudget corrects kstatus, for which one is Current as soon as it was observed.
func (o subject) podDisruptionBudget() Status {
	healthy, want := o.Count(0, "status", "currentHealthy"), o.Count(0, "status", "desiredHealthy")
	allowed := o.condition("DisruptionAllowed")
	switch {
	case allowed.Status == "False" && allowed.Reason == "SyncFailed":
		return o.degradedBy(allowed)
	case o.drift.Observed == nil && allowed.Type == "":
		return o.status(InProgress, reasonUnseen)
	case o.Count(0, "status", "expectedPods") == 0:
		return o.baseStatus("no pod matches")
	case healthy < want:
		return o.status(Degraded, shortfall(healthy, want, "pods healthy"))
	case o.Count(0, "status", "disruptionsAllowed") == 0:
		return o.baseStatus("no disruption allowed")
	}
	return o.baseStatus("")
}
