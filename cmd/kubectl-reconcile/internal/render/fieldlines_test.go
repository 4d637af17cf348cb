package render

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// fieldLinesOf returns what is written of events that are a millisecond apart.
func fieldLinesOf(t *testing.T, o FieldLinesOptions, events ...*trace.Event) string {
	t.Helper()
	var out bytes.Buffer
	l := NewFieldLines(&out, o)
	l.StartAt(began())
	l.Begin()
	for i, e := range events {
		e.Time = began().Add(time.Duration(i+1) * time.Millisecond)
		l.Record(e)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(out.String(), "\n")
}

// TestFieldLines: who wrote a field, and in reaction to what.
func TestFieldLines(t *testing.T) {
	object := func(kind, name string) trace.Object {
		return trace.Object{Group: "apps", Resource: strings.ToLower(kind) + "s", Kind: kind, Namespace: "shop", Name: name}
	}
	replicas := func(old, updated any) *trace.Change {
		return changed(fields.Change{Path: "metadata.generation", Old: int64(1), New: int64(2)},
			fields.Change{Path: "spec.replicas", Old: old, New: updated})
	}
	by := func(w fields.Writer) *trace.Manager { return trace.ManagerFrom(func() fields.Writer { return w }) }
	you := by(fields.Writer{Manager: "me", Operation: "Apply"})
	scaled := &trace.Watch{Event: trace.Modified, Object: object("Deployment", "web"), ResourceVersion: "7", Change: replicas(int64(1), int64(2)), WrittenBy: 1, Writer: "hpa"}
	added := trace.Cause{Type: trace.CauseWatch, Watch: &trace.Watch{Event: trace.Added, Object: object("Deployment", "web"), Manager: by(fields.Writer{Manager: "me"})}}
	start := func(id trace.ReconcileID, causes ...trace.Cause) *trace.Event {
		return reconcileEvents("deployment", id, "shop/web")(&trace.Start{Causes: causes})
	}
	watch := func(id trace.ReconcileID, change *trace.Change) *trace.Event {
		w := &trace.Watch{Event: trace.Modified, Object: object("ReplicaSet", "web-1"), ResourceVersion: "8", Change: change, WrittenBy: id}
		if id != 0 {
			w.Writer = "deployment"
		}
		return &trace.Event{Detail: w}
	}
	write := func(change func(*trace.Request)) *trace.Event {
		r := &trace.Request{Verb: "update", Object: object("ReplicaSet", "web-1"), Code: 200, DryRun: true, Change: replicas(int64(3), int64(5))}
		change(r)
		return reconcileEvents("deployment", 2, "shop/web")(r)
	}
	outside := func(w fields.Writer) *trace.Event {
		return &trace.Event{Detail: &trace.Watch{Event: trace.Modified, Object: object("Deployment", "web"), ResourceVersion: "7", Change: replicas(int64(1), int64(2)), Manager: by(w)}}
	}
	for _, row := range []struct {
		reason string
		events []*trace.Event
		want   string // of the last line, without its time
	}{
		{"after what you created", []*trace.Event{start(2, added), watch(2, replicas(nil, int64(3)))},
			"ReplicaSet web-1  spec.replicas: 3  by deployment, after Deployment web was created by you"},
		{"of several causes, the one that changed the field", []*trace.Event{start(2, added, trace.Cause{Type: trace.CauseWatch, Watch: scaled}), watch(2, replicas(int64(1), int64(2)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment, after Deployment web was changed by hpa"},
		{"the retry of a reconcile whose cause was that", []*trace.Event{start(1, trace.Cause{Type: trace.CauseWatch, Watch: scaled}), start(2, added, trace.Cause{Type: trace.CauseRetry, Retry: 1, Reconcile: 1}), watch(2, replicas(int64(1), int64(2)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment, after Deployment web was changed by hpa"},
		{"a retry that comes before its time", []*trace.Event{start(1, trace.Cause{Type: trace.CauseWatch, Watch: scaled}), reconcileEvents("deployment", 1, "shop/web")(&trace.End{Outcome: trace.Failed}), start(2, added), watch(2, replicas(int64(1), int64(2)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment, after Deployment web was changed by hpa"},
		{"a reconcile after one that went well", []*trace.Event{start(1, trace.Cause{Type: trace.CauseWatch, Watch: scaled}), reconcileEvents("deployment", 1, "shop/web")(&trace.End{Outcome: trace.Done}), start(2, added), watch(2, replicas(int64(1), int64(2)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment, after Deployment web was created by you"},
		{"a retry has the cause of the first try", []*trace.Event{start(1, added), start(2, trace.Cause{Type: trace.CauseRetry, Retry: 1, Reconcile: 1}), watch(2, replicas(int64(1), nil))},
			"ReplicaSet web-1  spec.replicas: removed  by deployment, after Deployment web was created by you"},
		{"one whose first try is forgotten", []*trace.Event{start(2, trace.Cause{Type: trace.CauseRetry, Retry: 4, Reconcile: 1}), watch(2, replicas(int64(1), int64(0)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 0  by deployment, at retry 4"},
		{"a timer", []*trace.Event{start(2, trace.Cause{Type: trace.CauseTimer, Delay: trace.Duration(time.Minute)}), watch(2, replicas(int64(1), int64(2)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment, after a timer of 1m"},
		{"a loop", []*trace.Event{start(2, trace.Cause{Type: trace.CauseTimer}), watch(2, replicas(int64(1), int64(2)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment, by its own timer"},
		{"another reconcile, of which nothing is known", []*trace.Event{start(2, trace.Cause{Type: trace.CauseReconcile}), watch(2, replicas(int64(1), int64(2)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment, after another reconcile"},
		{"the controller itself", []*trace.Event{start(2, trace.Cause{Type: trace.CauseOther}), watch(2, replicas(int64(1), int64(2)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment, by itself"},
		{"a first list", []*trace.Event{start(2, trace.Cause{Watch: &trace.Watch{Initial: true, Event: trace.Added, Object: object("Deployment", "web")}}), watch(2, replicas(int64(1), int64(2)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment, for Deployment web, which was there before"},
		{"a resync", []*trace.Event{start(2, trace.Cause{Watch: &trace.Watch{Event: trace.Resync, Object: object("Deployment", "web")}}), watch(2, replicas(int64(1), int64(2)))},
			"ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment, at a resync of Deployment web"},
		{"no cause is known", []*trace.Event{start(2), watch(2, replicas(int64(1), int64(2)))}, "ReplicaSet web-1  spec.replicas: 1 -> 2  by deployment"},
		{"you", []*trace.Event{outside(you.Writer())}, "Deployment web  spec.replicas: 1 -> 2  by you (apply)"},
		{"a subresource", []*trace.Event{outside(fields.Writer{Manager: "kubectl", Operation: "Update", Subresource: "scale"})},
			"Deployment web  spec.replicas: 1 -> 2  by kubectl (scale)"},
		{"any client may choose the name of its manager", []*trace.Event{outside(fields.Writer{Manager: "fl\x1bux"})}, "Deployment web  spec.replicas: 1 -> 2  by fl^[ux"},
		{"an unknown writer", []*trace.Event{outside(fields.Writer{})}, "Deployment web  spec.replicas: 1 -> 2  by (somebody)"},
		{"a value from a cluster", []*trace.Event{watch(2, replicas("a", "b\x1b[2J"))}, "ReplicaSet web-1  spec.replicas: a -> b^[[2J  by deployment"},
		{"a creation", []*trace.Event{start(2, added), write(func(r *trace.Request) { r.Verb, r.DryRun, r.Change = "create", false, replicas(nil, int64(3)) })},
			"ReplicaSet web-1  spec.replicas: 3  by deployment, after Deployment web was created by you"},
		{"a dry run", []*trace.Event{start(2, added), write(func(*trace.Request) {})},
			"ReplicaSet web-1  spec.replicas: 3 -> 5  by deployment (dry run), after Deployment web was created by you"},
		{"a write is watched", []*trace.Event{write(func(r *trace.Request) { r.DryRun = false })}, ""},
		{"a write that was refused", []*trace.Event{write(func(r *trace.Request) { r.Code = 409 })}, ""},
		{"of a binding nothing is created", []*trace.Event{write(func(r *trace.Request) { r.Verb, r.Subresource, r.DryRun = "create", "binding", false })}, ""},
		{"another field", []*trace.Event{watch(2, changed(fields.Change{Path: "spec.replicasets", New: int64(1)}))}, ""},
		{"another namespace", []*trace.Event{{Detail: &trace.Watch{Event: trace.Modified, Object: trace.Object{Kind: "Job", Namespace: "x", Name: "a"}, Change: replicas(int64(1), int64(2))}}},
			"Job x/a  spec.replicas: 1 -> 2  by (somebody)"},
	} {
		got := fieldLinesOf(t, FieldLinesOptions{Fields: []string{"spec.replicas"}, FieldManager: "me", Namespace: "shop"}, row.events...)
		if got != "" {
			if !strings.HasPrefix(got, "+0.00") || strings.Count(got, "\n") != 1 {
				t.Errorf("%s: %q", row.reason, got)
			}
			got = strings.TrimSpace(got[10:])
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestFieldLinesOnce: informers of several factories deliver one change, and a dry write is tried again and again; an
// object that was deleted may be created again.
func TestFieldLinesOnce(t *testing.T) {
	of := trace.Object{Resource: "jobs", Kind: "Job", Name: "a"}
	watch := func(version string, from, to int64) *trace.Event {
		return &trace.Event{Detail: &trace.Watch{Event: trace.Modified, Object: of, ResourceVersion: version,
			Change: changed(fields.Change{Path: "spec.n", Old: from, New: to})}}
	}
	write := func(to int64) *trace.Event {
		return &trace.Event{Controller: "job", Detail: &trace.Request{Verb: "update", DryRun: true, Code: 200, Object: of,
			Change: changed(fields.Change{Path: "spec.n", Old: int64(1), New: to})}}
	}
	create := func(version string) *trace.Event {
		return &trace.Event{Controller: "job", Detail: &trace.Request{Verb: "create", Code: 201, Object: of, ResourceVersion: version,
			Change: changed(fields.Change{Path: "spec.n", New: int64(7)})}}
	}
	got := fieldLinesOf(t, FieldLinesOptions{Fields: []string{"spec.n", "spec"}},
		watch("1", 0, 1), watch("2", 1, 2), watch("2", 1, 2), watch("2", 0, 2), watch("3", 2, 1),
		write(5), write(5), write(6), create("4"), create("5"))
	want := `+0.001s   Job a  spec.n: 0 -> 1  by (somebody)
+0.002s   Job a  spec.n: 1 -> 2  by (somebody)
+0.005s   Job a  spec.n: 2 -> 1  by (somebody)
+0.006s   Job a  spec.n: 1 -> 5  by job (dry run)
+0.008s   Job a  spec.n: 1 -> 6  by job (dry run)
+0.009s   Job a  spec.n: 7  by job
+0.010s   Job a  spec.n: 7  by job
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFieldLinesWait: what happens before the run begins is written when it does, with the time before that.
func TestFieldLinesWait(t *testing.T) {
	var out bytes.Buffer
	l := NewFieldLines(&out, FieldLinesOptions{Fields: []string{"spec.n", "spec.m"}})
	l.Record(&trace.Event{Time: began(), Detail: &trace.Watch{Event: trace.Modified, Object: trace.Object{Kind: "Job", Name: "a"},
		Change: changed(fields.Change{Path: "spec.n", Old: int64(0), New: int64(1)})}})
	if out.Len() > 0 {
		t.Errorf("too early: %q", out.String())
	}
	l.StartAt(began().Add(time.Second))
	l.Begin()
	if diff := cmp.Diff("\n-1.000s   Job a  spec.n: 0 -> 1  by (somebody)\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"spec.m"}, l.Unchanged()); diff != "" {
		t.Errorf("unchanged (-want +got):\n%s", diff)
	}
}

func TestFieldLinesReportErrors(t *testing.T) {
	l := NewFieldLines(&brokenWriter{}, FieldLinesOptions{Fields: []string{"spec"}})
	l.Begin()
	for range 2 {
		l.Record(&trace.Event{Detail: &trace.Request{Verb: "create", Code: 201, Change: changed(fields.Change{Path: "spec"})}})
	}
	if err := l.Close(); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}
