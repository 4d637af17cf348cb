package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// ChangeWaits is at the end of the detail of Paused if pods are of an older template than the one that is wanted.
const ChangeWaits = ", and its pods are of an older template"

func (f *causeFinder) deploymentCauses() {
	progressing, failure := f.condition("Progressing"), f.condition("ReplicaFailure")
	want := f.Count(1, "spec", "replicas")
	pending := f.Count(0, "status", "updatedReplicas") < want
	if f.Flag("spec", "paused") {
		weight := Specific
		if f.report.Status.Status == InProgress && !pending {
			weight = General // that it is paused does not keep its pods from becoming ready
		}
		c := Cause{Type: Paused, Certainty: Certain, Weight: weight, Detail: "the rollout is paused"}
		if pending && f.Count(0, "status", "replicas") > 0 {
			c.Detail += ChangeWaits
		}
		c.evident("spec.paused", "true", nil)
		if progressing.Reason == "DeploymentPaused" {
			c.Evidence = append(c.Evidence, conditionEvidence(progressing))
		}
		f.add(c)
	}
	if !f.report.NotReady() {
		return
	}
	if failure.Status == "True" {
		f.refused(failure)
	}
	switch {
	case progressing.Reason == "ProgressDeadlineExceeded":
		c := Cause{
			Type: ProgressDeadline, Certainty: Certain, Weight: Symptom, Since: progressing.Since,
			Detail:   "no progress for over " + plural(f.Count(600, "spec", "progressDeadlineSeconds"), "second"),
			Evidence: []Evidence{conditionEvidence(progressing)},
		}
		f.add(c)
	case progressing.Status == "False" && progressing.Reason != "DeploymentPaused":
		f.refused(progressing)
	}
	f.counts()
}

// replicaSetCauses is for ReplicaSets and ReplicationControllers.
func (f *causeFinder) replicaSetCauses() {
	if !f.report.NotReady() {
		return
	}
	failure := f.condition("ReplicaFailure")
	if failure.Status == "True" || f.Count(0, "status", "replicas") < f.Count(1, "spec", "replicas") {
		if failure.Status != "True" {
			failure = Condition{}
		}
		f.refused(failure, "FailedCreate", "FailedDelete")
	}
	f.counts()
}

func (f *causeFinder) statefulSetCauses() {
	want, updated := f.Count(1, "spec", "replicas"), f.Count(0, "status", "updatedReplicas")
	if f.Text("spec", "updateStrategy", "type") == "OnDelete" && updated < want && f.revisionsDiffer() &&
		f.report.Status.Status != Terminating {
		f.waitsForDeletion(shortfall(updated, want, "pods updated"))
	}
	if reason := f.heldByPartition(); reason != "" && f.report.Current() {
		c := Cause{Type: Paused, Certainty: Certain, Weight: General, Detail: reason}
		partition := f.Count(0, "spec", "updateStrategy", "rollingUpdate", "partition")
		c.evident("spec.updateStrategy.rollingUpdate.partition", fmt.Sprint(partition), nil)
		f.add(c)
	}
	if !f.report.NotReady() {
		return
	}
	if f.Count(0, "status", "replicas") < want {
		f.refused(Condition{}, "FailedCreate", "ConflictingController")
	}
	f.counts()
}

func (f *causeFinder) waitsForDeletion(detail string) {
	c := Cause{Type: WaitsForDeletion, Certainty: Certain, Weight: Specific, Detail: detail}
	c.evident("spec.updateStrategy.type", "OnDelete", nil)
	f.add(c)
}

func (f *causeFinder) daemonSetCauses() {
	want, updated := f.Count(0, "status", "desiredNumberScheduled"), f.Count(0, "status", "updatedNumberScheduled")
	if f.Text("spec", "updateStrategy", "type") == "OnDelete" && updated < want && f.report.Current() {
		f.waitsForDeletion(shortfall(updated, want, "pods updated"))
	}
	if !f.report.NotReady() {
		return
	}
	if f.Count(0, "status", "currentNumberScheduled") < want {
		f.refused(Condition{}, "FailedCreate", "FailedDaemonPod")
	}
	f.counts()
}

func (f *causeFinder) jobCauses() {
	if f.report.Status.Status == Suspended || f.Flag("spec", "suspend") && f.report.NotReady() {
		f.paused("spec.suspend")
		return
	}
	if !f.report.NotReady() {
		return
	}
	if most, set := f.Number("spec", "parallelism"); set && most == 0 {
		const detail = "no pod may run, as its parallelism is 0"
		c := Cause{Type: Paused, Certainty: Certain, Weight: Specific, Detail: detail}
		c.evident("spec.parallelism", "0", nil)
		f.add(c)
	}
	failed := f.condition("Failed")
	if failed.Status != "True" {
		failed = f.condition("FailureTarget")
	}
	if failed.Status == "True" {
		c := Cause{
			Type: WriteRefused, Certainty: Certain, Weight: General, Detail: reasonOf(failed),
			Evidence: []Evidence{conditionEvidence(failed)}, Since: failed.Since,
		}
		switch failed.Reason {
		case "DeadlineExceeded":
			c.Type, c.Weight = JobDeadline, Specific
			c.Detail = "longer than " + plural(f.Count(0, "spec", "activeDeadlineSeconds"), "second")
		case "BackoffLimitExceeded", "MaxFailedIndexesExceeded", "FailedIndexes":
			c.Type, c.Detail = BackoffLimit, fmt.Sprintf("%s failed", plural(f.Count(0, "status", "failed"), "pod"))
		case "PodFailurePolicy":
			c.Type, c.Weight, c.Detail = PodFailurePolicy, Specific, firstLine(failed.Message)
		default:
			c.Type = ConditionFailed
		}
		f.add(c)
		return
	}
	if by := f.Text("spec", "managedBy"); by != "" && by != batchv1.JobControllerName {
		f.handedOver("spec.managedBy", by)
		return
	}
	f.refused(Condition{}, "FailedCreate")
	f.counts()
}

