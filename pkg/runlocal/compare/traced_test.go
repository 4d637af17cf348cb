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
	object := trace.Object{Version: "v1", Resource: "pods", Namespace: "shop", Name: "web", UID: "u1"}
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
	} {
		line, err := json.Marshal(&trace.Event{
			Seq: uint64(i + 1), Time: began.Add(w.at), Controller: w.controller, Detail: &w.request})
		if err != nil {
			t.Fatal(err)
		}
		writes.add(&replay.Record{Object: line})
	}
	for _, tt := range []struct {
		reason, version string
		verb            Verb
		after           time.Duration
		want            string
	}{
		{"the first that was answered with the version has made it", "7", VerbUpdate, 0, "job"},
		{"it was deleted before the controller did so", "9", VerbDelete, 3 * time.Second, ""},
		{"it was deleted while the controller did so", "9", VerbDelete, 4500 * time.Millisecond, "podgc"},
	} {
		ev := &event{
			record: &replay.Record{
				Namespace: "shop", Name: "web", UID: "u1", ResourceVersion: tt.version, Time: began.Add(tt.after)},
			stream: &replay.Stream{Version: "v1", Resource: "pods"}, verb: tt.verb,
		}
		got := ""
		if found := writes.find(ev); found != nil {
			got = found.controller
		}
		if got != tt.want {
			t.Errorf("%s: the writer is %q, want %q", tt.reason, got, tt.want)
		}
	}
}
