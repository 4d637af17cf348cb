package timeline

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// trace appends an event of a trace.
func (r *recording) trace(e *trace.Event) {
	r.t.Helper()
	e.Seq, e.Time = uint64(len(r.Records)), r.now
	line, err := json.Marshal(e)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Append(&replay.Record{Time: r.now, Type: replay.TypeTrace, Object: line})
}

func TestReconcileEntries(t *testing.T) {
	r := newRecording(t)
	web := trace.Object{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: "shop", Name: "web", UID: "u"}
	reconcile := func(d trace.Detail) {
		r.trace(&trace.Event{Controller: "deployment", Reconcile: 3, Key: "shop/web", Detail: d})
	}
	reconcile(&trace.Start{MoreCauses: 2, Causes: []trace.Cause{
		{Type: trace.CauseWatch, Watch: &trace.Watch{Event: trace.Modified, Object: web, ResourceVersion: "8", WrittenBy: 1, Writer: "hpa"}},
		{Type: trace.CauseRetry, Reconcile: 2},
	}})
	reconcile(&trace.Log{Message: "syncing"})
	reconcile(&trace.Request{Verb: "get", Object: web, Code: 200})
	reconcile(&trace.Request{Verb: "update", Object: web, Subresource: "status", Code: 409, Message: "conflict"})
	reconcile(&trace.Request{Verb: "create", Object: trace.Object{Version: "v1", Resource: "events"}, Code: 201, Recorded: &trace.RecordedEvent{}})
	reconcile(&trace.End{Outcome: trace.Failed, PutOff: "pods", Duration: trace.Duration(time.Millisecond), Error: "conflict"})
	r.Append(&replay.Record{Time: r.now, Type: replay.TypeTrace, Object: []byte(`{"kind":"Other"}`)})
	object := Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "u"}
	want := []*Entry{
		{Number: 6, Time: start, Type: Reconciled, Reconcile: &Reconcile{
			Controller: "deployment", Number: 3, Key: "shop/web", MoreCauses: 2,
			Causes: []Cause{
				{Type: "watch", Event: "MODIFIED", Object: &object, ResourceVersion: "8", Reconcile: 1, Writer: "hpa"}, {Type: "retry", Reconcile: 2},
			},
			Writes:  []Write{{Verb: "update", Object: object, Subresource: "status", Code: 409, Message: "conflict"}},
			Outcome: "failed", PutOff: "pods", Duration: "1ms", Error: "conflict",
		}},
		{Number: 7, Time: start, Type: Reconciled, Problem: `not a TraceEvent of kubectl-reconcile.github.io/v1alpha1, but a "Other" of ""`},
	}
	if diff := cmp.Diff(want, r.entries(Options{}), cmpopts.IgnoreUnexported(Entry{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, row := range []struct {
		reason string
		filter Filter
		want   bool
	}{
		{"its controller", Filter{Writers: []string{"deployment"}}, true},
		{"another controller", Filter{Writers: []string{"job"}}, false},
		{"an object that it wrote", Filter{Objects: []Name{{Kind: "deploy", Name: "web"}}}, true},
		{"another object", Filter{Objects: []Name{{Kind: "deploy", Name: "other"}}}, false},
		{"its namespace", Filter{Namespace: "shop"}, true},
		{"another namespace", Filter{Namespace: "other"}, false},
		{"a field: reconciles have none", Filter{Fields: []string{"spec"}}, false},
	} {
		got := strings.Contains(names(r.entries(Options{Filter: row.filter})), string(Reconciled))
		if got != row.want {
			t.Errorf("%s: %t", row.reason, got)
		}
	}
}

// TestWrites: what a reconcile wrote is known to be of it, also if the trace comes after the change.
func TestWrites(t *testing.T) {
	r := newRecording(t)
	r.trace(&trace.Event{Detail: &trace.Watch{Event: trace.Added, Object: trace.Object{Kind: "Pod", Name: "before"}, ResourceVersion: "5", WrittenBy: 1, Writer: "job"}})
	for _, name := range []string{"before", "after", "other", "audited"} {
		version := map[string]string{"before": "5", "after": "6", "other": "7", "audited": "8"}[name]
		r.object(replay.TypeAdded, "Pod", `{"metadata":{"name":"`+name+`","uid":"`+name+`","resourceVersion":"`+version+`"}}`)
	}
	r.trace(&trace.Event{Controller: "replicaset", Reconcile: 2, Detail: &trace.Request{Verb: "create", Object: trace.Object{Kind: "Pod", Name: "after"}, Code: 201, ResourceVersion: "6"}})
	r.object(replay.TypeDeleted, "Pod", `{"metadata":{"name":"audited","uid":"audited","resourceVersion":"9"}}`)
	audited := trace.Object{Kind: "Pod", Name: "audited", UID: "audited"}
	r.trace(&trace.Event{Detail: &trace.Request{Verb: "create", Object: audited, Code: 201, ResourceVersion: "8", User: "jane"}})
	r.trace(&trace.Event{Detail: &trace.Request{Verb: "create", Object: trace.Object{Kind: "Pod", Name: "before"}, Code: 201, ResourceVersion: "5", User: "jane"}})
	r.trace(&trace.Event{Detail: &trace.Request{Verb: "delete", Object: audited, Code: 200, User: "joe"}})
	writers := func(o Options) string {
		var out []string
		for _, e := range r.entries(o) {
			out = append(out, e.Object.Name+" by "+e.Writer.Name())
		}
		return strings.Join(out, ", ")
	}
	if diff := cmp.Diff("before by job, after by , other by , audited by , audited by ", writers(Options{})); diff != "" {
		t.Errorf("as it comes (-want +got):\n%s", diff)
	}
	if err := r.Rewind(); err != nil {
		t.Fatal(err)
	}
	var ahead Options
	if err := ReadAhead(&r.Memory, &ahead); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("before by job, after by replicaset, other by , audited by jane, audited by joe", writers(ahead)); diff != "" {
		t.Errorf("read ahead (-want +got):\n%s", diff)
	}
}

// TestManyWrites: memory is bounded, and the newest are known.
func TestManyWrites(t *testing.T) {
	w := &Writes{}
	o := trace.Object{Name: "a"}
	for n := range 3 * maxTracedWrites {
		w.add(o, string(rune('a'+n%7))+time.Duration(n).String(), &Writer{Controller: "job"})
	}
	if n := len(w.newest) + len(w.older); n > 2*maxTracedWrites {
		t.Errorf("%d are kept", n)
	}
	last := 3*maxTracedWrites - 1
	if w.of("", "a", string(rune('a'+last%7))+time.Duration(last).String()) == nil {
		t.Error("the last is not known")
	}
}
