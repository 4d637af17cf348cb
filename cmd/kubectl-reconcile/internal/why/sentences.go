package why

import (
	"fmt"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// sentences are what is said of each type of cause. %O is the object that shows it, %P its part with "of " after it,
// %D the detail with ": " before it, %d the detail alone, %R what it refers to.
var sentences = map[inspect.CauseType]string{
	inspect.GenerationNotSeen:  "the controller of %O does not act on it%D",
	inspect.Paused:             "%O is paused by its user%D",
	inspect.ProgressDeadline:   "the rollout of %O exceeds its progress deadline%D",
	inspect.WaitsForDeletion:   "%O replaces pods only when they are deleted (OnDelete)%D",
	inspect.PodsNotReady:       "%O waits for its pods%D",
	inspect.QuotaExceeded:      "%R refuses what %O creates%D",
	inspect.LimitRangeViolated: "a LimitRange refuses what %O creates%D",
	inspect.AdmissionDenied:    "admission refuses what %O writes%D",
	inspect.WebhookUnreachable: "an admission webhook does not answer, and so %O cannot write%D",
	inspect.AccessDenied:       "the controller of %O lacks a permission%D",
	inspect.WriteRefused:       "the API server refuses what %O writes%D",
	inspect.MissingObject:      "%R does not exist, which %O needs",
	inspect.MissingKey:         "%R does not exist, which %P%O needs",

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
	inspect.VolumeNotAttached:    "a volume cannot be attached for %O%D",
	inspect.SandboxFailed:        "the network or sandbox of %O cannot be set up%D",
	inspect.PodFailed:            "%O has failed%D",
	inspect.PodStarting:          "%O starts%D",

	inspect.VolumeNotBound:     "%O is bound to no volume%D",
	inspect.VolumeLost:         "%O has lost its volume%D",
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
	inspect.InProgressState: "%O is being worked on%D",
	inspect.NoStatus:        "no controller has written the status of %O: it does not run, or the kind has none",
	inspect.FieldFight:      "the spec of %O is changed again and again%D",

	diagnosis.DanglingOwner:    "the garbage collector deletes %O%D",
	diagnosis.NoPodSelected:    "the selector of %O matches no pod%D",
	diagnosis.NoEndpoints:      "%O has no endpoints%D",
	diagnosis.PortMissing:      "%P%O leads to a port that does not exist%D",
	diagnosis.DependentsRemain: "%O is deleted when its dependents have gone%D",
	diagnosis.PodNotStopped:    "%O does not end%D",
}

// sentence says a cause in words.
func (v *view) sentence(c *diagnosis.Cause) string {
	text, ok := sentences[c.Type]
	if !ok {
		text = "%O%D"
	}
	switch {
	case c.Type == inspect.EvictionBlocked && c.Refers == nil:
		text = "%O allows no eviction%D"
	case c.Type == inspect.GenerationNotSeen && c.Certainty == inspect.Possible: // it has had little time
		text = "the controller of %O has not acted on it yet%D"
	}
	part, detail, refers := "", "", ""
	if c.Part != "" {
		part = c.Part + " of "
	}
	if c.Detail != "" && c.Type != inspect.MissingObject {
		detail = ": " + c.Detail
	}
	if c.Refers != nil {
		refers = referenceLabel(c.Refers)
	}
	return strings.NewReplacer(
		"%O", v.label(c.Node()), "%P", part, "%D", detail, "%d", c.Detail, "%R", refers,
	).Replace(text)
}

// referenceLabel names an object that need not exist: "Secret/tls", "key ca.crt of Secret/tls".
func referenceLabel(r *inspect.Reference) string {
	if r.Key != "" {
		return "key " + r.Key + " of " + r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Name
}

// label names an object.
func (v *view) label(n *ownertree.Node) string {
	name := n.Kind.Kind + "/" + n.Name
	if n.Namespace != "" && n.Namespace != v.namespace {
		name += " of namespace " + n.Namespace
	}
	return name
}

// headline says in one sentence how the object is.
func (v *view) headline() string {
	d := v.diagnosis
	name := d.Asked.Kind.Kind + " " + d.Asked.Name
	since := ""
	if age := v.age(d.Since); age != "" {
		since = " for " + age
	}
	reason := ""
	if d.Facts.Reason != "" {
		reason = ": " + d.Facts.Reason
	}
	switch {
	case d.Converged && d.Facts.Ready != "":
		return fmt.Sprintf("%s is as its spec requests (%s ready); nothing is wrong with it", name, d.Facts.Ready)
	case d.Converged:
		return name + " is as its spec requests; nothing is wrong with it"
	case d.Status == treestatus.Dangling:
		return name + " is about to be deleted by the garbage collector"
	case d.Status == inspect.Terminating:
		return name + " is being deleted" + since + reason
	case d.Status == inspect.Suspended:
		return name + " is suspended" + since + reason
	case d.Status == inspect.Failed:
		return name + " has failed" + since + reason
	case d.Status == inspect.Current && len(d.Causes) > 0 && d.Facts.Reason == "":
		return name + " reports nothing wrong, but does not work"
	case d.Status == inspect.Current:
		return name + " is as its spec requests" + reason
	case d.Status == inspect.Degraded:
		return name + " is degraded" + since + reason
	}
	return name + " has not converged" + since + reason
}

// certaintyText says how sure a cause is.
func certaintyText(c inspect.Certainty) string {
	switch c {
	case inspect.Certain:
		return "certain"
	case inspect.Likely:
		return "likely"
	case inspect.Possible:
	}
	return "possible"
}

// evidenceText describes one thing that shows a cause.
func (v *view) evidenceText(e inspect.Evidence) string {
	source := map[inspect.EvidenceSource]string{
		inspect.FromField: "field ", inspect.FromCondition: "condition ", inspect.FromEvent: "event ",
		inspect.FromLease: "lease ", inspect.FromWriter: "manager ", inspect.FromController: "controller ",
	}[e.Source]
	var more []string
	if e.Count > 1 {
		more = append(more, cli.Plural(int(e.Count), "time"))
	}
	if age := v.age(e.Time); age != "" {
		if e.Source == inspect.FromCondition {
			more = append(more, "for "+age)
		} else {
			more = append(more, age+" ago")
		}
	}
	if e.By != "" {
		more = append(more, "by "+e.By)
	}
	text := source + e.Name
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}
