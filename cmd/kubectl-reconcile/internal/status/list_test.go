package status

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
)

func widgets() cluster.Kind {
	return cluster.Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
		Resource:         "widgets", Namespaced: true, HasStatus: true,
	}
}

func itemOf(namespace, name, status string, drifted bool) statusItem {
	item := statusItem{StatusItem: v1alpha1.StatusItem{
		Object: v1alpha1.ObjectRef{Namespace: namespace, Name: name},
		Report: inspect.Report{Status: inspect.Status{Status: status}}, Drifted: drifted,
	}, kind: widgets()}
	item.NotReady = item.Report.NotReady()
	return item
}

func TestStatusOrder(t *testing.T) {
	silent := itemOf("a", "silent", inspect.Unknown, false)
	silent.Reason = "no status reported"
	list := newStatusList([]statusItem{
		itemOf("b", "1", inspect.Current, false), itemOf("a", "2", inspect.Current, false), itemOf("a", "1", inspect.Current, false),
		itemOf("z", "drifted", inspect.Current, true), itemOf("a", "failed", inspect.Failed, false), itemOf("a", "late", inspect.InProgress, false),
		itemOf("a", "unknown", inspect.Unknown, false), silent, itemOf("a", "paused", inspect.Suspended, false),
	}, nil)
	var got []string
	for _, item := range list.items {
		got = append(got, item.Object.Namespace+"/"+item.Object.Name)
	}
	want := []string{"a/failed", "a/unknown", "a/silent", "a/late", "a/paused", "z/drifted", "a/1", "a/2", "b/1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the worst first, what is drifted before what is not, then by namespace and name (-want +got):\n%s", diff)
	}
}

func TestStatusChoose(t *testing.T) {
	node := func(name, status string, drifted bool, problems ...string) statusItem {
		item := itemOf("", name, status, drifted)
		item.kind.Namespaced, item.Problems = false, problems
		return item
	}
	const all = "both bad drifted fine paused node sick late faulty idle"
	named := connect.TargetArgs{Types: []string{"nodes"}}
	for _, tt := range []struct {
		o       Options
		want    string
		leftOut int
		reason  string
	}{
		{Options{named: named}, all, 0, "all of what was named"},
		{Options{named: named, drifted: true}, "both drifted late", 0, "--drifted"},
		{Options{named: named, notReady: true}, "both bad sick", 0, "--not-ready; what rests is as its spec asks for"},
		{Options{named: named, drifted: true, notReady: true}, "both bad drifted sick late", 0, "what is either"},
		{Options{}, "both bad drifted fine paused sick late faulty idle", 1, "without a name, what is cluster-scoped and well"},
		{Options{notReady: true}, "both bad sick", 0, "what was not selected is not left out"},
		{Options{output: "wide"}, all, 0, "-o wide shows it"},
		{Options{output: "json"}, all, 0, "programs get all"},
		{Options{conditions: true}, all, 0, "conditions in full are no table"},
		{Options{targets: &connect.TargetFlags{Labels: "a=b"}}, all, 0, "labels name it"},
		{Options{targets: &connect.TargetFlags{Fields: "a=b"}}, all, 0, "and so do fields"},
	} {
		if tt.o.targets == nil {
			tt.o.targets = &connect.TargetFlags{}
		}
		tt.o.targets.Manifests = connect.NewManifestFlags("")
		list := &statusList{items: []statusItem{
			itemOf("a", "both", inspect.Failed, true), itemOf("a", "bad", inspect.Failed, false),
			itemOf("a", "drifted", inspect.Current, true), itemOf("a", "fine", inspect.Current, false),
			itemOf("a", "paused", inspect.Suspended, false),
			node("node", inspect.Current, false), node("sick", inspect.Failed, false), node("late", inspect.Current, true),
			node("faulty", inspect.Current, false, "the generation is text"), node("idle", inspect.Suspended, false),
		}}
		tt.o.choose(list)
		var names []string
		for _, item := range list.items {
			names = append(names, item.Object.Name)
		}
		if got := strings.Join(names, " "); got != tt.want || list.leftOut != tt.leftOut {
			t.Errorf("%s: %s, and %d left out; want %s, and %d", tt.reason, got, list.leftOut, tt.want, tt.leftOut)
		}
	}
}