// cronJobCauses goes by Events: but for its last times, a CronJob has no status.
func (f *causeFinder) cronJobCauses() {
	if f.report.Status.Status == Suspended {
		f.paused("spec.suspend")
		return
	}
	for _, known := range []struct {
		cause   CauseType
		reasons []string
	}{
		{BadTimeZone, []string{"UnknownTimeZone"}},
		{BadSchedule, []string{"UnparseableSchedule", "InvalidSchedule", "UnParseableCronJobSchedule"}},
		{ScheduleMissed, []string{"MissSchedule", "TooManyMissedTimes"}},
	} {
		e, ok := f.events.with("", known.reasons...)
		if !ok || f.startedSince(e) {
			continue
		}
		f.add(Cause{
			Type: known.cause, Certainty: Certain, Weight: Specific, Detail: firstLine(e.text()),
			Evidence: []Evidence{e.evidence()},
		})
	}
	if e, ok := f.events.with("", "JobAlreadyActive"); ok && len(f.Maps("status", "active")) > 0 && !f.startedSince(e) {
		var names []string
		for _, j := range f.Maps("status", "active") {
			names = append(names, j.Text("name"))
		}
		f.add(Cause{
			Type: JobStillActive, Certainty: Certain, Weight: General,
			Detail: strings.Join(names, ", ") + " still runs", Evidence: []Evidence{e.evidence()},
		})
	}
	if e, ok := f.events.with("", "FailedCreate"); ok && !f.startedSince(e) {
		f.refused(Condition{}, "FailedCreate")
	}
}

// startedSince reports whether a Job was started, or the spec was changed, after the Event.
func (f *causeFinder) startedSince(e Event) bool {
	if e.Last.IsZero() {
		return false
	}
	last, _ := f.Time("status", "lastScheduleTime")
	for _, m := range fields.Writers(f.obj) {
		if m.Subresource == "" && m.Time != nil && m.Time.After(e.Last.Time) {
			return true
		}
	}
	return last != nil && last.After(e.Last.Time)
}

func (f *causeFinder) autoscalerCauses() {
	able, active, limited := f.condition("AbleToScale"), f.condition("ScalingActive"), f.condition("ScalingLimited")
	by := func(t CauseType, c Condition, detail string) Cause {
		return Cause{
			Type: t, Certainty: Certain, Weight: Specific, Detail: detail,
			Evidence: []Evidence{conditionEvidence(c)}, Since: c.Since,
		}
	}
	var c Cause
	switch {
	case active.Status == "False" && active.Reason == "ScalingDisabled":
		c = by(Paused, active, f.report.Reason)
		c.Refers = &Reference{
			Group: schema.FromAPIVersionAndKind(f.Text("spec", "scaleTargetRef", "apiVersion"), "").Group,
			Kind:  f.Text("spec", "scaleTargetRef", "kind"), Namespace: f.Text("metadata", "namespace"),
			Name: f.Text("spec", "scaleTargetRef", "name"),
		}
	case able.Status == "False":
		c = by(ScaleTarget, able, reasonOf(able))
	case active.Status == "False" && strings.HasPrefix(active.Reason, "Failed"):
		c = by(MetricsUnavailable, active, reasonOf(active))
	case active.Status == "False":
		c = by(ScaleTarget, active, reasonOf(active))
	case limited.Status == "True" && limited.Reason == "TooManyReplicas":
		most := plural(f.Count(0, "spec", "maxReplicas"), "replica")
		f.add(by(AtLimit, limited, "it needs more than its maximum of "+most))
		return
	default:
		f.counts()
		return
	}
	for _, e := range f.events { // pkg/controller/podautoscaler/horizontal.go
		if e.Type == "Warning" && strings.HasPrefix(e.Reason, "Failed") {
			c.Evidence = append(c.Evidence, e.evidence())
			break
		}
	}
	f.add(c)
}

