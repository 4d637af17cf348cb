package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func loaded(events ...*event) *recorded {
	return &recorded{events: events, writes: newTracedWrites(), result: &Result{}}
}

func recordOf(resource, name, version string, kind replay.Type) *event {
	return &event{
		record: &replay.Record{Type: kind, Namespace: "shop", Name: name, ResourceVersion: version},
		stream: &replay.Stream{Version: "v1", Resource: resource},
	}
}

func orderOf(l *recorded) string {
	var out []string
	for _, ev := range l.events {
		out = append(out, ev.record.Name+" "+ev.record.ResourceVersion)
	}
	return strings.Join(out, ", ")
}

// TestSort: a watch of one kind may be late, and so may its first list; what a relist has shown is known from then on.
func TestSort(t *testing.T) {
	relisted := recordOf("services", "api", "5", replay.TypeModified)
	relisted.record.Relisted = true
	l := loaded(
		recordOf("configmaps", "ca", "20", replay.TypeAdded),
		recordOf("services", "api", "9", replay.TypeListItem),
		recordOf("pods", "web", "15", replay.TypeAdded),
		recordOf("pods", "web", "16", replay.TypeListItem),
		relisted,
		recordOf("pods", "web", "16", replay.TypeDeleted),
		recordOf("pods", "web", "30", replay.TypeAdded),
	)
	l.sort()
	want := "api 9, web 15, ca 20, web 16, api 5, web 16, web 30"
	if diff := cmp.Diff(want, orderOf(l)); diff != "" {
		t.Errorf("the order is (-want +got):\n%s", diff)
	}
}

// TestPostpone: what the recorded controller need not have seen yet is played after what it wrote, if that differed.
func TestPostpone(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	by := func(ev *event, started time.Duration) *event {
		ev.effect = &effect{isTraced: true, started: began.Add(started)}
		return ev
	}
	for _, tt := range []struct {
		reason    string
		delivered time.Duration // of pod version 12
		compared  bool
		want      string
	}{
		{"it may not have been seen", 3 * time.Millisecond, true, "web 11, api 13, ends 15, web 12, web 16, slice 14, web 17"},
		{"it was seen", time.Millisecond, true, "web 11, web 12, api 13, slice 14, web 16, ends 15, web 17"},
		{"nothing was different", 3 * time.Millisecond, false, "web 11, web 12, api 13, slice 14, web 16, ends 15, web 17"},
	} {
		different := by(recordOf("endpoints", "ends", "15", replay.TypeAdded), 2*time.Millisecond)
		different.compared = tt.compared
		l := loaded(
			recordOf("pods", "web", "11", replay.TypeAdded),
			recordOf("pods", "web", "12", replay.TypeModified),
			recordOf("services", "api", "13", replay.TypeAdded),
			by(recordOf("endpointslices", "slice", "14", replay.TypeAdded), 4*time.Millisecond),
			recordOf("pods", "web", "16", replay.TypeModified), // which no informer has delivered
			different,
			recordOf("pods", "web", "17", replay.TypeDeleted),
		)
		for version, at := range map[string]time.Duration{"11": 0, "12": tt.delivered, "17": 9 * time.Millisecond} {
			addTraced(t, l.writes, &trace.Event{Time: began.Add(at), Detail: &trace.Watch{
				Event:           trace.Modified,
				Object:          trace.Object{Version: "v1", Resource: "pods", Namespace: "shop", Name: "web"},
				ResourceVersion: version,
			}})
		}
		moved := l.postpone()
		if diff := cmp.Diff(tt.want, orderOf(l)); diff != "" || moved != strings.HasPrefix(tt.want, "web 11, api") {
			t.Errorf("%s: moved %v, and the order is (-want +got):\n%s", tt.reason, moved, diff)
		}
	}
}

// TestBefore: what a controller wrote because of a version from before the first list is not missing, if it is not made.
func TestBefore(t *testing.T) {
	withObject := func(ev *event, replicas string) *event {
		ev.record.Object = []byte(`{"metadata":{"name":"` + ev.record.Name + `","namespace":"shop"},"spec":{"replicas":` + replicas + `}}`)
		return ev
	}
	for _, tt := range []struct {
		reason, cause, name string
		want                int
	}{
		{"it was caused by a version from before the list", "8", "web", 1},
		{"by the version of the list", "9", "web", 0},
		{"by an object that no list has shown", "8", "api", 0},
	} {
		written := withObject(recordOf("replicasets", "web", "10", replay.TypeModified), "2")
		l := loaded(withObject(recordOf("replicasets", "web", "9", replay.TypeListItem), "1"), written)
		l.hiding = newHiding(replay.Header{}, nil)
		err := l.attribute(func(known, *event, *change) (verdict, effect) {
			watch := &trace.Watch{Object: trace.Object{Resource: "replicasets", Namespace: "shop", Name: tt.name}}
			watch.ResourceVersion = tt.cause
			return isEffect, effect{controller: "c", causes: []trace.Cause{{Type: trace.CauseReconcile}, {Type: trace.CauseWatch, Watch: watch}}}
		})
		if err != nil {
			t.Fatal(err)
		}
		r := &run{result: l.result, keys: map[keyID]*keyState{}}
		r.judge(written, false)
		if got, missing := r.result.Before, len(r.key(keyID{"c", ""}).result.Missing); got != tt.want || missing != 1-tt.want {
			t.Errorf("%s: %d from before, %d missing", tt.reason, got, missing)
		}
	}
}
