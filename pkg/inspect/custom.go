package inspect

import (
	"cmp"
	"fmt"
	"strings"
)

// custom judges a kind without a rule of its own: a custom resource mostly, by what is usual for them.
func (o subject) custom() Status {
	switch {
	case len(o.conditions) == 0 && o.silent():
		return o.is(Unknown, noStatus)
	case o.suspended() != "":
		return o.is(Suspended, o.suspended())
	}
	if s, told := o.byReady(); told {
		return s
	}
	if s, told := o.byPhase(); told {
		return s
	}
	if o.base.Status != Current {
		return o.because(o.base.Message)
	}
	return o.unlessBad(o.base)
}

// byReady judges by the condition Ready, if there is one.
func (o subject) byReady() (Status, bool) {
	ready := o.condition("Ready")
	switch {
	case ready.Type == "":
		return Status{}, false
	case ready.Drift == Behind:
		reason := fmt.Sprintf("%s=%s is of generation %d, not %d", ready.Type, ready.Status, *cmp.Or(ready.Generation, o.drift.Observed), o.drift.Generation)
		return o.is(InProgress, reason), true
	case ready.Status == "True":
		return o.unlessBad(o.base), true
	}
	s := o.because(reasonOf(ready))
	s.Message = cmp.Or(ready.Message, s.Message)
	return s, true
}

// silent says whether nobody has written a status to an object that asks for something. The kinds that the API server
// itself brings are known: those without a rule need none.
func (o subject) silent() bool {
	status := o.sub("status")
	return !builtIn(o.group) && len(status) == 0 && o.at("status") == nil && o.sub("spec") != nil
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
	message := cmp.Or(o.text("status", "health", "message"), o.text("status", "message"))
	s := o.is(judged, word+after(": ", firstLine(message)))
	if judged == Current {
		s = o.unlessBad(o.is(Current, ""))
	}
	return s, true
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
		"coordination", "discovery", "events", "flowcontrol.apiserver", "internal.apiserver", "networking", "node",
		"rbac.authorization", "resource", "scheduling", "storage", "storagemigration", "metrics":
		return ok
	}
	return false
}
