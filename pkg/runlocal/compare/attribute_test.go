package compare

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

func yamlFields(t *testing.T, text string) untyped.Map {
	t.Helper()
	if text == "" {
		return nil
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	podOfRS = `
metadata:
  name: web-1-abcde
  namespace: shop
  labels: {app: web}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u1, controller: true}]
`
	byManager = `  managedFields: [{manager: kube-controller-manager, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:app": {}}}}}]
`
	byUser = `  managedFields: [{manager: kubectl-create, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:app": {}}}}}]
`
	released = "metadata: {name: web-1-abcde, namespace: shop, labels: {app: web}}"
	deleting = "  deletionTimestamp: \"2026-01-02T03:04:05Z\"\n"
)

func TestAttribute(t *testing.T) {
	replicaSet := func(replicas string) string {
		return "metadata: {name: web-1, namespace: shop, uid: u1}\nspec: {replicas: " + replicas + "}\n"
	}
	rsScaled := func(replicas, manager, subresource string) string {
		return `
metadata:
  name: web-1
  namespace: shop
  uid: u1
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true}]
  managedFields: [{manager: ` + manager + `, operation: Update, subresource: "` + subresource +
			`", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}]
spec: {replicas: ` + replicas + `}
`
	}
	all := []string{"deployment", "horizontalpodautoscaling", "replicaset", "statefulset"}
	for _, tc := range []struct {
		name          string
		resource      schema.GroupResource
		before, after string
		state         string // the ReplicaSet
		want          verdict
		controller    string
		key           string
		reason        string
	}{
		{
			name: "pod created", resource: core("pods"), after: podOfRS + byManager, want: isEffect,
			controller: "replicaset", key: "shop/web-1", reason: "a ReplicaSet owns it, and kube-controller-manager wrote it",
		},
		{
			name: "pod created without managed fields", resource: core("pods"), after: podOfRS, want: isEffect,
			controller: "replicaset", key: "shop/web-1", reason: "kubectl leaves managedFields out",
		},
		{
			name: "pod created by a user", resource: core("pods"), after: podOfRS + byUser, want: isInput,
			reason: "somebody else wrote all of its fields",
		},
		{
			name: "pod deleted, too many", resource: core("pods"), before: podOfRS, after: podOfRS + deleting,
			state: replicaSet("0"), want: isEffect, controller: "replicaset", key: "shop/web-1",
			reason: "the ReplicaSet has more pods than it wants",
		},
		{
			name: "pod deleted, not too many", resource: core("pods"), before: podOfRS, after: podOfRS + deleting,
			state: replicaSet("1"), want: isUnattributed,
			reason: "a user may have deleted it, as the ReplicaSet wants it",
		},
		{
			name: "pod deleted, owner gone", resource: core("pods"), before: podOfRS, want: isUnattributed,
			reason: "the garbage collector deletes pods without owners",
		},
		{
			name: "end of a deletion", resource: core("pods"), before: podOfRS + deleting, want: isInput,
			reason: "the kubelet ends what was begun",
		},
		{
			name: "ReplicaSet scaled", resource: apps("replicasets"), before: rsScaled("1", "kube-controller-manager", ""),
			after: rsScaled("3", "kube-controller-manager", ""), want: isEffect, controller: "deployment", key: "shop/web",
			reason: "the Deployment owns it",
		},
		{
			name: "ReplicaSet scaled by a user", resource: apps("replicasets"), before: rsScaled("1", "kubectl", ""),
			after: rsScaled("3", "kubectl", ""), want: isInput, reason: "kubectl manages the field",
		},
		{
			name: "ReplicaSet scaled by an autoscaler", resource: apps("replicasets"),
			before: rsScaled("1", "kube-controller-manager", "scale"),
			after:  rsScaled("3", "kube-controller-manager", "scale"), want: isEffect,
			controller: "horizontalpodautoscaling", reason: "it was scaled by the subresource",
		},
		{
			name: "status", resource: apps("replicasets"), before: replicaSet("1"),
			after: replicaSet("1") + "status: {replicas: 1}\n", want: isEffect, controller: "replicaset",
			key: "shop/web-1", reason: "only its controller writes it",
		},
		{
			name: "pod released", resource: core("pods"), before: podOfRS, after: released, state: replicaSet("1"),
			want: isEffect, controller: "replicaset", key: "shop/web-1", reason: "the ReplicaSet stays",
		},
		{
			name: "pod orphaned", resource: core("pods"), before: podOfRS, after: released,
			state: "metadata: {name: web-1, namespace: shop, uid: u1, deletionTimestamp: \"2026-01-02T03:04:05Z\"}",
			want:  isUnattributed, reason: "the garbage collector removes an owner that is deleted",
		},
		{
			name: "revision", resource: apps("deployments"),
			before: "metadata: {name: web, annotations: {deployment.kubernetes.io/revision: \"1\"}}",
			after:  "metadata: {name: web, annotations: {deployment.kubernetes.io/revision: \"2\"}}",
			want:   isEffect, controller: "deployment", key: "shop/web-1", reason: "it is the controller's annotation",
		},
		{
			name: "annotation removed", resource: apps("deployments"),
			before: "metadata: {name: web, annotations: {example.com/a: b}}", after: "metadata: {name: web}",
			want: isInput, reason: "the controller writes other annotations",
		},
		{
			name: "no change", resource: apps("replicasets"), before: replicaSet("1"), after: replicaSet("1"),
			want: isInput, reason: "an event without a change is no write",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, after := yamlFields(t, tc.before), yamlFields(t, tc.after)
			state := index{}
			pods := &replay.Stream{Version: "v1", Kind: "Pod", Resource: "pods"}
			sets := &replay.Stream{Group: "apps", Version: "v1", Kind: "ReplicaSet", Resource: "replicasets"}
			if tc.resource == core("pods") && before != nil {
				state.set(&event{stream: pods, record: &replay.Record{Namespace: "shop", Name: "web-1-abcde"}}, before)
			}
			if tc.state != "" {
				state.set(&event{stream: sets, record: &replay.Record{Namespace: "shop", Name: "web-1"}},
					yamlFields(t, tc.state))
			}
			name := "web-1"
			if tc.resource == core("pods") {
				name = "web-1-abcde"
			}
			got, made := attribute(all, state, newChange(fields.Mask{Resource: tc.resource}, "shop", name, before, after))
			if got != tc.want || made.controller != tc.controller || made.key != tc.key {
				t.Errorf("verdict %d of %q for %q, want %d of %q for %q: %s", got, made.controller, made.key, tc.want,
					tc.controller, tc.key, tc.reason)
			}
		})
	}
}

