package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// shortly is a trace.Sink that notes events in short.
type shortly []string

func (s *shortly) Record(e *trace.Event) {
	text := fmt.Sprintf("%s#%d", e.Type(), e.Reconcile)
	if w, ok := e.Detail.(*trace.Watch); ok {
		text = "watch " + w.Name
	}
	*s = append(*s, text)
}

func TestNarrowed(t *testing.T) {
	object := func(kind, name string) trace.Object {
		group := "apps"
		if kind == "Pod" || kind == "Service" {
			group = ""
		}
		return trace.Object{Group: group, Resource: strings.ToLower(kind) + "s", Kind: kind, Namespace: "shop", Name: name, UID: "uid-" + name}
	}
	owner := func(kind, name string) trace.Object {
		o := object(kind, name)
		o.Resource = ""
		return o
	}
	watch := func(kind, name string, by trace.ReconcileID, owners ...trace.Object) *trace.Event {
		return &trace.Event{Detail: &trace.Watch{Event: trace.Modified, Object: object(kind, name), WrittenBy: by, Owners: owners}}
	}
	event := func(controller string, id trace.ReconcileID, key string, d trace.Detail) *trace.Event {
		return &trace.Event{Controller: controller, Reconcile: id, Key: key, Detail: d}
	}
	start := func(controller string, id trace.ReconcileID, key string, causes ...*trace.Event) *trace.Event {
		s := &trace.Start{}
		for _, c := range causes {
			s.Causes = append(s.Causes, trace.Cause{Type: trace.CauseWatch, Watch: c.Detail.(*trace.Watch)})
		}
		return event(controller, id, key, s)
	}
	write := func(id trace.ReconcileID, kind, name string) *trace.Event {
		return event("", id, "", &trace.Request{Verb: "update", Code: 200, Object: object(kind, name)})
	}
	read := func(id trace.ReconcileID, kind, name string) *trace.Event {
		return event("", id, "", &trace.Request{Verb: "get", Code: 200, Object: object(kind, name)})
	}
	end := func(id trace.ReconcileID) *trace.Event { return event("", id, "", &trace.End{}) }
	for _, row := range []struct {
		reason         string
		objects, trees string // TYPE/NAME
		events         []*trace.Event
		want           string
		unseen         string
	}{
		{"by the key", "deploy/web", "", []*trace.Event{start("deployment", 1, "shop/web"), write(1, "ReplicaSet", "web-1"), end(1)}, "start#1 request#1 end#1", ""},
		{"another key", "deploy/web", "", []*trace.Event{start("deployment", 1, "shop/other"), write(1, "ReplicaSet", "web-1"), end(1)}, "", "deploy/web"},
		{"an object of another kind with that name", "deploy/web", "", []*trace.Event{start("endpointslice", 1, "shop/web"), end(1)}, "", "deploy/web"},
		{"by a write: all of the reconcile", "deploy/web", "", []*trace.Event{start("horizontalpodautoscaling", 1, "shop/hpa"), write(1, "Pod", "x"), write(1, "Deployment", "web"), end(1)}, "start#1 request#1 request#1 end#1", ""},
		{"by a write that is watched before its answer: what reacts to it comes later", "deploy/web", "",
			[]*trace.Event{start("horizontalpodautoscaling", 1, "shop/hpa"), watch("Deployment", "web", 1), start("deployment", 2, "shop/web"), write(1, "Deployment", "web"), end(1), end(2)},
			"start#1 watch web start#2 request#1 end#1 end#2", ""},
		{"what a reconcile that is shown wrote", "deploy/web", "", []*trace.Event{start("deployment", 1, "shop/web"), watch("ReplicaSet", "web-1", 1), watch("ReplicaSet", "web-2", 7), end(1)}, "start#1 watch web-1 end#1", ""},
		{"a read is no reason", "deploy/web", "", []*trace.Event{start("horizontalpodautoscaling", 1, "shop/hpa"), read(1, "Deployment", "web"), end(1)}, "", "deploy/web"},
		{"outside of reconciles", "deploy/web", "", []*trace.Event{write(0, "Deployment", "web"), write(0, "Deployment", "other"), event("", 0, "", &trace.Log{})}, "request#0", ""},
		{"an API Event", "deploy/web", "", []*trace.Event{event("", 0, "", &trace.Request{Verb: "create", Recorded: &trace.RecordedEvent{Regarding: object("Deployment", "web")}})}, "request#0", ""},
		{"a controller whose keys are not in the table", "po/a", "", []*trace.Event{start("taint-eviction", 1, "shop/a", watch("Pod", "a", 0)), end(1), start("taint-eviction", 2, "shop/b", watch("Pod", "a", 0)), end(2)}, "start#1 end#1", ""},
		{"the simulated nodes", "po/a", "", []*trace.Event{start("kubelet", 1, "shop/a"), end(1)}, "start#1 end#1", ""},
		{"an object alone", "deploy/web", "", []*trace.Event{watch("ReplicaSet", "web-1", 0, owner("Deployment", "web")), start("replicaset", 1, "shop/web-1"), end(1)}, "", "deploy/web"},
		{"with what it owns", "", "deploy/web", []*trace.Event{
			watch("Deployment", "web", 0), watch("ReplicaSet", "web-1", 0, owner("Deployment", "web")), watch("Pod", "a", 0, owner("ReplicaSet", "web-1")),
			watch("Pod", "b", 0, owner("ReplicaSet", "other-1")), start("replicaset", 1, "shop/web-1"), start("kubelet", 2, "shop/a"), start("kubelet", 3, "shop/b"),
		}, "watch web watch web-1 watch a start#1 start#2", ""},
		{"the informer of what is owned is faster", "", "deploy/web", []*trace.Event{
			watch("Pod", "a", 0, owner("ReplicaSet", "web-1")), watch("ReplicaSet", "web-1", 0, owner("Deployment", "web")), start("kubelet", 2, "shop/a"),
		}, "watch web-1 start#2", ""},
		{"the root is of a kind that is not watched", "", "deployments/web", []*trace.Event{watch("ReplicaSet", "web-1", 0, owner("Deployment", "web")), start("replicaset", 1, "shop/web-1")}, "watch web-1 start#1", ""},
		{"several names", "svc/web,deploy/x", "", []*trace.Event{watch("Service", "web", 0)}, "watch web", "deploy/x"},
	} {
		var got shortly
		n := Narrowing{Objects: namesOf(t, row.objects), Trees: namesOf(t, row.trees)}
		sink := newNarrowed(n, &got)
		for _, e := range row.events {
			sink.Record(e)
		}
		if diff := cmp.Diff(row.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		if got := strings.Join(sink.unseen(), ","); got != row.unseen {
			t.Errorf("%s: %q was not seen, not %q", row.reason, got, row.unseen)
		}
		for id := range sink.held {
			if ended := slices.ContainsFunc(row.events, func(e *trace.Event) bool { return e.Reconcile == id && e.Type() == trace.TypeEnd }); ended {
				t.Errorf("%s: #%d is still held back", row.reason, id)
			}
		}
	}
}

func namesOf(t *testing.T, list string) []timeline.Name {
	t.Helper()
	if list == "" {
		return nil
	}
	out, err := ObjectNames("object", strings.Split(list, ","), "")
	if err != nil {
		t.Fatal(err)
	}
	return out
}
