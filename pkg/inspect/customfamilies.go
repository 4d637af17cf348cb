package inspect

import (
	"slices"
	"strings"
)

// hasEmptyStatus reports whether no controller has written a status to an object that asks for something: there is none, or it
// has only empty fields, or conditions without an entry and a generation. A negative generation is the default of a
// definition, as Flux has it. The kinds that the API server itself serves are not meant: they have rules, or nothing to
// report.
func (o subject) hasEmptyStatus() bool {
	if isBuiltInGroup(o.group) || kindHasNoStatus(o.group, o.kind) || o.sub("spec") == nil {
		return false
	}
	status, isMap := o.at("status").(map[string]any)
	if !isMap {
		return o.at("status") == nil
	}
	_, hasConditions := status["conditions"]
	for field, value := range status {
		if field == "observedGeneration" {
			n, isNumber := whole(value)
			if hasConditions || isNumber && n <= 0 {
				continue
			}
		}
		if !isBlank(value) {
			return false
		}
	}
	return true
}

// kindHasNoStatus knows kinds that are often met and for which nothing writes a status, or only what uses the object:
// they are read by a controller that watches over something else.
func kindHasNoStatus(group, kind string) bool {
	switch group {
	case "networking.istio.io", "security.istio.io", "telemetry.istio.io", "traefik.io", "monitoring.coreos.com":
		return kind != "Prometheus" && kind != "Alertmanager" && kind != "ThanosRuler" && kind != "PrometheusAgent"
	}
	if strings.HasSuffix(kind, "ProviderConfig") {
		return strings.HasSuffix(group, "crossplane.io") || strings.HasSuffix(group, "upbound.io")
	}
	switch kind + "." + group {
	case "ClusterTriggerAuthentication.keda.sh", "TriggerAuthentication.keda.sh":
		return true
	case "AppProject.argoproj.io", "WorkflowTemplate.argoproj.io", "ClusterWorkflowTemplate.argoproj.io",
		"Alert.notification.toolkit.fluxcd.io", "Provider.notification.toolkit.fluxcd.io", "ReferenceGrant.gateway.networking.k8s.io",
		"NetworkAttachmentDefinition.k8s.cni.cncf.io", "SecretProviderClass.secrets-store.csi.x-k8s.io":
		return true
	}
	return false
}

// pausedByUser returns how the user has put the object to rest, by a field or an annotation that is usual in several families;
// it is empty if the object is not to rest.
func (o subject) pausedByUser() string {
	if isBuiltInGroup(o.group) {
		return ""
	}
	for _, field := range []struct{ name, word string }{
		{"suspend", "suspended"}, {"suspended", "suspended"}, {"paused", "paused"}, {"pause", "paused"},
		{"hibernate", "hibernated"}, {"hibernated", "hibernated"},
	} {
		if o.flag("spec", field.name) {
			return field.word
		}
	}
	switch {
	case o.flag("spec", "hibernation", "enabled"):
		return "hibernated"
	case o.group == "kubevirt.io" && !o.isToRun() && o.text("status", "printableStatus") == "Stopped":
		return "stopped"
	case o.group == "kueue.x-k8s.io" && o.kind == "Workload" && o.at("spec", "active") == false:
		return "not active"
	}
	return pausedByMetadata(o.sub("metadata", "annotations"), o.sub("metadata", "labels"))
}

// isToRun reports whether a machine of KubeVirt is to run at any time.
func (o subject) isToRun() bool {
	return o.text("spec", "runStrategy") == "Always" || o.flag("spec", "running")
}

// pauseMarkers are the annotations by which users have controllers leave an object alone.
var pauseMarkers = []struct{ name, value, word string }{ // a value that begins with ! is the one that does not
	{"crossplane.io/paused", "!false", "paused"},
	{"cluster.x-k8s.io/paused", "!false", "paused"},
	{"cnpg.io/hibernation", "on", "hibernated"},
	{"autoscaling.keda.sh/paused", "true", "paused"},
	{"autoscaling.keda.sh/paused-replicas", "!", "paused"},
	{"strimzi.io/pause-reconciliation", "true", "paused"},
	{"eck.k8s.elastic.co/managed", "false", "not managed"},
	{"serviceoperator.azure.com/reconcile-policy", "skip", "not managed"},
	{"rabbitmq.com/pauseReconciliation", "true", "paused"}, // a label
}

