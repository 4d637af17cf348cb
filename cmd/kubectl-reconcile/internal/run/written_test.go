package run

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// dryRequest is a write of apps in a dry run, which was taken.
func dryRequest(verb, resource, subresource, name string, change ...func(*trace.Request)) *trace.Request {
	r := &trace.Request{
		Verb: verb, Subresource: subresource, Code: 200, DryRun: true,
		Object: trace.Object{Group: "apps", Version: "v1", Resource: resource, Namespace: "default", Name: name},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

// refusing answers with the code.
func refusing(code int, message string) func(*trace.Request) {
	return func(r *trace.Request) { r.Code, r.Message = code, message }
}

func TestWritten(t *testing.T) {
	w := newWritten()
	for _, r := range []*trace.Request{
		dryRequest("update", "deployments", "status", "web"),
		dryRequest("update", "deployments", "status", "web"),
		dryRequest("update", "deployments", "status", "api"),
		dryRequest("create", "replicasets", "", "web-1"),
		dryRequest("create", "pods", "", "web-1-x", func(r *trace.Request) { r.Group = "" }),
		dryRequest("create", "replicasets", "", "refused", refusing(403, `replicasets.apps "refused" is forbidden: not this one`)),
		dryRequest("create", "replicasets", "", "refused", refusing(403, `replicasets.apps "refused" is forbidden: nor this`)),
		dryRequest("create", "replicasets", "", "there", refusing(409, "already exists")),
		dryRequest("update", "daemonsets", "", "unheard", refusing(0, "connection refused")),
		dryRequest("update", "daemonsets", "", "fenced", refusing(0, "writing without a Lease: m has taken it"), func(r *trace.Request) { r.NotSent = true }),
		dryRequest("create", "replicasets", "", "kept", func(r *trace.Request) { r.DryRun = false }),
		dryRequest("get", "replicasets", "", "read"),
		dryRequest("create", "events", "", "e", func(r *trace.Request) { r.Recorded = &trace.RecordedEvent{} }),
		dryRequest("deletecollection", "events", "", "", func(r *trace.Request) { r.Group = "" }),
		dryRequest("create", "subjectaccessreviews", "", "", func(r *trace.Request) { r.Group = "authorization.k8s.io" }),
	} {
		w.Record(&trace.Event{Detail: r})
	}
	w.Record(&trace.Event{Detail: &trace.Log{}})
	taken, refused := w.list()
	if diff := cmp.Diff([]writeCount{
		{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "status", Objects: 2, Writes: 3},
		{Verb: "create", Resource: "pods", Objects: 1, Writes: 1},
		{Verb: "create", Group: "apps", Resource: "replicasets", Objects: 2, Writes: 2},
	}, taken); diff != "" {
		t.Errorf("what was written, kept or not (-want +got):\n%s", diff)
	}
	var refusals []string
	for _, r := range refused {
		refusals = append(refusals, fmt.Sprint(r.refusal(), " ", r.usual()))
	}
	if diff := cmp.Diff([]string{
		"update daemonsets.apps got no answer 1 time: connection refused false",
		"update daemonsets.apps was not sent 1 time: writing without a Lease: m has taken it false",
		"create replicasets.apps was refused 2 times (403): nor this false",
		"create replicasets.apps was refused 1 time (409): already exists true",
	}, refusals); diff != "" {
		t.Errorf("what was refused; conflicts are usual (-want +got):\n%s", diff)
	}
	rows := []render.WriteRow{
		{Verb: "update", Resource: "daemonsets.apps", Refused: 2}, {Verb: "update", Resource: "deployments.apps/status", Objects: 2, Writes: 3},
		{Verb: "create", Resource: "pods", Objects: 1, Writes: 1}, {Verb: "create", Resource: "replicasets.apps", Objects: 2, Writes: 2, Refused: 3},
	}
	if diff := cmp.Diff(rows, writeRows(taken, refused)); diff != "" {
		t.Errorf("rows, those of which nothing was taken among them (-want +got):\n%s", diff)
	}
}

func TestWrittenIsBounded(t *testing.T) {
	w := newWritten()
	for i := range mostObjects + 2 {
		w.Record(&trace.Event{Detail: dryRequest("create", "pods", "", fmt.Sprint("web-", i))})
	}
	if taken, _ := w.list(); taken[0].Objects != mostObjects || taken[0].Writes != mostObjects+2 {
		t.Errorf("got %+v", taken)
	}
}

func TestNotShown(t *testing.T) {
	for _, test := range []struct {
		of     render.NotShown
		want   string
		reason string
	}{
		{render.NotShown{}, "", "all was shown"},
		{render.NotShown{Idle: 1}, "not shown: 1 reconcile wrote nothing; -v shows them", "one"},
		{render.NotShown{Idle: 2, Repeated: 3}, "not shown: 2 reconciles wrote nothing, 3 came to the same as before; -v shows them", "both"},
		{render.NotShown{Idle: 2, PutOff: 3}, "not shown: 5 reconciles wrote nothing (3 put off); -v shows them", "what was put off is among them"},
		{render.NotShown{PutOff: 1, Conflicts: 1}, "not shown: 2 reconciles wrote nothing (1 put off, 1 conflict); -v shows them", "so are conflicts"},
	} {
		if got := notShown(test.of); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
