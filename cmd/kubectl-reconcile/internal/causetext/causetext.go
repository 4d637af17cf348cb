// Package causetext says causes in words, so that `why` and `tree` say the same of them.
package causetext

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// sentences are what is said of each type of cause. %O is the object that shows it, %P its part with " of " after it,
// %D the detail with ": " before it, %d the detail alone, %R what it refers to, %r what refuses a write.
var sentences = map[inspect.CauseType]string{
	inspect.GenerationNotSeen:  "the controller of %O does not act on it%D",
	inspect.Paused:             "a user has paused %O%D",
	inspect.HeldByQueue:        "%R holds %O%D",
	inspect.HandedOver:         "%O is left to another controller than that of Kubernetes%D",
	inspect.ProgressDeadline:   "the rollout of %O exceeds its progress deadline%D",
	inspect.WaitsForDeletion:   "%O replaces pods only when they are deleted (OnDelete)%D",
	inspect.PodsNotReady:       "%O waits for its pods%D",
	inspect.PodsNotMade:        "%O waits for its controller%D",
	inspect.QuotaExceeded:      "%R refuses what %O creates%D",
	inspect.LimitRangeViolated: "a LimitRange refuses what %O creates%D",
	inspect.AdmissionDenied:    "%r refuses what the controller of %O writes%D",
	inspect.WebhookUnreachable: "%p does not answer, and so the controller of %O cannot write%D",
	inspect.AccessDenied:       "the controller of %O lacks a permission%D",
	inspect.WriteRefused:       "the API server refuses what %O writes%D",
	inspect.RefusedBefore:      "what %O creates was refused%D",
	inspect.NameTooLong:        "the name of %O is too long%D",
	inspect.MissingObject:      "%R does not exist, which %O needs",
	inspect.MissingKey:         "%R does not exist, which %P%O needs",
	inspect.MissingBefore:      "%R exists, which %O needs, and did not before%D",

	inspect.Unschedulable:        "no node fits %O%D",
	inspect.SchedulingGated:      "%O is not scheduled because of its scheduling gates%D",
	inspect.NotScheduled:         "%O has no node%D",
	inspect.ImagePull:            "%P%O cannot pull its image%D",
	inspect.ContainerNotStarted:  "%P%O cannot be started%D",
	inspect.ContainerExits:       "%P%O exits%D",
	inspect.OutOfMemory:          "%P%O is killed because it uses too much memory%D",
	inspect.LivenessProbe:        "%P%O is restarted because its liveness probe fails%D",
	inspect.StartupProbe:         "%P%O does not pass its startup probe%D",
	inspect.ReadinessProbe:       "%P%O does not pass its readiness probe%D",
	inspect.ReadinessGate:        "%O is %d, which another component sets",
	inspect.InitContainerRunning: "%P%O has not ended%D",
	inspect.VolumeNotMounted:     "a volume of %O cannot be mounted%D",
	inspect.VolumeNotAttached:    "a volume of %O is not attached%D",
	inspect.SandboxFailed:        "the network or sandbox of %O cannot be set up%D",
	inspect.PodFailed:            "%O has failed%D",
	inspect.ContainerRunsOn:      "%P%O runs on, and so it does not end%D",
	inspect.PodStarting:          "%O starts%D",

	inspect.VolumeNotBound:     "%O is bound to no volume%D",
	inspect.VolumeLost:         "%O has lost its volume%D",
	inspect.VolumeReleased:     "%O is kept, and still refers to %R, which is gone%D",
	inspect.ProvisioningFailed: "no volume can be provided for %O%D",
	inspect.WaitsForConsumer:   "%O is bound when a pod that uses it is scheduled%D",
	inspect.ResizeFailed:       "the volume of %O cannot be changed%D",

	inspect.NodeNotReady: "%O is not ready%D",
	inspect.NodePressure: "%O lacks a resource%D",

	inspect.BackoffLimit:     "%O has failed as often as its backoff limit allows%D",
	inspect.JobDeadline:      "%O has run longer than it may (activeDeadlineSeconds)%D",
	inspect.PodFailurePolicy: "the pod failure policy of %O ends it%D",
	inspect.BadSchedule:      "the schedule of %O cannot be read%D",
	inspect.BadTimeZone:      "the time zone of %O is not known%D",
	inspect.ScheduleMissed:   "%O has missed a scheduled time%D",
	inspect.JobStillActive:   "%O starts no Job because of its concurrency policy%D",

	inspect.MetricsUnavailable: "%O cannot read its metrics%D",
	inspect.ScaleTarget:        "%O cannot read or scale its target%D",
	inspect.AtLimit:            "%O is at its limit%D",
	inspect.EvictionBlocked:    "%R allows no eviction%D",
	inspect.NoAddress:          "%O has no address%D",
	inspect.APIUnavailable:     "a part of the API does not answer%D",

	inspect.Finalizer:        "the finalizer %d of %O has not been removed",
	inspect.NamespaceContent: "%O still has content%D",

	inspect.ConditionFailed: "%P%O reports%D",
	inspect.StateFailed:     "%O reports%D",
	inspect.WarningReported: "a Warning is reported about %O%D",
	inspect.InProgressState: "%O is being worked on%D",
	inspect.NoStatus:        "no controller has written the status of %O: it does not run, or the kind has none",
	inspect.FieldFight:      "the spec of %O is changed again and again%D",
	inspect.MadeAgain:       "a webhook or policy changes each ReplicaSet that %O makes%D",

	diagnosis.DanglingOwner:    "the garbage collector deletes %O%D",
	diagnosis.NoPodSelected:    "the selector of %O matches no pod%D",
	diagnosis.NoEndpoints:      "%O has no endpoints%D",
	diagnosis.PortMissing:      "%P%O leads to a port that does not exist%D",
	diagnosis.DependentsRemain: "%O is deleted when its dependents have gone%D",
	diagnosis.PodNotStopped:    "%O does not end%D",
	diagnosis.Rewritten:        "%O is written all the time%D",
	diagnosis.Stuck:            "%O is stuck, because its controller would change nothing%D",
	diagnosis.OldRevision: "%O has an older revision of the template, and is not replaced before it becomes ready, " +
		"which it does not%D",
}