// pausedByMetadata returns the word of the first of the marks that is there.
func pausedByMetadata(annotations, labels values) string {
	for _, mark := range pauseMarkers {
		value, there := annotations[mark.name].(string)
		if !there {
			value, there = labels[mark.name].(string)
		}
		other, negated := strings.CutPrefix(mark.value, "!")
		if there && (value == mark.value || negated && value != other) {
			return mark.word
		}
	}
	return ""
}

// suspendedReason is the condition by which the object rests, as a reason; it is empty if there is none.
func (o subject) suspendedReason() string {
	for _, c := range o.conditions {
		words := wordsOf(c.Reason)
		switch {
		case c.nested() || c.Drift == Behind || c.Polarity == Negative:
		case c.Status == "True" && suspendedConditions[c.Type]:
			return reasonOf(c)
		case c.Status != "True" && !c.Bad && len(words) > 0 && suspendedReasonWords[words[len(words)-1]] && words[0] != "Not",
			c.Type == "Ready" && c.Reason == "Stopped":
			return reasonOf(c)
		}
	}
	return ""
}

// suspendedConditions are conditions that are True of an object that rests, restingWords the last words of the reasons of
// others that are not True for that: RolloutPaused.
var (
	suspendedConditions  = wordSet("Paused Suspended Hibernated ReconciliationPaused Stopped cnpg.io/hibernation")
	suspendedReasonWords = wordSet("Hibernated Paused Suspended")
)

// isFalseWhileWaiting reports whether the condition is one that is False until the object has got somewhere, and means no failure:
// by aws-controllers-k8s/runtime pkg/condition, kubernetes-sigs/kueue apis/kueue/v1beta2/workload_types.go.
func (o subject) isFalseWhileWaiting(c Condition) bool {
	switch c.Type {
	case "ACK.ResourceSynced":
		return strings.HasSuffix(o.group, "services.k8s.aws")
	case "Admitted", "QuotaReserved":
		return o.group == "kueue.x-k8s.io" && o.kind == "Workload"
	}
	return false
}

// runsToCompletion reports whether objects of a kind of this name run to an end, so that Running is not where they are to
// be.
func runsToCompletion(kind string) bool {
	for _, always := range []string{"Cron", "Scaled", "Scheduled"} { // CronJob, ScaledJob, ScheduledBackup
		if strings.Contains(kind, always) {
			return false
		}
	}
	return slices.ContainsFunc([]string{
		"Workflow", "Job", "JobSet", "Run", "Backup", "Restore", "Task", "Test", "Build", "Migration", "Experiment",
	}, func(end string) bool { return strings.HasSuffix(kind, end) })
}

// isUnfinishedRun reports whether the object is one that runs to an end, of a family that has a condition for each end, and has
// none of them yet.
func (o subject) isUnfinishedRun() bool {
	return (o.group == "jobset.x-k8s.io" || o.group == "kubeflow.org") && runsToCompletion(o.kind) &&
		!slices.ContainsFunc(o.conditions, func(c Condition) bool {
			return c.Status == "True" && (c.isResult() || c.Type == "Failed" || c.Type == "Suspended")
		})
}

// isBuiltInGroup reports whether a group is one that the API server itself serves.
func isBuiltInGroup(group string) bool {
	switch group {
	case "", "apps", "autoscaling", "batch", "extensions", "policy":
		return true
	}
	name, ok := strings.CutSuffix(group, ".k8s.io")
	switch name {
	case "admissionregistration", "apiextensions", "apiregistration", "authentication", "authorization", "certificates",
		"coordination", "discovery", "events", "flowcontrol.apiserver", "internal.apiserver", "lifecycle", "networking",
		"node", "rbac.authorization", "resource", "scheduling", "storage", "storagemigration", "metrics":
		return ok
	}
	return false
}
