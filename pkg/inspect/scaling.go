package inspect

import (
	"cmp"
	"fmt"
)

// horizontalPodAutoscaler corrects kstatus, which does not know the kind: one that cannot read its metrics, or scale its
// target, is not current.
func (o subject) horizontalPodAutoscaler() Status {
	able, active := o.condition("AbleToScale"), o.condition("ScalingActive")
	current, desired := o.count(0, "status", "currentReplicas"), o.count(0, "status", "desiredReplicas")
	switch {
	case active.Status == "False" && active.Reason == "ScalingDisabled":
		return o.is(Suspended, "its target is scaled to 0")
	case able.Status == "False":
		return o.failing(able)
	case active.Status == "False":
		return o.failing(active)
	case able.Status == "" && o.drift.Observed == nil:
		return o.is(InProgress, "not judged yet")
	case current != desired:
		return o.is(InProgress, fmt.Sprintf("scaling from %d to %d", current, desired))
	case o.condition("ScalingLimited").Status == "True":
		return o.because("limited: " + o.condition("ScalingLimited").Reason)
	}
	return o.base
}

// failing is Degraded by a condition: what the object looks after runs on, but it is not looked after.
func (o subject) failing(c Condition) Status {
	s := o.is(Degraded, reasonOf(c))
	s.Message = cmp.Or(c.Message, s.Message)
	return s
}

// podDisruptionBudget corrects kstatus, which takes one for current as soon as it was observed.
func (o subject) podDisruptionBudget() Status {
	healthy, want := o.count(0, "status", "currentHealthy"), o.count(0, "status", "desiredHealthy")
	allowed := o.condition("DisruptionAllowed")
	switch {
	case o.drift.Observed == nil:
		return o.is(InProgress, unseen)
	case allowed.Status == "False" && allowed.Reason == "SyncFailed":
		return o.failing(allowed)
	case o.count(0, "status", "expectedPods") == 0:
		return o.because("no pod matches")
	case healthy < want:
		return o.is(Degraded, short(healthy, want, "pods healthy"))
	case o.count(0, "status", "disruptionsAllowed") == 0:
		return o.because("no disruption allowed")
	}
	return o.because("")
}
