package run

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// objectOf is an applied object of a kind, in a state.
func objectOf(group, kind, name, status string) runlocal.ObjectStatus {
	s := runlocal.ObjectStatus{Status: inspect.Status{Status: status}}
	s.Kind, s.Name = schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, name
	return s
}

func TestLateHint(t *testing.T) {
	deployment, err := controllers.Select([]string{"deployment", "replicaset"})
	if err != nil {
		t.Fatal(err)
	}
	web, db, job := objectOf("apps", "Deployment", "web", "InProgress"), objectOf("apps", "StatefulSet", "db", "InProgress"), objectOf("batch", "Job", "j", "InProgress")
	in := func(d time.Duration) []pendingKey {
		return []pendingKey{{Controller: "horizontalpodautoscaling", Key: "default/web", In: trace.Duration(d)}}
	}
	for _, tt := range []struct {
		reason string
		r      result
		nodes  int
		want   string
	}{
		{"time", result{outcome: timedOut, objects: []runlocal.ObjectStatus{web}}, 3, "--timeout gives it more time"},
		{"more time would not do", result{outcome: timedOut, objects: []runlocal.ObjectStatus{web, db, job}}, 3,
			"statefulset, job do not run: name them in --controller too"},
		{"one is enough, and is named once", result{outcome: stuck, objects: []runlocal.ObjectStatus{db, db}}, 3, "statefulset does not run: name it in --controller too"},
		{"what is ready needs nobody", result{outcome: timedOut, objects: []runlocal.ObjectStatus{web, objectOf("batch", "Job", "j", "Current")}}, 3, "--timeout gives it more time"},
		{"nothing acts on what was made", result{outcome: stuck, objects: []runlocal.ObjectStatus{web}, made: []runlocal.ObjectStatus{objectOf("batch", "Job", "j", "InProgress")}}, 3,
			"job does not run: name it in --controller too"},
		{"no nodes", result{outcome: stuck, objects: []runlocal.ObjectStatus{web}}, 0, "without nodes all pods stay pending: --nodes gives it some"},
		{"a key that comes soon after", result{outcome: stuck, elapsed: 31 * time.Second, objects: []runlocal.ObjectStatus{web}, pending: in(13700 * time.Millisecond)}, 3,
			"--timeout 45s reaches the next key, horizontalpodautoscaling default/web"},
		{"one that comes late is no help", result{outcome: stuck, objects: []runlocal.ObjectStatus{web}, made: []runlocal.ObjectStatus{web}, pending: in(10 * time.Minute)}, 3, ""},
		{"nobody did anything", result{outcome: stuck, objects: []runlocal.ObjectStatus{objectOf("", "Pod", "p", "InProgress")}}, 3,
			"it may need a controller that --controller does not name: `run --list` shows them all"},
		{"nor could any", result{outcome: stuck, objects: []runlocal.ObjectStatus{objectOf("example.com", "Gadget", "g", "Failed")}}, 3,
			"no controller of Kubernetes acts on it: its own can, against `sandbox`"},
	} {
		o := &Options{timeout: 45 * time.Second, Session: runlocal.Options{Nodes: tt.nodes, Controllers: deployment}}
		if got := tt.r.lateHint(o); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

func TestLateText(t *testing.T) {
	r := &result{}
	for _, tt := range []struct{ reason, given, want string }{
		{"a reason", "disk full", "gadget.example.com/g is Failed: disk full"},
		{"one that begins with the status", "Failed: disk full", "gadget.example.com/g is Failed: disk full"},
		{"none", "", "gadget.example.com/g is Failed"},
	} {
		s := objectOf("example.com", "Gadget", "g", "Failed")
		s.Status.Reason = tt.given
		if got := r.lateText(s); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

// TestControllerOf: whatever is named runs.
func TestControllerOf(t *testing.T) {
	for _, kind := range []schema.GroupKind{
		{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "ReplicaSet"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"},
		{Group: "batch", Kind: "Job"}, {Group: "batch", Kind: "CronJob"}, {Kind: "ReplicationController"}, {Kind: "PersistentVolumeClaim"},
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, {Group: "policy", Kind: "PodDisruptionBudget"},
	} {
		if found, err := controllers.Select([]string{controllerOf(kind)}); err != nil || found[0].Short != controllerOf(kind) {
			t.Errorf("the controller of %s is %q: %v", kind, controllerOf(kind), err)
		}
	}
	if got := controllerOf(schema.GroupKind{Group: "example.com", Kind: "Deployment"}); got != "" {
		t.Errorf("another group's kind has the controller %q", got)
	}
}

func TestWhatASummaryEndsWith(t *testing.T) {
	hpa, web := objectOf("autoscaling", "HorizontalPodAutoscaler", "web", "Degraded"), objectOf("apps", "Deployment", "web", "Current")
	for _, tt := range []struct {
		reason string
		r      result
		want   string
	}{
		{"settled, and all is well", result{outcome: "settled", objects: []runlocal.ObjectStatus{web}}, ""},
		{"settled is no word for well", result{outcome: "settled", objects: []runlocal.ObjectStatus{web, hpa}}, ", but 1 object is not ready: horizontalpodautoscaler.autoscaling/web Degraded"},
		{"many are counted", result{outcome: "settled", objects: []runlocal.ObjectStatus{hpa, hpa, hpa, hpa}},
			", but 4 objects are not ready: horizontalpodautoscaler.autoscaling/web Degraded, horizontalpodautoscaler.autoscaling/web Degraded, " +
				"horizontalpodautoscaler.autoscaling/web Degraded and 1 more"},
	} {
		if got := tt.r.reached(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
	late := result{outcome: stuck, pending: []pendingKey{{Controller: "job", Key: "default/j", In: trace.Duration(13700 * time.Millisecond)}}}
	if got, want := late.headline("ready"), "not ready, gave up after 0.00s; the next key, job default/j, is due in 13.7s"; got != want {
		t.Errorf("headline %q, want %q", got, want)
	}
}
