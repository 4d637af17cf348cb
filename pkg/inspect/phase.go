package inspect

import (
	"cmp"
	"slices"
	"strings"
)

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
	if judged == Current {
		o.base = o.is(Current, o.outOfSync())
		return o.settled(), true
	}
	return o.is(judged, word+after(": ", firstLine(message))), true
}

// outOfSync tells of an application of Argo CD that what its source asks for is not applied, or not all; else it is empty.
func (o subject) outOfSync() string {
	if word := o.text("status", "sync", "status"); word == "OutOfSync" {
		return word
	}
	return ""
}

// endsSometime says whether objects of a kind of this name run to an end, so that Running is not where they shall be.
func endsSometime(kind string) bool {
	return slices.ContainsFunc([]string{"Workflow", "Job", "Run", "Backup", "Restore", "Task", "Test", "Build", "Migration", "Experiment"},
		func(end string) bool { return strings.HasSuffix(kind, end) })
}

// phases are the words of status.phase, and of Argo's status.health.status, that mean the same wherever they are used.
var phases = map[string]string{
	"active": Current, "available": Current, "bound": Current, "completed": Current, "healthy": Current, "ready": Current,
	"running": Current, "succeeded": Current, "successful": Current, "provisioned": Current, "synced": Current,
	"creating": InProgress, "deploying": InProgress, "finalizing": InProgress, "initializing": InProgress,
	"inprogress": InProgress, "installing": InProgress, "installready": InProgress, "missing": InProgress, "new": InProgress,
	"pending": InProgress, "progressing": InProgress, "provisioning": InProgress, "reconciling": InProgress,
	"replacing": InProgress, "scaling": InProgress, "updating": InProgress, "upgrading": InProgress,
	"deleting": Terminating, "terminating": Terminating,
	"degraded": Degraded, "inconclusive": Degraded, "partiallyfailed": Degraded, "unhealthy": Degraded,
	"error": Failed, "failed": Failed, "failedvalidation": Failed,
	"paused": Suspended, "suspended": Suspended,
	"unknown": Unknown,
}
