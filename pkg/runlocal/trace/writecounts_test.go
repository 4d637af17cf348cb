package trace

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dryRequest returns a write to the group apps in a dry run, which was accepted.
func dryRequest(verb, resource, subresource, name string, change ...func(*Request)) *Request {
	r := &Request{
		Verb: verb, Subresource: subresource, Code: 200, DryRun: true,
		Object: Object{Group: "apps", Version: "v1", Resource: resource, Namespace: "default", Name: name},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

// refusing makes the answer one with the code and message.
func refusing(code int, message string) func(*Request) {
	return func(r *Request) { r.Code, r.Message = code, message }
}

func TestWriteCounts(t *testing.T) {
	w := NewWriteCounts()
	for _, r := range []*Request{
		dryRequest("update", "deployments", "status", "web"),
		dryRequest("update", "deployments", "status", "web"),
		dryRequest("update", "deployments", "status", "api"),
		dryRequest("create", "replicasets", "", "web-1"),
		dryRequest("create", "pods", "", "web-1-x", func(r *Request) { r.Group = "" }),
		dryRequest("create", "replicasets", "", "refused", refusing(403, `replicasets.apps "refused" is forbidden: not this one`)),
		dryRequest("create", "replicasets", "", "refused", refusing(403, `replicasets.apps "refused" is forbidden: nor this`)),
		dryRequest("create", "replicasets", "", "there", refusing(409, "already exists")),
		dryRequest("update", "daemonsets", "", "unheard", refusing(0, "connection refused")),
		dryRequest("update", "daemonsets", "", "fenced", refusing(0, "writing without a Lease: m has taken it"), func(r *Request) { r.NotSent = true }),
		dryRequest("create", "replicasets", "", "kept", func(r *Request) { r.DryRun = false }),
		dryRequest("get", "replicasets", "", "read"),
		dryRequest("create", "events", "", "e", func(r *Request) { r.Recorded = &RecordedEvent{} }),
		dryRequest("deletecollection", "events", "", "", func(r *Request) { r.Group = "" }),
		dryRequest("create", "subjectaccessreviews", "", "", func(r *Request) { r.Group = "authorization.k8s.io" }),
	} {
		w.Record(&Event{Detail: r})
	}
	w.Record(&Event{Detail: &Log{}})
	accepted, refused := w.Counts()
	if diff := cmp.Diff([]WriteCount{
		{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "status", Objects: 2, Writes: 3},
		{Verb: "create", Resource: "pods", Objects: 1, Writes: 1},
		{Verb: "create", Group: "apps", Resource: "replicasets", Objects: 2, Writes: 2},
	}, accepted); diff != "" {
		t.Errorf("what was written, kept or not (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]WriteCount{
		{Verb: "update", Group: "apps", Resource: "daemonsets", Objects: 1, Writes: 1, Message: "connection refused"},
		{Verb: "update", Group: "apps", Resource: "daemonsets", Objects: 1, Writes: 1, Message: "writing without a Lease: m has taken it", NotSent: true},
		{Verb: "create", Group: "apps", Resource: "replicasets", Objects: 1, Writes: 2, Code: 403, Message: `replicasets.apps "refused" is forbidden: nor this`},
		{Verb: "create", Group: "apps", Resource: "replicasets", Objects: 1, Writes: 1, Code: 409, Message: "already exists"},
	}, refused); diff != "" {
		t.Errorf("what was refused (-want +got):\n%s", diff)
	}
	var races []bool
	for _, r := range refused {
		races = append(races, r.IsRace())
	}
	if diff := cmp.Diff([]bool{false, false, false, true}, races); diff != "" {
		t.Errorf("only a conflict is a race (-want +got):\n%s", diff)
	}
	if got := accepted[0].Name(); got != "deployments.apps/status" {
		t.Errorf("the first is named %s", got)
	}
}

func TestWriteCountsAreBounded(t *testing.T) {
	w := NewWriteCounts()
	for i := range maxObjects + 2 {
		w.Record(&Event{Detail: dryRequest("create", "pods", "", fmt.Sprint("web-", i))})
	}
	if accepted, _ := w.Counts(); accepted[0].Objects != maxObjects || accepted[0].Writes != maxObjects+2 {
		t.Errorf("got %+v", accepted)
	}
}