// Sentence says a cause of an object in words. The object is named as the caller names objects: "Pod/web-0".
func Sentence(c *inspect.Cause, object string) string {
	part := ""
	if c.Part != "" {
		part = c.Part + " of "
	}
	return fill(template(c), c, object, part)
}

// Short says a cause where it is plain of which object: beside that object in a table. Details are left out if another
// object or a webhook is named that has them.
func Short(c *inspect.Cause) string {
	text := strings.ReplaceAll(template(c), "the controller of %O", "its controller")
	if c.Refers != nil && strings.Contains(text, "%R") || c.Part != "" && strings.Contains(text, "%p") {
		text = strings.ReplaceAll(text, "%D", "")
	}
	if c.Part != "" && strings.Contains(text, "%P%O") {
		return fill(text, c, "", c.Part)
	}
	return fill(text, c, "it", "")
}

// fill replaces the placeholders in a template.
func fill(text string, c *inspect.Cause, object, part string) string {
	detail, refers := "", ""
	refuses := cmp.Or(c.Part, "admission")
	if c.Detail != "" && c.Type != inspect.MissingObject {
		detail = ": " + c.Detail
	}
	if c.Refers != nil {
		refers = Reference(c.Refers)
		if c.Part == "" {
			refuses = refers
		}
	}
	return strings.NewReplacer(
		"%O", object, "%P", part, "%p", cmp.Or(c.Part, "an admission webhook"),
		"%D", detail, "%d", c.Detail, "%R", refers, "%r", refuses,
	).Replace(text)
}

// template is what is said of a cause, with the placeholders of sentences.
func template(c *inspect.Cause) string {
	text, ok := sentences[c.Type]
	switch {
	case !ok:
		return "%O%D"
	case c.Type == inspect.EvictionBlocked && c.Refers == nil:
		return "%O allows no eviction%D"
	case c.Type == inspect.Paused && c.Refers == nil && !pausedByField(c):
		return "%O reports that it is suspended%D"
	case c.Type == inspect.GenerationNotSeen && c.Certainty == inspect.Possible: // it has had little time
		return "the controller of %O has not acted on it yet%D"
	}
	return text
}

// pausedByField reports whether a field that users set pauses the object.
func pausedByField(c *inspect.Cause) bool {
	return slices.ContainsFunc(c.Evidence, func(e inspect.Evidence) bool {
		return e.Source == inspect.FromField && e.Name != "status"
	})
}

// Reference names an object that need not exist: "Secret/tls", "key ca.crt of Secret/tls".
func Reference(r *inspect.Reference) string {
	if r.Key != "" {
		return "key " + r.Key + " of " + r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Name
}