func TestStatusJSON(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "namespace": "shop", "uid": "u-1", "generation": int64(2), "creationTimestamp": "2026-07-01T12:00:00Z"},
		"spec":     map[string]any{"password": "secret"},
		"status": map[string]any{"observedGeneration": int64(1), "conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(1), "lastTransitionTime": "2026-07-01T12:00:00Z"},
		}},
	}}
	list := newStatusList([]statusItem{newStatusItem(widgets(), obj, nil, statusTime)}, []cluster.Incomplete{{Version: "v1", Resource: "secrets", Reason: cluster.ReasonForbidden}})
	text, err := json.Marshal(list.document())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	item := got["items"].([]any)[0].(map[string]any)
	for path, want := range map[string]any{
		"status": "InProgress", "kstatus": "InProgress", "judgedBy": "Generic", "drifted": true, "notReady": true, "created": "2026-07-01T12:00:00Z",
		"drift":  map[string]any{"generation": 2.0, "observed": 1.0, "state": "Behind"},
		"object": map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "namespace": "shop", "name": "w", "uid": "u-1"},
	} {
		if diff := cmp.Diff(want, item[path]); diff != "" {
			t.Errorf("%s is a promise (-want +got):\n%s", path, diff)
		}
	}
	if got["apiVersion"] != v1alpha1.APIVersion || got["kind"] != "StatusList" || len(got["incomplete"].([]any)) != 1 {
		t.Errorf("the envelope: %s", text)
	}
	if strings.Contains(string(text), "password") {
		t.Errorf("the spec must not be in it: %s", text)
	}
}

// TestStatusFollowsItsSchema checks documents against docs/status.schema.json, and that the schema refuses others.
func TestStatusFollowsItsSchema(t *testing.T) {
	item := itemOf("shop", "a", inspect.Failed, true)
	item.Object.APIVersion, item.Object.Kind, item.Drift.State, item.JudgedBy = "example.com/v1", "Widget", inspect.Behind, inspect.Generic
	item.LastWriter, item.Problems = &fields.Writer{Manager: "kubelet"}, []string{"the generation is text"}
	list := newStatusList([]statusItem{item}, []cluster.Incomplete{{Version: "v1", Resource: "secrets", Reason: cluster.ReasonForbidden}})
	event := v1alpha1.StatusEvent{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.StatusEventKind, Type: "ADDED", Item: item.StatusItem}
	for _, tt := range []struct {
		reason       string
		document     any
		old, updated string
		valid        bool
	}{
		{"a list", list.document(), "", "", true},
		{"a list of nothing", newStatusList(nil, nil).document(), "", "", true},
		{"an event", event, "", "", true},
		{"another kind", list.document(), `"kind":"StatusList"`, `"kind":"List"`, false},
		{"a status that there is not", list.document(), `"status":"Failed"`, `"status":"Broken"`, false},
		{"a field that is not described", list.document(), `"drifted":true`, `"drifted":true,"spec":{}`, false},
		{"another type of event", event, `"type":"ADDED"`, `"type":"NEW"`, false},
	} {
		text, err := json.Marshal(tt.document)
		if err != nil {
			t.Fatal(err)
		}
		broken := strings.Replace(string(text), tt.old, tt.updated, 1)
		if !tt.valid && broken == string(text) {
			t.Errorf("%s: the document has no %s", tt.reason, tt.old)
		}
		err = schematest.Check("../../../../docs/status.schema.json", strings.NewReader(broken))
		if (err == nil) != tt.valid {
			t.Errorf("%s: %v\n%s", tt.reason, err, broken)
		}
	}
}

func TestStatusJSONWithoutItems(t *testing.T) {
	text, err := json.Marshal(newStatusList(nil, nil).document())
	if want := `{"apiVersion":"` + v1alpha1.APIVersion + `","kind":"StatusList","items":[]}`; err != nil || string(text) != want {
		t.Errorf("got %s (%v), want %s: programs expect a list", text, err, want)
	}
}

func TestNamesakes(t *testing.T) {
	other := itemOf("a", "x", inspect.Current, false)
	other.kind.Group, other.Object.Kind = "other.com", "Widget"
	one := itemOf("a", "y", inspect.Current, false)
	one.Object.Kind = "Widget"
	if clash := namesakes([]statusItem{one, other}); !clash["widget"] {
		t.Error("two kinds of one name must keep their groups")
	}
	if clash := namesakes([]statusItem{one, one}); clash["widget"] {
		t.Error("one kind is not its own namesake")
	}
}