// budgetCauses: that no disruption is allowed is as the spec requests, unless too few pods are healthy.
func (f *causeFinder) budgetCauses() {
	if !f.report.NotReady() {
		return
	}
	if c := f.condition("DisruptionAllowed"); c.Status == "False" && c.Reason == "SyncFailed" {
		f.add(Cause{
			Type: ConditionFailed, Certainty: Certain, Weight: General, Part: "condition " + c.Type,
			Detail: reasonOf(c), Evidence: []Evidence{conditionEvidence(c)}, Since: c.Since,
		})
		return
	}
	c := Cause{Type: EvictionBlocked, Certainty: Certain, Weight: General, Detail: f.report.Reason}
	c.evident("status.disruptionsAllowed", fmt.Sprint(f.Count(0, "status", "disruptionsAllowed")), nil)
	f.add(c)
}

func (f *causeFinder) serviceCauses() {
	if f.report.Status.Status != InProgress || f.Text("spec", "type") != "LoadBalancer" {
		return
	}
	c := Cause{Type: NoAddress, Certainty: Certain, Weight: General, Detail: f.report.Reason}
	c.evident("status.loadBalancer.ingress", "empty", nil)
	e, ok := f.events.with("", "SyncLoadBalancerFailed", "CreatingLoadBalancerFailed", "AllocationFailed")
	class := f.Text("spec", "loadBalancerClass")
	switch {
	case ok:
		c.Weight, c.Detail = Specific, firstLine(e.text())
		c.Evidence = append(c.Evidence, e.evidence())
	case class != "":
		f.handedOver("spec.loadBalancerClass", class)
		return
	}
	f.add(c)
}

func (f *causeFinder) ingressCauses() {
	if f.report.Status.Status != InProgress {
		return
	}
	c := Cause{Type: NoAddress, Certainty: Certain, Weight: General, Detail: f.report.Reason}
	c.evident("status.loadBalancer.ingress", "empty", nil)
	f.add(c)
	f.warnings()
}

func (f *causeFinder) nodeCauses() {
	ready := f.condition("Ready")
	if ready.Status != "True" {
		c := Cause{
			Type: NodeNotReady, Certainty: Certain, Weight: Specific,
			Detail: cmp.Or(firstLine(ready.Message), ready.Reason, f.report.Reason),
		}
		if ready.Status != "" {
			c.Evidence, c.Since = []Evidence{conditionEvidence(ready)}, ready.Since
		}
		f.add(c)
	} else if f.report.Reason == notInitialized {
		c := Cause{Type: NodeNotReady, Certainty: Certain, Weight: Specific, Detail: notInitialized}
		c.evident("spec.taints", uninitializedTaint, nil)
		f.add(c)
	}
	for _, c := range f.conditions {
		if c.Type != "Ready" && c.Bad {
			f.add(Cause{
				Type: NodePressure, Certainty: Certain, Weight: General, Part: "condition " + c.Type,
				Detail: reasonOf(c), Evidence: []Evidence{conditionEvidence(c)}, Since: c.Since,
			})
		}
	}
	if f.report.Status.Status == Suspended {
		f.paused("spec.unschedulable")
	}
}

// namespaceCauses goes by the conditions with which the namespace controller explains what is left.
func (f *causeFinder) namespaceCauses() {
	if f.report.Status.Status != Terminating {
		return
	}
	for _, known := range []struct {
		condition string
		cause     CauseType
		weight    Weight
	}{
		{"NamespaceDeletionDiscoveryFailure", APIUnavailable, Specific},
		{"NamespaceDeletionGroupVersionParsingFailure", APIUnavailable, Specific},
		{"NamespaceDeletionContentFailure", NamespaceContent, General},
		{"NamespaceFinalizersRemaining", NamespaceContent, General},
		{"NamespaceContentRemaining", NamespaceContent, Symptom},
	} {
		c := f.condition(known.condition)
		found := slices.ContainsFunc(f.found, func(other Cause) bool { return other.Type == known.cause })
		if c.Status != "True" || found {
			continue
		}
		cause := Cause{
			Type: known.cause, Weight: known.weight,
			Detail: cmp.Or(shortDiscoveryFailure(firstLine(c.Message)), reasonOf(c)),
		}
		if refused := f.refusal(c.Message); refused.Type != "" && known.weight == General {
			cause = refused // what is in it cannot be read or deleted
		}
		cause.Certainty, cause.Since, cause.Evidence = Certain, c.Since, []Evidence{conditionEvidence(c)}
		f.add(cause)
	}
	for _, name := range f.Strings("spec", "finalizers") {
		if name == "kubernetes" {
			continue // the namespace controller removes it when nothing is left
		}
		c := Cause{
			Type: Finalizer, Certainty: Certain, Weight: Specific, Detail: name,
			Since: deletionRequested(f.Map),
		}
		c.evident("spec.finalizers", name, c.Since)
		f.add(c)
	}
	if len(f.found) == 0 {
		f.add(Cause{Type: NamespaceContent, Certainty: Likely, Weight: Symptom, Detail: f.report.Reason})
	}
}

func (f *causeFinder) apiServiceCauses() {
	if available := f.condition("Available"); available.Status == "False" || available.Status == "Unknown" {
		f.add(Cause{
			Type: APIUnavailable, Certainty: Certain, Weight: Specific, Detail: reasonOf(available),
			Evidence: []Evidence{conditionEvidence(available)}, Since: available.Since,
		})
	}
}
