package main

import (
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// The commands of scripts are themselves tested where a mistake in them would let every script pass.

func TestOnlyProblems(t *testing.T) {
	for _, tt := range []struct {
		text   string
		want   int
		ok     bool
		reason string
	}{
		{"error: a\nhint: b\nerror: c\n", 2, true, "errors and their hints"},
		{"", 0, true, "none"},
		{"error: a\n", 2, false, "one too few"},
		{"error: a\nerror: b\n", 1, false, "one too many"},
		{"warning\nerror: a\n", 1, false, "anything else"},
		{"hint: b\nerror: a\n", 1, false, "a hint for nothing"},
		{"error: error parsing\n", 1, false, "the word twice"},
		{"error: A thing failed.\n", 1, false, "a full stop"},
	} {
		if err := onlyProblems(tt.text, tt.want); (err == nil) != tt.ok {
			t.Errorf("%q: %v: %s", tt.text, err, tt.reason)
		}
	}
}

func TestPodsOfTheirReplicaSets(t *testing.T) {
	event := func(controller string, id trace.ReconcileID, key string, d trace.Detail) *trace.Event {
		return &trace.Event{Controller: controller, Reconcile: id, Key: key, Detail: d}
	}
	pod := func(code int) trace.Detail {
		return &trace.Request{Verb: "create", Code: code, Object: trace.Object{Resource: "pods", Namespace: "a", Name: "web-1-xyz"}}
	}
	started := event("replicaset", 1, "a/web-1", &trace.Start{})
	for _, tt := range []struct {
		name   string
		events []*trace.Event
		want   int
		ok     bool
		reason string
	}{
		{"its own", []*trace.Event{started, event("replicaset", 1, "a/web-1", pod(201))}, 1, true, "as it ought to be"},
		{"refused", []*trace.Event{started, event("replicaset", 1, "a/web-1", pod(403))}, 0, true, "no pod was made"},
		{"twice", []*trace.Event{started, event("replicaset", 1, "a/web-1", pod(201)), event("replicaset", 1, "a/web-1", pod(201))}, 1, true, "one pod counts once"},
		{"no reconcile", []*trace.Event{started, event("replicaset", 0, "", pod(201))}, 0, false, "nobody's"},
		{"another ReplicaSet", []*trace.Event{event("replicaset", 1, "a/web-2", &trace.Start{}), event("replicaset", 1, "a/web-2", pod(201))}, 0, false, "another's"},
		{"another controller", []*trace.Event{event("deployment", 1, "a/web-1", &trace.Start{}), event("deployment", 1, "a/web-1", pod(201))}, 0, false, "another's, of the same key"},
		{"not started", []*trace.Event{event("replicaset", 1, "a/web-1", pod(201))}, 0, false, "a number that nothing began"},
		{"ended", []*trace.Event{started, event("replicaset", 1, "a/web-1", &trace.End{}), event("replicaset", 1, "a/web-1", pod(201))}, 0, false, "a number that was over"},
	} {
		got, err := podsOfTheirReplicaSets(tt.events)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s: %d, %v: %s", tt.name, got, err, tt.reason)
		}
	}
}
