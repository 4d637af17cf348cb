package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

func TestChanges(t *testing.T) {
	change := func(path string, old, updated any) fields.Change {
		return fields.Change{Path: path, Old: old, New: updated}
	}
	condition := func(kind, field string, old, updated any) fields.Change {
		return change("status.conditions[type="+kind+"]."+field, old, updated)
	}
	for _, tt := range []struct {
		name   string
		in     []fields.Change
		most   int
		all    bool
		want   string
		reason string
	}{
		{"none", nil, 3, false, "", "nothing changed"},
		{"status", []fields.Change{change("status.replicas", int64(0), int64(3))}, 0, false, "replicas: 0 -> 3", "the prefix goes if all share it"},
		{"spec", []fields.Change{change("spec.replicas", int64(3), int64(0))}, 0, false, "spec.replicas: 3 -> 0", "the prefix stays: a status has fields of the same names"},
		{"mixed", []fields.Change{change("spec.paused", nil, true), change("status.replicas", int64(1), int64(2))}, 0, false, "spec.paused: true, status.replicas: 1 -> 2", "without it, two fields of the same name could not be told apart"},
		{"came", []fields.Change{change("status.readyReplicas", nil, int64(1))}, 0, false, "readyReplicas: 1", "what was not there has no value before"},
		{"went", []fields.Change{change("status.readyReplicas", int64(1), nil)}, 0, false, "readyReplicas: removed", "a removal is no empty value"},
		{"zero", []fields.Change{change("status.readyReplicas", int64(1), int64(0))}, 0, false, "readyReplicas: 1 -> 0", "nor is zero a removal"},
		{"structured", []fields.Change{change("spec.template", nil, map[string]any{"a": "b"})}, 0, false, `spec.template: {"a":"b"}`, "values that are no text are JSON"},
		{"condition", []fields.Change{
			condition("Ready", "lastTransitionTime", "t1", "t2"), condition("Ready", "status", "False", "True"), condition("Ready", "reason", "Waiting", "AllGood"),
		}, 0, false, "Ready: True AllGood", "of conditions, status and reason are shown; times are not"},
		{"condition's reason", []fields.Change{condition("Progressing", "reason", "A", "B")}, 0, false, "Progressing: B", "what did not change is left out"},
		{"condition's message", []fields.Change{condition("Progressing", "message", "a", "b c")}, 0, false, "Progressing: b c", "the message, if it is all that changed"},
		{"condition came", []fields.Change{condition("Ready", "status", nil, "True"), condition("Ready", "type", nil, "Ready")}, 0, false, "Ready: True", "its type is its name"},
		{"condition went", []fields.Change{condition("Ready", "status", "True", nil), condition("Ready", "type", "Ready", nil)}, 0, false, "Ready: gone", "a condition that is gone is neither true nor false"},
		{"only times", []fields.Change{condition("Ready", "lastTransitionTime", "t1", "t2")}, 0, false, "", "times alone are not shown"},
		{"entry came", []fields.Change{
			change("status.containerStatuses[name=web].name", nil, "web"), change("status.containerStatuses[name=web].ready", nil, true), change("status.phase", "Pending", "Running"),
		}, 0, false, "phase: Pending -> Running, containerStatuses[web]: new", "an entry that came is one thing, not as many as it has fields"},
		{"nameless entry came", []fields.Change{change("status.currentMetrics[type=].type", nil, "")}, 0, false, "currentMetrics[]: new", "an autoscaler that knows no metrics writes one"},
		{"empty", []fields.Change{change("status.reason", "a", "")}, 0, false, `reason: a -> ""`, "an empty value is one"},
		{"entry went", []fields.Change{
			change("metadata.ownerReferences[name=web].kind", "Deployment", nil), change("metadata.ownerReferences[name=web].name", "web", nil),
		}, 0, false, "metadata.ownerReferences[web]: removed", "so is one that went"},
		{"entry changed", []fields.Change{change("status.containerStatuses[name=web].ready", false, true)}, 0, false, "containerStatuses[name=web].ready: false -> true", "of one that was there, the field counts"},
		{"order", []fields.Change{condition("B", "status", "x", "y"), condition("A", "status", "x", "z"), change("status.phase", "a", "b")}, 0, false, "A: z, B: y, phase: a -> b", "conditions by name: two runs look the same"},
		{"most", []fields.Change{change("status.a", nil, "1"), change("status.b", nil, "2"), change("status.c", nil, "3")}, 2, false, "a: 1, b: 2, 1 more", "those that are left out are counted"},
		{"just as many", []fields.Change{change("status.a", nil, "1"), change("status.b", nil, "2")}, 2, false, "a: 1, b: 2", "the limit itself leaves nothing out"},
		{"hostile", []fields.Change{change("metadata.annotations[x]", nil, "\x1b[2J\nboo")}, 0, false, "metadata.annotations[x]: ^[[2J⏎ boo", "values come from outside"},
		{"long", []fields.Change{change("spec.image", nil, strings.Repeat("é", 60))}, 0, false, "spec.image: " + strings.Repeat("é", 47) + "…", "cut by letters, not bytes"},
		{"what matters first", []fields.Change{
			change("metadata.labels.tier", nil, "a"), change("spec.paused", nil, true), change("status.availableReplicas", nil, int64(1)),
			condition("Ready", "status", nil, "True"), change("status.containerStatuses[name=web].ready", false, true), change("status.fullyLabeledReplicas", nil, int64(1)),
			change("status.numberReady", nil, int64(2)), change("status.replicas", nil, int64(3)), change("status.unavailableReplicas", int64(3), nil),
		}, 0, false, "spec.paused: true, metadata.labels.tier: a, Ready: True, status.containerStatuses[name=web].ready: false -> true, status.numberReady: 2, " +
			"status.availableReplicas: 1, status.unavailableReplicas: removed, status.fullyLabeledReplicas: 1, status.replicas: 3",
			"spec, metadata, conditions, what is ready, what is available, the rest"},
		{"bookkeeping", []fields.Change{
			change("metadata.annotations[deployment.kubernetes.io/revision]", nil, "1"), change("metadata.generation", int64(1), int64(2)),
			change("status.containerStatuses[name=web].containerID", nil, "a"), change("status.containerStatuses[name=web].imageID", nil, "b"),
			change("status.hostIP", nil, "10.0.0.1"), change("status.hostIPs[ip=10.0.0.1].ip", nil, "10.0.0.1"),
			change("status.observedGeneration", int64(1), int64(2)), change("status.phase", "Pending", "Running"),
		}, 0, false, "phase: Pending -> Running", "is left out"},
		{"bookkeeping, all", []fields.Change{
			change("metadata.annotations[deployment.kubernetes.io/revision]", nil, "1"), change("metadata.generation", int64(1), int64(2)),
			change("status.observedGeneration", int64(1), int64(2)),
		}, 0, true, "metadata.annotations[deployment.kubernetes.io/revision]: 1, metadata.generation: 1 -> 2, status.observedGeneration: 1 -> 2", "All includes it"},
		{"only bookkeeping", []fields.Change{change("status.observedGeneration", int64(1), int64(2))}, 0, false, "", "alone, it leaves nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Changes(tt.in, ChangesOptions{Limit: tt.most, All: tt.all})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
