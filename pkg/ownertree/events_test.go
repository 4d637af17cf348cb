package ownertree_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// report makes an Event about an object, minutes ago, the last time.
func (s *sandbox) report(about *unstructured.Unstructured, uid, kind, reason string, minutes int) {
	s.Helper()
	namespace := about.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	last := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC).Add(-time.Duration(minutes) * time.Minute).Format(time.RFC3339)
	s.create(namespace, fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {generateName: e-}, type: %s, reason: %s, message: "of %s", count: 3, firstTimestamp: "2026-03-04T10:00:00Z", lastTimestamp: %q,
		source: {component: tester}, involvedObject: {apiVersion: %q, kind: %s, namespace: %q, name: %s, uid: %q}}`,
		kind, reason, about.GetName(), last, about.GetAPIVersion(), about.GetKind(), about.GetNamespace(), about.GetName(), uid))
}

func withoutVersion(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	out.SetAPIVersion("")
	return out
}

func eventLines(found map[*ownertree.Node][]ownertree.Event, nodes []*ownertree.Node) []string {
	var out []string
	for _, n := range nodes {
		for _, e := range found[n] {
			out = append(out, fmt.Sprintf("%s %s %s %d %s %s", n.Name, e.Type, e.Reason, e.Count, e.Last.UTC().Format(time.TimeOnly), e.By))
		}
	}
	return out
}

// TestEvents: those of the objects asked for, whatever their namespace, and not those of another object that had the
// name.
func TestEvents(t *testing.T) {
	s, w := startRecorded(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: b}}")
	first, second, third := s.configMap("a", "first"), s.configMap("a", "second"), s.configMap("b", "third")
	node := s.create("", "{apiVersion: v1, kind: Node, metadata: {name: node-1}}")
	set := s.create("b", setOf("set", ""))
	s.report(first, string(first.GetUID()), "Warning", "Failed", 5)
	s.report(first, string(first.GetUID()), "Normal", "Made", 1)
	s.report(first, "3f2a7c11-0000-4000-8000-000000000000", "Warning", "OfAnother", 1)
	s.report(second, "", "Warning", "WithoutUID", 2)
	s.report(third, string(third.GetUID()), "Warning", "Failed", 3)
	s.report(withoutVersion(set), string(set.GetUID()), "Warning", "WithoutVersion", 6)
	s.report(node, "node-1", "Warning", "Rebooted", 4)
	s.create("a", fmt.Sprintf(`{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: series}, type: Warning, reason: Often, action: Try, reportingController: tester, reportingInstance: t,
		eventTime: "2026-03-04T11:00:00.000000Z", series: {count: 7, lastObservedTime: "2026-03-04T11:59:30.000000Z"},
		regarding: {apiVersion: v1, kind: ConfigMap, namespace: a, name: second, uid: %s}}`, second.GetUID()))
	g := s.collect(ownertree.Scope{})
	nodes := map[string]*ownertree.Node{}
	for _, obj := range []*unstructured.Unstructured{first, second, third, node, set} {
		nodes[obj.GetName()] = g.ByUID(obj.GetUID())
	}
	for _, tt := range []struct {
		reason  string
		names   []string
		options ownertree.EventOptions
		want    []string
		asked   int
	}{
		{"of one object, the last first", []string{"first"}, ownertree.EventOptions{}, []string{"first Normal Made 3 11:59:00 tester", "first Warning Failed 3 11:55:00 tester"}, 1},
		{"Warnings alone", []string{"first"}, ownertree.EventOptions{Warnings: true}, []string{"first Warning Failed 3 11:55:00 tester"}, 1},
		{
			"of several, by a list of the namespace, in both forms", []string{"first", "second"}, ownertree.EventOptions{Warnings: true},
			[]string{"first Warning Failed 3 11:55:00 tester", "second Warning Often 7 11:59:30 tester", "second Warning WithoutUID 3 11:58:00 tester"}, 1,
		},
		{
			"of several namespaces, and of none", []string{"third", "node-1"}, ownertree.EventOptions{},
			[]string{"third Warning Failed 3 11:57:00 tester", "node-1 Warning Rebooted 3 11:56:00 tester"}, 2,
		},
		{
			"of one that the Event names without its API version", []string{"set"}, ownertree.EventOptions{},
			[]string{"set Warning WithoutVersion 3 11:54:00 tester"}, 1,
		},
		{"of nothing", nil, ownertree.EventOptions{}, nil, 0},
	} {
		var of []*ownertree.Node
		for _, name := range tt.names {
			of = append(of, nodes[name])
		}
		w.asked()
		found, missing, err := g.Events(t.Context(), s.reader, of, tt.options)
		if err != nil || len(missing) > 0 {
			t.Fatalf("incomplete: %v, %v", missing, err)
		}
		if diff := cmp.Diff(tt.want, eventLines(found, of)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if asked := w.asked(); len(asked) != tt.asked {
			t.Errorf("%s: %d requests, want %d: %v", tt.reason, len(asked), tt.asked, asked)
		}
	}
	w.forbid = "events"
	found, missing, err := g.Events(t.Context(), s.reader, []*ownertree.Node{nodes["first"]}, ownertree.EventOptions{})
	if err != nil || len(found) > 0 || len(missing) != 1 || missing[0].Resource != "events" || missing[0].Reason != "Forbidden" {
		t.Errorf("%v, incomplete: %v, %v; want events, forbidden", found, missing, err)
	}
}

// TestEventsOfManyNamespaces: one list is read for many namespaces, and if that is forbidden, one for each.
func TestEventsOfManyNamespaces(t *testing.T) {
	s, w := startRecorded(t)
	var made []*unstructured.Unstructured
	for i := range 6 {
		namespace := fmt.Sprintf("n%d", i)
		s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
		obj := s.configMap(namespace, "o")
		s.report(obj, string(obj.GetUID()), "Warning", "Failed", i)
		made = append(made, obj)
	}
	for i := range 15 {
		s.report(made[0], string(made[0].GetUID()), "Normal", fmt.Sprintf("More%d", i), i)
	}
	g := s.collect(ownertree.Scope{})
	var nodes []*ownertree.Node
	for _, obj := range made {
		nodes = append(nodes, g.ByUID(obj.GetUID()))
	}
	w.asked()
	for _, forbid := range []string{"", "/api/v1/events"} {
		w.forbidPath = forbid
		found, missing, err := g.Events(t.Context(), s.reader, nodes, ownertree.EventOptions{})
		if err != nil || len(missing) > 0 || len(found) != 6 {
			t.Errorf("events of %d objects, incomplete: %v, %v; want those of 6", len(found), missing, err)
		}
		if n := len(found[nodes[0]]); n != 10 {
			t.Errorf("%d events of one object, want the last 10", n)
		}
	}
	if asked := w.asked(); len(asked) != 1+1+6 {
		t.Errorf("%d requests: %s", len(asked), strings.Join(asked, ", "))
	}
}

// TestEventsOfQuota lets the real StatefulSet controller report that a quota keeps it from making pods, which nothing
// else tells.
func TestEventsOfQuota(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	s.create("shop", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}")
	s.control("statefulset", "resourcequota")
	quota := s.create("shop", "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: 1}}}")
	s.eventually("the quota is counted", func() bool {
		hard, _, _ := unstructured.NestedString(s.get(quota).Object, "status", "hard", "pods")
		return hard == "1"
	})
	set := s.create("shop", setOf("db", ""))
	kinds := s.kinds()
	s.eventually("the controller has reported it", func() bool {
		refs := []ownertree.Ref{s.ref("statefulset", "db")}
		g, nodes := s.load(kinds, ownertree.ScopeOf(refs, true), refs...)
		found, missing, err := g.Events(t.Context(), s.reader, nodes, ownertree.EventOptions{Warnings: true})
		if err != nil || len(missing) > 0 {
			t.Fatalf("incomplete: %v, %v", missing, err)
		}
		events := found[g.ByUID(set.GetUID())]
		return len(events) > 0 && events[0].Reason == "FailedCreate" && strings.Contains(events[0].Message, "exceeded quota: q")
	})
}

// TestEventsAreBounded: of very many not all are read, and that is reported.
func TestEventsAreBounded(t *testing.T) {
	s := newSynthetic(t, 1)
	s.kinds = append(s.kinds, metav1.APIResource{Name: "events", Kind: "Event", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}})
	discovery := encodeJSON(t, map[string]any{"groupVersion": "v1", "resources": s.kinds})
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.HandleFunc("/api/v1", func(w http.ResponseWriter, _ *http.Request) { answer(w, "application/json", discovery) })
	var items []any
	for i := range 10_001 {
		items = append(items, map[string]any{
			"metadata": map[string]any{"name": fmt.Sprint(i), "uid": fmt.Sprint(i)}, "reason": "Often", "type": "Warning",
			"involvedObject": map[string]any{"apiVersion": "v1", "kind": "Deployment", "namespace": "namespace-0", "name": "deployment-00000"},
		})
	}
	list := encodeJSON(t, map[string]any{"kind": "EventList", "apiVersion": "v1", "metadata": map[string]any{}, "items": items})
	mux.HandleFunc("/api/v1/namespaces/namespace-0/events", func(w http.ResponseWriter, _ *http.Request) { answer(w, "application/json", list) })
	reader, kinds := connect(t, mux)
	g, err := ownertree.Collect(t.Context(), reader, kinds, ownertree.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	found, missing, err := g.Events(t.Context(), reader, g.Roots(), ownertree.EventOptions{})
	if err != nil || len(found) != 1 || len(missing) != 1 || missing[0].Reason != "TooMany" || missing[0].Resource != "events" {
		t.Errorf("events of %d objects, incomplete: %v, %v; want some, and that they are too many", len(found), missing, err)
	}
}
