package session

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestHeadline(t *testing.T) {
	for _, tt := range []struct {
		outcome      runlocal.Outcome
		want, reason string
	}{
		{"ready", "ready after 1.50s", "the goal was reached"},
		{"settled", "settled after 1.50s", "the goal was reached"},
		{"elapsed", "ended after 1.50s", "the time was over: what came of it is below"},
		{"interrupted", "interrupted after 1.50s", "the goal was not reached"},
		{runlocal.OutcomeTimedOut, "not ready after 1.50s", "the goal was not reached"},
		{runlocal.OutcomeStuck, "not ready, gave up after 1.50s", "nor would it ever be"},
		{runlocal.OutcomeFailed, "failed after 1.50s", "an error ended it"},
	} {
		r := &result{goal: runlocal.Goal{Type: runlocal.GoalReady}, outcome: tt.outcome,
			elapsed: 1500 * time.Millisecond}
		if got := r.headline(); got != tt.want {
			t.Errorf("%s: %q, want %q: %s", tt.outcome, got, tt.want, tt.reason)
		}
	}
	endless := &result{goal: runlocal.Goal{Type: runlocal.GoalInterrupted}, outcome: "interrupted"}
	if got, want := endless.headline(), "ended after 0.00s"; got != want {
		t.Errorf("without a goal: %q, want %q", got, want)
	}
	late := result{outcome: runlocal.OutcomeStuck,
		pending: []pendingKey{{Controller: "job", Key: "default/j", In: trace.Duration(13700 * time.Millisecond)}}}
	if got, want := late.headline(),
		"not ready, gave up after 0.00s; the next key, job default/j, is due in 13.7s"; got != want {
		t.Errorf("headline %q, want %q", got, want)
	}
}

// readyResult returns the result of a run with one object that was applied and one that was created.
func readyResult() *result {
	deployment := runlocal.Applied{
		Kind:      schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource:  schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Namespace: "shop", Name: "web",
	}
	pod := runlocal.Applied{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespace: "shop", Name: "web-1"}
	return &result{
		outcome: "ready", elapsed: time.Second,
		objects: runlocal.Readiness{
			Applied: []runlocal.ObjectStatus{{Applied: deployment, Status: inspect.Status{Status: "Current",
				Ready: "1/1", Reason: "calm", Message: "fine"}}},
			Created: []runlocal.ObjectStatus{{Applied: pod, Status: inspect.Status{Status: "InProgress",
				Ready: "0/1"}}},
		},
		pending: []pendingKey{{"deployment", "shop/web", trace.Duration(time.Minute), 2}},
	}
}

func TestSummaryDocument(t *testing.T) {
	r := readyResult()
	got, err := json.Marshal(r.document(false))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"kubectl-reconcile.github.io/v1alpha1","kind":"TraceSummary","outcome":"ready","elapsed":"1s","controllers":[],` +
		`"objects":[{"group":"apps","version":"v1","resource":"deployments","objectKind":"Deployment","namespace":"shop","name":"web","applied":true,"status":"Current","ready":"1/1","reason":"calm","message":"fine"},` +
		`{"version":"v1","resource":"pods","objectKind":"Pod","namespace":"shop","name":"web-1","status":"InProgress","ready":"0/1"}],` +
		`"pending":[{"controller":"deployment","key":"shop/web","in":"1m0s","retry":2}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the summary is a promise to programs (-want +got):\n%s", diff)
	}
}

