package inspect

import (
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// hasEmptyStatus reports whether no controller has written the status of an object that has a spec: the status is
// missing, or has only empty fields, or an empty list of conditions and a generation. A negative generation is the
// default of a CRD, as Flux has it. It is false for kinds that the API server itself serves: they have rules, or no
// status to report.
func (o subject) hasEmptyStatus() bool {
	if isBuiltInGroup(o.group) || kindHasNoStatus(o.group, o.kind) || o.Sub("spec") == nil {
		return false
	}
	status, isMap := o.At("status").(map[string]any)
	if !isMap {
		return o.At("status") == nil
	}
	_, hasConditions := status["conditions"]
	for field, value := range status {
		if field == "observedGeneration" {
			n, isNumber := untyped.Whole(value)
			if hasConditions || isNumber && n <= 0 {
				continue
			}
		}
		if !untyped.IsBlank(value) {
			return false
		}
	}
	return true
}

// kindHasNoStatus reports whether the kind is a common one whose objects get no status: controllers only read them as
// configuration for other objects, or write one only while the object is used.
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
		"Alert.notification.toolkit.fluxcd.io", "Provider.notification.toolkit.fluxcd.io",
		"ReferenceGrant.gateway.networking.k8s.io",
		"NetworkAttachmentDefinition.k8s.cni.cncf.io", "SecretProviderClass.secrets-store.csi.x-k8s.io":
		return true
	}
	return false
}

// pausedByUser returns how the user has paused the object ("paused", "suspended" and so on), by a field or an
// annotation that several families share, and the path of that; both are empty if it is not paused.
func (o subject) pausedByUser() (field, word string) {
	if isBuiltInGroup(o.group) {
		return "", ""
	}
	for _, field := range []struct{ name, word string }{
		{"suspend", "suspended"}, {"suspended", "suspended"}, {"paused", "paused"}, {"pause", "paused"},
		{"hibernate", "hibernated"}, {"hibernated", "hibernated"},
	} {
		if o.Flag("spec", field.name) {
			return "spec." + field.name, field.word
		}
	}
	switch {
	case o.group == "flink.apache.org" && o.Text("spec", "job", "state") == "suspended" &&
		o.Text("status", "lifecycleState") == "SUSPENDED":
		return "spec.job.state", "suspended"
	case o.Flag("spec", "hibernation", "enabled"):
		return "spec.hibernation.enabled", "hibernated"
	case o.group == "kubevirt.io" && !o.isToRun() && o.Text("status", "printableStatus") == "Stopped":
		return "spec.runStrategy", "stopped"
	case o.group == "kueue.x-k8s.io" && o.kind == "Workload" && o.At("spec", "active") == false:
		return "spec.active", "not active"
	}
	return pausedByMetadata(o.Sub("metadata", "annotations"), o.Sub("metadata", "labels"))
}

func (o subject) isPausedByUser() bool {
	_, word := o.pausedByUser()
	return word != ""
}

// isToRun reports whether the spec of a KubeVirt machine requests that it runs.
func (o subject) isToRun() bool {
	return o.Text("spec", "runStrategy") == "Always" || o.Flag("spec", "running")
}

// pauseMarkers are the annotations and labels with which users stop controllers from reconciling an object.
var pauseMarkers = []struct{ name, value, word string }{ // a value after ! does not pause; every other does
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

// pausedByMetadata returns the path and the word of the first of pauseMarkers that the object has; empty if it has
// none.
func pausedByMetadata(annotations, labels untyped.Map) (field, word string) {
	for _, mark := range pauseMarkers {
		field := "metadata.annotations[" + mark.name + "]"
		value, there := annotations[mark.name].(string)
		if !there {
			field = "metadata.labels[" + mark.name + "]"
			value, there = labels[mark.name].(string)
		}
		other, negated := strings.CutPrefix(mark.value, "!")
		if there && (value == mark.value || negated && value != other) {
			return field, mark.word
		}
	}
	return "", ""
}

// suspendedReason returns the reason of the condition that shows that the object is suspended; empty if there is
// none.
func (o subject) suspendedReason() string {
	for _, c := range o.conditions {
		words := wordsOf(c.Reason)
		suspended := len(words) > 0 && suspendedReasonWords[words[len(words)-1]] && words[0] != "Not"
		switch {
		case c.nested() || c.Drift == Behind || c.Polarity == Negative:
		case c.Status == "True" && suspendedConditions[c.Type]:
			return reasonOf(c)
		case c.Status != "True" && !c.Bad && suspended, c.Type == "Ready" && c.Reason == "Stopped":
			return reasonOf(c)
		}
	}
	return ""
}

// suspendedConditions are conditions that are True while an object is suspended. suspendedReasonWords are the last
// words of reasons with which other conditions are not True for that: RolloutPaused.
var (
	suspendedConditions  = wordSet("Paused Suspended Hibernated ReconciliationPaused Stopped cnpg.io/hibernation")
	suspendedReasonWords = wordSet("Hibernated Paused Suspended")
)

// isFalseWhileWaiting reports whether the condition is False until the object has made some progress, which is no
// failure. The sources are aws-controllers-k8s/runtime pkg/condition, kubernetes-sigs/kueue
// apis/kueue/v1beta2/workload_types.go.
func (o subject) isFalseWhileWaiting(c Condition) bool {
	switch c.Type {
	case "ACK.ResourceSynced":
		return strings.HasSuffix(o.group, "services.k8s.aws")
	case "Admitted", "QuotaReserved":
		return o.group == "kueue.x-k8s.io" && o.kind == "Workload"
	}
	return false
}

// runsToCompletion reports whether objects of the kind run to completion, by its name: for these Running means
// InProgress.
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

// isUnfinishedRun reports whether the object runs to completion, is of a family that has a condition for every
// result, and has none of these conditions yet.
func (o subject) isUnfinishedRun() bool {
	return (o.group == "jobset.x-k8s.io" || o.group == "kubeflow.org") && runsToCompletion(o.kind) &&
		!slices.ContainsFunc(o.conditions, func(c Condition) bool {
			return c.Status == "True" && (c.isResult() || c.Type == "Failed" || c.Type == "Suspended")
		})
}

// isBuiltInGroup reports whether the API server itself, or metrics-server, serves the group.
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