// TestEndingJob: a Job's pods are deleted before the Job says that it ends, and only what comes next tells why.
func TestEndingJob(t *testing.T) {
	const job = "metadata: {name: pi, namespace: shop, uid: j1}\nspec: {parallelism: 3}\n"
	pod := yamlFields(t, `
metadata:
  name: pi-0
  namespace: shop
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: pi, uid: j1, controller: true}]
`)
	jobs := &replay.Stream{Group: "batch", Version: "v1", Kind: "Job", Resource: "jobs", Namespaced: true}
	pods := &replay.Stream{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}
	shown := func(stream *replay.Stream, name, text string) *event {
		object, err := json.Marshal(yamlFields(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return &event{stream: stream, record: &replay.Record{Namespace: "shop", Name: name, Object: object}}
	}
	const ending = job + "status: {conditions: [{type: SuccessCriteriaMet, status: \"True\"}]}"
	deletion := shown(pods, "pi-0", "metadata: {name: pi-0}")
	for _, tc := range []struct {
		events []*event
		want   verdict
		reason string
	}{
		{[]*event{deletion, shown(jobs, "pi", ending)}, isEffect, "the status says next that the Job ends"},
		{
			[]*event{deletion, shown(jobs, "other", ending), shown(jobs, "pi", job+"status: {active: 2}"),
				shown(jobs, "pi", ending)},
			isUnattributed, "the Job does not end next",
		},
		{[]*event{shown(jobs, "pi", ending), deletion}, isUnattributed, "the Job says nothing any more"},
	} {
		state := index{}
		state.set(&event{stream: jobs, record: &replay.Record{Namespace: "shop", Name: "pi"}}, yamlFields(t, job))
		c := newChange(fields.Mask{Resource: core("pods")}, "shop", "pi-0", pod, nil)
		got, _ := attribute([]string{"job"}, upcoming{state, &recorded{events: tc.events}, deletion}, c)
		if got != tc.want {
			t.Errorf("verdict %d, want %d: %s", got, tc.want, tc.reason)
		}
	}
}

func TestContentOf(t *testing.T) {
	for _, tc := range []struct {
		name   string
		a, b   string
		verb   Verb
		same   bool
		reason string
	}{
		{
			"times of conditions", "status: {conditions: [{type: Ready, lastTransitionTime: \"2026-01-02T03:04:05Z\"}]}",
			"status: {conditions: [{type: Ready, lastTransitionTime: \"2026-02-02T03:04:05Z\"}]}", VerbUpdateStatus, true,
			"times differ from run to run",
		},
		{
			"message", "status: {conditions: [{type: Ready, message: a}]}", "status: {conditions: [{type: Ready, message: b}]}",
			VerbUpdateStatus, false, "what a controller says is its decision",
		},
		{"spec of a status", "{spec: {replicas: 1}}", "{spec: {replicas: 2}}", VerbUpdateStatus, true, "it is not written"},
		{"spec", "{spec: {replicas: 1}}", "{spec: {replicas: 2}}", VerbUpdate, false, "it is written"},
		{
			"annotation that is a time", "spec: {template: {metadata: {annotations: {at: \"2026-01-02T03:04:05Z\"}}}}",
			"spec: {template: {metadata: {annotations: {at: \"2026-02-02T03:04:05Z\"}}}}", VerbCreate, false,
			"what is in a template was copied, and decides its hash",
		},
		{
			"admission", "spec: {containers: [{name: c, volumeMounts: [{name: kube-api-access-abcde}]}], priority: 0}",
			"spec: {containers: [{name: c}]}", VerbCreate, true, "plugins have added it",
		},
		{
			"uids in another order", "status: {uncounted: {succeeded: [a, b]}}", "status: {uncounted: {succeeded: [b, a]}}",
			VerbUpdateStatus, true, "they are a set, in the order of a cache",
		},
		{
			"endpoints in another order", "{addressType: IPv4, endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}]}",
			"{addressType: IPv4, endpoints: [{addresses: [10.0.0.2]}, {addresses: [10.0.0.1]}]}", VerbUpdate, true,
			"they are in the order of a Go map",
		},
		{"empty", "{metadata: {labels: {}}, spec: {}}", "{}", VerbCreate, true, "empty is absent"},
	} {
		a := contentOf(yamlFields(t, tc.a), tc.verb)
		b := contentOf(yamlFields(t, tc.b), tc.verb)
		if got := contentText(a) == contentText(b); got != tc.same {
			t.Errorf("%s: same is %t, want %t: %s\n%s", tc.name, got, tc.same, tc.reason, cmp.Diff(a, b))
		}
		differ := newHiding(replay.Header{}, nil).differences(core("pods"), a, b)
		if got := len(differ) == 0; got != tc.same {
			t.Errorf("%s: %d differences, though same is %t", tc.name, len(differ), tc.same)
		}
	}
}

func TestTimeline(t *testing.T) {
	at := func(seconds float64) time.Time {
		return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
	}
	start := at(0)
	now := at(1000.5)
	l := newTimeline(start, now)
	if got := l.at(at(10)); !got.Equal(at(1010)) {
		t.Errorf("ten seconds after the start are %s, want %s", got, at(1010))
	}
	// A minute passes in the recording, and a second in the run.
	l.move(at(10), at(70), at(1011.2))
	for _, tc := range []struct {
		recorded, want float64
		reason         string
	}{
		{10, 1010, "what was before stays"},
		{70, 1011, "the moment is now, less what the API does not write"},
		{40, 1010, "what was skipped lies at its beginning"},
		{71, 1012, "after it time passes as it did"},
	} {
		if got := l.at(at(tc.recorded)); !got.Equal(at(tc.want)) {
			t.Errorf("%gs lies at %s, want %s: %s", tc.recorded, got, at(tc.want), tc.reason)
		}
	}
	data := l.shift([]byte(`{"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z",` +
		`"annotations":{"at":"2026-01-02T03:04:05Z"}},"status":{"startTime":"2026-01-02T03:04:06Z","n":12345678901234567}}`))
	want := `{"metadata":{"creationTimestamp":"2026-01-02T03:20:45Z","annotations":{"at":"2026-01-02T03:04:05Z"}},` +
		`"status":{"startTime":"2026-01-02T03:20:46Z","n":12345678901234567}}`
	if string(data) != want {
		t.Errorf("moved %s, want %s", data, want)
	}
}