func TestSummaryDocumentOfACluster(t *testing.T) {
	r := result{
		outcome: "settled", trace: recorded{written: []trace.WriteCount{{Verb: "create", Resource: "pods", Objects: 1,
			Writes: 2}},
			refused: []trace.WriteCount{{Verb: "create", Resource: "pods", Objects: 1, Writes: 3, Code: 403,
				Message: "no"}},
			failing:    []trace.FailingKey{{Controller: "job", Key: "shop/j", Failures: 3, Error: "no"}},
			unverified: make([]trace.FailingKey, 2)},
	}
	for dry, word := range map[bool]string{true: "wouldWrite", false: "wrote"} {
		got, err := json.Marshal(r.document(dry))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"apiVersion":"kubectl-reconcile.github.io/v1alpha1","kind":"TraceSummary","outcome":"settled","elapsed":"0s","controllers":[],` +
			`"` + word + `":[{"verb":"create","resource":"pods","objects":1,"writes":2}],` +
			`"refused":[{"verb":"create","resource":"pods","objects":1,"writes":3,"code":403,"message":"no"}],` +
			`"unknown":2,"failing":[{"controller":"job","key":"shop/j","failures":3,"error":"no"}]}`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("dry is %t (-want +got):\n%s", dry, diff)
		}
	}
}

func TestObjectRows(t *testing.T) {
	want := []render.ObjectRow{
		{Namespace: "shop", Name: "deployment.apps/web", Status: inspect.Status{Ready: "1/1", Status: "Current",
			Reason: "calm", Message: "fine"}},
		{Namespace: "shop", Name: "pod/web-1", Status: inspect.Status{Ready: "0/1", Status: "InProgress"}, Fold: "pod"},
	}
	if diff := cmp.Diff(want, objectRows(readyResult().objects)); diff != "" {
		t.Errorf("what was applied has its own row, what was created may be folded (-want +got):\n%s", diff)
	}
}

// TestFailingKeysAreMarked: they are what has not succeeded at the end.
func TestFailingKeysAreMarked(t *testing.T) {
	var out bytes.Buffer
	o := &Options{Palette: render.NewPalette(&out, render.ColorAlways, func(string) string { return "" })}
	(&Outputs{o: o, notes: &out}).printFailing([]trace.FailingKey{
		{Controller: "job", Key: "shop/\x1bj", Failures: 3, Error: `pods "j-x" is forbidden: exceeded quota`},
	})
	want := o.Palette.Trouble("failing:") + " job shop/^[j, 3 times: exceeded quota\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestObjectsText(t *testing.T) {
	hpa, web := objectOf("autoscaling", "HorizontalPodAutoscaler", "web", "Degraded"),
		objectOf("apps", "Deployment", "web", "Current")
	for _, tt := range []struct {
		reason string
		r      result
		want   string
	}{
		{"settled, and all is ready", result{outcome: "settled",
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web}}}, ""},
		{"settled, and one is not ready", result{outcome: "settled",
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web, hpa}}},
			", but 1 object is not ready: horizontalpodautoscaler.autoscaling/web Degraded"},
		{"many are counted", result{outcome: "settled",
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{hpa, hpa, hpa, hpa}}},
			", but 4 objects are not ready: horizontalpodautoscaler.autoscaling/web Degraded, horizontalpodautoscaler.autoscaling/web Degraded, " +
				"horizontalpodautoscaler.autoscaling/web Degraded and 1 more"},
	} {
		if got := tt.r.objectsText(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

func TestWriteRows(t *testing.T) {
	count := func(verb, group, resource, subresource string, objects, writes int, refusal ...any) trace.WriteCount {
		w := trace.WriteCount{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Objects: objects,
			Writes: writes}
		if len(refusal) > 0 {
			w.Code, w.Message = refusal[0].(int), refusal[1].(string)
		}
		return w
	}
	accepted := []trace.WriteCount{
		count("update", "apps", "deployments", "status", 2, 3), count("create", "", "pods", "", 1, 1),
		count("create", "apps", "replicasets", "", 2, 2),
	}
	fenced := count("update", "apps", "daemonsets", "", 1, 1, 0, "writing without a Lease: m has taken it")
	fenced.NotSent = true
	refused := []trace.WriteCount{
		count("update", "apps", "daemonsets", "", 1, 1, 0, "connection refused"), fenced,
		count("create", "apps", "replicasets", "", 1, 2, 403, `replicasets.apps "refused" is forbidden: nor this`),
		count("create", "apps", "replicasets", "", 1, 1, 409, "already exists"),
	}
	var refusals []string
	for _, r := range refused {
		refusals = append(refusals, refusalText(r))
	}
	if diff := cmp.Diff([]string{
		"update daemonsets.apps got no answer 1 time: connection refused",
		"update daemonsets.apps was not sent 1 time: writing without a Lease: m has taken it",
		"create replicasets.apps was refused 2 times (403): nor this",
		"create replicasets.apps was refused 1 time (409): already exists",
	}, refusals); diff != "" {
		t.Errorf("what was refused (-want +got):\n%s", diff)
	}
	rows := []render.WriteCountRow{
		{Verb: "update", Resource: "daemonsets.apps", Refused: 2}, {Verb: "update", Resource: "deployments.apps/status",
			Objects: 2, Writes: 3},
		{Verb: "create", Resource: "pods", Objects: 1, Writes: 1}, {Verb: "create", Resource: "replicasets.apps",
			Objects: 2, Writes: 2, Refused: 3},
	}
	if diff := cmp.Diff(rows, writeRows(accepted, refused)); diff != "" {
		t.Errorf("rows, those of which nothing was taken among them (-want +got):\n%s", diff)
	}
}

func TestNotShownText(t *testing.T) {
	for _, test := range []struct {
		of     render.NotShown
		want   string
		reason string
	}{
		{render.NotShown{}, "", "all was shown"},
		{render.NotShown{Idle: 1}, "not shown: 1 reconcile wrote nothing; -v shows them", "one"},
		{render.NotShown{Idle: 2, Repeated: 3},
			"not shown: 2 reconciles wrote nothing, 3 came to the same as before; -v shows them", "both"},
		{render.NotShown{Idle: 2, PutOff: 3}, "not shown: 5 reconciles wrote nothing (3 put off); -v shows them",
			"what was put off is among them"},
		{render.NotShown{PutOff: 1, Conflicts: 1},
			"not shown: 2 reconciles wrote nothing (1 put off, 1 conflict); -v shows them", "so are conflicts"},
	} {
		if got := notShownText(test.of); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
