package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestPlannedWrites(t *testing.T) {
	request := func(verb, resource, subresource, name string, change func(*trace.Request)) *trace.Request {
		r := &trace.Request{
			Verb: verb, Subresource: subresource, Code: 200, DryRun: true,
			Object: trace.Object{Group: "apps", Version: "v1", Resource: resource, Namespace: "default", Name: name},
		}
		if change != nil {
			change(r)
		}
		return r
	}
	p := newPlanned()
	for _, r := range []*trace.Request{
		request("update", "deployments", "status", "web", nil),
		request("update", "deployments", "status", "web", nil),
		request("update", "deployments", "status", "api", nil),
		request("create", "replicasets", "", "web-1", nil),
		request("create", "pods", "", "web-1-x", func(r *trace.Request) { r.Group = "" }),
		request("create", "replicasets", "", "refused", func(r *trace.Request) { r.Code, r.Message = 403, "not this one" }),
		request("create", "replicasets", "", "refused", func(r *trace.Request) { r.Code, r.Message = 403, "nor this" }),
		request("update", "deployments", "", "stale", func(r *trace.Request) { r.Code = 409 }),
		request("patch", "deployments", "", "gone", func(r *trace.Request) { r.Code = 404 }),
		request("update", "deployments", "", "unheard", func(r *trace.Request) { r.Code, r.Message = 0, "connection refused" }),
		request("create", "replicasets", "", "kept", func(r *trace.Request) { r.DryRun = false }),
		request("get", "replicasets", "", "read", nil),
		request("create", "events", "", "e", func(r *trace.Request) { r.Recorded = &trace.RecordedEvent{} }),
	} {
		p.Record(&trace.Event{Controller: "deployment", Detail: r})
	}
	p.Record(&trace.Event{Controller: "deployment", Detail: &trace.End{}})
	want := []plannedWrites{
		{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "status", Objects: 2, Writes: 3},
		{Verb: "create", Resource: "pods", Objects: 1, Writes: 1},
		{Verb: "create", Group: "apps", Resource: "replicasets", Objects: 1, Writes: 1},
	}
	would, refused := p.list()
	if diff := cmp.Diff(want, would); diff != "" {
		t.Errorf("what would be written (-want +got):\n%s", diff)
	}
	var refusals []string
	for _, w := range refused {
		refusals = append(refusals, w.refusal())
	}
	if diff := cmp.Diff([]string{
		"update deployments.apps got no answer 1 time: connection refused",
		"create replicasets.apps was refused 2 times (403): nor this",
	}, refusals); diff != "" {
		t.Errorf("what was refused; conflicts, and what is not there, do not count (-want +got):\n%s", diff)
	}
	rows := [][]string{
		{"update", "deployments.apps/status", "2", "3"}, {"create", "pods", "1", "1"}, {"create", "replicasets.apps", "1", "1"},
	}
	if diff := cmp.Diff(rows, plannedRows(would)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestSpared(t *testing.T) {
	for _, test := range []struct {
		of     render.Spared
		want   string
		reason string
	}{
		{render.Spared{}, "", "all was shown"},
		{render.Spared{Idle: 1}, "not shown: 1 reconcile wrote nothing; -v shows them", "one"},
		{render.Spared{Idle: 2, Repeated: 3}, "not shown: 2 reconciles wrote nothing, 3 came to the same as before; -v shows them", "both"},
	} {
		if got := spared(test.of); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
