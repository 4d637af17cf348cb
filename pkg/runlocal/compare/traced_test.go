package compare

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestTracedWriters: a write that was answered with what another one had done is not taken for it.
func TestTracedWriters(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	object := trace.Object{Version: "v1", Resource: "pods", Namespace: "shop", Name: "webu1", UID: "u1"}
	writes := newTracedWrites()
	for i, w := range []struct {
		controller string
		at         time.Duration // since it all began
		request    trace.Request
	}{
		{"job", 0, trace.Request{Verb: "patch", Object: object, Code: 200, ResourceVersion: "7"}},
		{"podgc", time.Second, trace.Request{Verb: "patch", Object: object, Code: 200, ResourceVersion: "7"}},
		{"podgc", 5 * time.Second, trace.Request{
			Verb: "delete", Object: object, Code: 200, ResourceVersion: "8", Latency: trace.Duration(time.Second)}},
		{"namespace", 10 * time.Second, trace.Request{Verb: "deletecollection", Object: trace.Object{
			Version: "v1", Resource: "pods", Namespace: "shop"}, Code: 200, Latency: trace.Duration(time.Second)}},
	} {
		addTraced(t, writes, &trace.Event{
			Seq: uint64(i + 1), Time: began.Add(w.at), Controller: w.controller, Detail: &w.request})
	}
	for _, tt := range []struct {
		reason, version string
		uid             string
		verb            Verb
		after           time.Duration
		want            string
	}{
		{"the first that was answered with the version has made it", "7", "u1", VerbUpdate, 0, "job"},
		{"it was deleted before the controller did so", "9", "u1", VerbDelete, 3 * time.Second, ""},
		{"it was deleted while the controller did so", "9", "u1", VerbDelete, 4500 * time.Millisecond, "podgc"},
		{"all were deleted", "9", "", VerbDelete, 9500 * time.Millisecond, "namespace"},
		{"it was deleted long after all were", "9", "", VerbDelete, 12 * time.Second, ""},
	} {
		ev := &event{
			record: &replay.Record{
				Namespace: "shop", Name: "web" + tt.uid, UID: tt.uid, ResourceVersion: tt.version, Time: began.Add(tt.after)},
			stream: &replay.Stream{Version: "v1", Resource: "pods"}, verb: tt.verb,
		}
		got := ""
		if found := writes.write(ev); found != nil {
			got = writes.effect(found.effect).controller
		}
		if got != tt.want {
			t.Errorf("%s: the writer is %q, want %q", tt.reason, got, tt.want)
		}
	}
}

// addTraced adds an event as a record of a trace.
func addTraced(t *testing.T, writes *tracedWrites, e *trace.Event) {
	t.Helper()
	line, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	writes.add(&replay.Record{Object: line})
}

// TestAuditedWriters: an audit log tells the controllers apart that are one manager in managedFields.
func TestAuditedWriters(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pod := trace.Object{Version: "v1", Resource: "pods", Namespace: "shop", Name: "web-1", UID: "u1"}
	request := trace.Object{Group: "certificates.k8s.io", Version: "v1", Resource: "certificatesigningrequests", Name: "r"}
	const manager = "system:kube-controller-manager"
	for _, tt := range []struct {
		reason, credentials string
		request             trace.Request
		want, key           string
		unknown             bool
	}{
		{"by its credentials", "pod-garbage-collector", trace.Request{Verb: "delete", User: "u"}, "podgc", "", false},
		{"the token controller has the manager's user", "tokens-controller", trace.Request{Verb: "update", User: manager}, "serviceaccount-token", "", false},
		{"somebody else", "", trace.Request{Verb: "update", User: "jane"}, "", "", false},
		{"an account that is no controller's", "coredns", trace.Request{Verb: "update", User: "u"}, "", "", false},
		{"the manager, and no user agent", "", trace.Request{Verb: "update", User: manager}, "", "", true},
		{"of two with the same credentials, one evicts", "node-controller", trace.Request{Verb: "delete", User: "u"}, "taint-eviction", "", false},
		{"and the other sets conditions", "node-controller", trace.Request{Verb: "update", Subresource: "status", User: "u"}, "node-lifecycle", "", false},
		{"of three, one approves", "certificate-controller", trace.Request{Object: request, Verb: "update", Subresource: "approval", User: "u"}, "csrapproving", "", false},
		{"one signs", "certificate-controller", trace.Request{Object: request, Verb: "update", Subresource: "status", User: "u"}, "csrsigning", "", false},
		{"and one cleans up", "certificate-controller", trace.Request{Object: request, Verb: "delete", User: "u"}, "csrcleaner", "", false},
		{"a refusal has the key of the owner", "replicaset-controller", trace.Request{Verb: "create", User: "u", Owner: "web", Code: 403}, "replicaset", "shop/web", false},
		{"or of the object", "replicaset-controller", trace.Request{
			Object: trace.Object{Group: "apps", Resource: "replicasets", Namespace: "shop", Name: "web"}, Verb: "update",
			Subresource: "status", User: "u", Code: 422}, "replicaset", "shop/web", false},
		{"or none", "generic-garbage-collector", trace.Request{Verb: "delete", User: "u", Code: 403}, "garbagecollector", "", false},
	} {
		if tt.request.Object == (trace.Object{}) {
			tt.request.Object = pod
		}
		writes := newTracedWrites()
		by := effect{}
		known := writes.addAudited(&trace.Event{Time: began, Controller: tt.credentials}, &tt.request, &by)
		if known == tt.unknown || by.controller != tt.want || by.key != tt.key {
			t.Errorf("%s: %q, key %q, known %v; want %q, key %q", tt.reason, by.controller, by.key, known, tt.want, tt.key)
		}
	}
}

// TestAuditBesideTrace: a session's trace counts more than an audit log that has the same write, and clocks may differ.
func TestAuditBesideTrace(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	object := trace.Object{Version: "v1", Resource: "pods", Namespace: "shop", Name: "web", UID: "u1"}
	writes := newTracedWrites()
	for _, e := range []trace.Event{
		{Detail: &trace.Request{Verb: "update", Object: object, Code: 200, ResourceVersion: "7", User: "jane"}},
		{Controller: "job", Detail: &trace.Request{Verb: "update", Object: object, Code: 200, ResourceVersion: "7"}},
		{Controller: "generic-garbage-collector", Detail: &trace.Request{Verb: "delete", Object: object, Code: 200, User: "c"}},
	} {
		e.Time = began
		addTraced(t, writes, &e)
	}
	for _, tt := range []struct {
		reason, version string
		verb            Verb
		want            string
	}{
		{"the session knows its controller", "7", VerbUpdate, "job"},
		{"the recorder's clock is behind", "8", VerbDelete, "garbagecollector"},
		{"another object of the name was deleted before", "0", VerbDelete, ""},
	} {
		uid := "u1"
		if tt.want == "" {
			uid = "u0"
		}
		found := writes.write(&event{
			record: &replay.Record{
				Namespace: "shop", Name: "web", UID: uid, ResourceVersion: tt.version, Time: began.Add(-time.Minute)},
			stream: &replay.Stream{Version: "v1", Resource: "pods"}, verb: tt.verb,
		})
		got := ""
		if found != nil {
			got = writes.effect(found.effect).controller
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
	if !writes.audited[core("pods")].has(began) || writes.audited[core("secrets")].has(began) {
		t.Error("the log has who wrote pods, and nothing of Secrets")
	}
}
