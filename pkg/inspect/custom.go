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
	return o.settled()
}

// settled is what kstatus says, with a reason; where that is Current, it is Degraded by a condition that is bad, or
// InProgress by one that tells of a change.
func (o subject) settled() Status {
	if o.base.Status != Current {
		return o.because(cmp.Or(o.progress(), o.base.Message))
	}
	s := o.unlessBad(o.base)
	if i := slices.IndexFunc(o.conditions, Condition.isChange); i >= 0 && s.Status == Current {
		s.Status, s.Reason, s.Message = InProgress, reasonOf(o.conditions[i]), o.conditions[i].Message
	}
	return s
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
	ready, succeeded, failed := o.convention("Ready"), o.condition("Succeeded"), o.condition("Failed")
	switch {
	case ready.Status == "True":
		return o.settled(), true
	case failed.Bad && failed.Drift != Behind:
		return o.failing(failed).as(Failed), true
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
	if c := o.convention("Reconciling"); c.Status == "True" {
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

// reportsNothing knows kinds that are often met and for which nobody writes a status, or only who uses the object: they
// are read by a controller that watches over something else.
func reportsNothing(group, kind string) bool {
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
	halted := o.text("spec", "runStrategy") == "Halted" || o.at("spec", "running") == false
	if o.group == "kubevirt.io" && halted && o.text("status", "printableStatus") == "Stopped" {
		return "stopped"
	}
	annotations := o.sub("metadata", "annotations")
	for _, name := range []string{"crossplane.io/paused", "cluster.x-k8s.io/paused"} {
		if value, ok := annotations[name].(string); ok && value != "false" {
			return "paused"
		}
	}
	return ""
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
