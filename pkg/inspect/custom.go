package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// custom judges a kind without a rule of its own: a custom resource mostly, by what is usual for them.
func (o subject) custom() Status {
	if len(o.conditions) == 0 && o.silent() {
		return o.is(Unknown, noStatus)
	}
	if held := o.suspended(); held != "" {
		if c, bad := o.worst(); bad {
			held += ", " + c.text()
		}
		return o.is(Suspended, held)
	}
	for _, judge := range []func() (Status, bool){o.byGeneration, o.byResult, o.byPhase} {
		if s, told := judge(); told {
			return s
		}
	}
	if o.base.Status != Current {
		return o.because(cmp.Or(o.progress(), o.base.Message))
	}
	return o.unlessBad(o.base)
}

// byGeneration finds that what a condition says of the whole object is said of an older one.
func (o subject) byGeneration() (Status, bool) {
	for _, c := range o.conditions {
		if c.sumsUp() && c.Drift == Behind {
			reason := fmt.Sprintf("%s=%s is of generation %d, not %d", c.Type, c.Status, *cmp.Or(c.Generation, o.drift.Observed), o.drift.Generation)
			return o.is(InProgress, reason), true
		}
	}
	return Status{}, false
}

// byResult judges by the condition that tells the result, if there is one.
func (o subject) byResult() (Status, bool) {
	ready, succeeded := o.condition("Ready"), o.condition("Succeeded")
	switch {
	case ready.Status == "True":
		return o.unlessBad(o.base), true
	case ready.Type != "":
		s := o.because(reasonOf(ready))
		s.Message = cmp.Or(ready.Message, s.Message)
		return s, true
	case succeeded.Status == "False":
		return o.failing(succeeded).as(Failed), true
	case succeeded.Type != "" && succeeded.Status != "True":
		return o.is(InProgress, reasonOf(succeeded)), true
	}
	return Status{}, false
}

// progress tells what the object says of being on its way.
func (o subject) progress() string {
	if c := o.condition("Reconciling"); c.Status == "True" {
		return reasonOf(c)
	}
	return ""
}

// silent says whether nobody has written a status to an object that asks for something. The kinds that the API server
// itself brings are known: those without a rule need none.
func (o subject) silent() bool {
	status := o.at("status")
	return !builtIn(o.group) && !reportsNothing(o.group, o.kind) && (status == nil || isEmptyMap(status)) && o.sub("spec") != nil
}

// reportsNothing knows kinds that are often met and for which nobody writes a status: they are read by a controller that
// watches over something else.
func reportsNothing(group, kind string) bool {
	switch group {
	case "networking.istio.io", "security.istio.io", "telemetry.istio.io", "traefik.io", "monitoring.coreos.com":
		return kind != "Prometheus" && kind != "Alertmanager" && kind != "ThanosRuler" && kind != "PrometheusAgent"
	}
	switch kind + "." + group {
	case "AppProject.argoproj.io", "WorkflowTemplate.argoproj.io", "ClusterWorkflowTemplate.argoproj.io", "Alert.notification.toolkit.fluxcd.io",
		"Provider.notification.toolkit.fluxcd.io", "ReferenceGrant.gateway.networking.k8s.io",
		"NetworkAttachmentDefinition.k8s.cni.cncf.io", "SecretProviderClass.secrets-store.csi.x-k8s.io":
		return true
	}
	return false
}

// suspended tells by which field or annotation somebody holds the object, as is usual in several families; it is empty if
// nothing does.
func (o subject) suspended() string {
	if builtIn(o.group) {
		return ""
	}
	for _, field := range []string{"suspend", "suspended", "paused"} {
		if o.flag("spec", field) {
			return strings.TrimSuffix(field, "ed") + "ed"
		}
	}
	annotations := o.sub("metadata", "annotations")
	for _, name := range []string{"crossplane.io/paused", "cluster.x-k8s.io/paused"} {
		if value, ok := annotations[name].(string); ok && value != "false" {
			return "paused"
		}
	}
	return ""
}

// byPhase judges by a word, as kinds without conditions have it.
func (o subject) byPhase() (Status, bool) {
	word := cmp.Or(o.text("status", "health", "status"), o.text("status", "phase"))
	judged := phases[strings.ToLower(word)]
	if judged == "" || builtIn(o.group) {
		return Status{}, false
	}
	if judged == Current && strings.EqualFold(word, "running") && endsSometime(o.kind) {
		judged = InProgress
	}
	message := cmp.Or(o.text("status", "health", "message"), o.text("status", "message"))
	s := o.is(judged, word+after(": ", firstLine(message)))
	if judged == Current {
		s = o.unlessBad(o.is(Current, ""))
	}
	return s, true
}

// endsSometime says whether objects of a kind of this name run to an end, so that Running is not where they shall be.
func endsSometime(kind string) bool {
	return slices.ContainsFunc([]string{"Workflow", "Job", "Run", "Backup", "Restore", "Task", "Test", "Build", "Migration"},
		func(end string) bool { return strings.HasSuffix(kind, end) })
}

// phases are the words of status.phase, and of Argo's status.health.status, that mean the same wherever they are used.
var phases = map[string]string{
	"active": Current, "available": Current, "bound": Current, "completed": Current, "healthy": Current, "ready": Current,
	"running": Current, "succeeded": Current, "provisioned": Current, "synced": Current,
	"creating": InProgress, "deploying": InProgress, "initializing": InProgress, "missing": InProgress, "new": InProgress,
	"pending": InProgress, "progressing": InProgress, "provisioning": InProgress, "reconciling": InProgress,
	"scaling": InProgress, "updating": InProgress, "upgrading": InProgress, "inprogress": InProgress,
	"deleting": Terminating, "terminating": Terminating,
	"degraded": Degraded, "partiallyfailed": Degraded, "unhealthy": Degraded,
	"error": Failed, "failed": Failed,
	"paused": Suspended, "suspended": Suspended,
	"unknown": Unknown,
}

// builtIn says whether a group is one that the API server itself serves.
func builtIn(group string) bool {
	switch group {
	case "", "apps", "autoscaling", "batch", "extensions", "policy":
		return true
	}
	name, ok := strings.CutSuffix(group, ".k8s.io")
	switch name {
	case "admissionregistration", "apiextensions", "apiregistration", "authentication", "authorization", "certificates",
		"coordination", "discovery", "events", "flowcontrol.apiserver", "internal.apiserver", "lifecycle", "networking", "node",
		"rbac.authorization", "resource", "scheduling", "storage", "storagemigration", "metrics":
		return ok
	}
	return false
}

func isEmptyMap(v any) bool {
	m, ok := v.(map[string]any)
	return ok && len(m) == 0
}
