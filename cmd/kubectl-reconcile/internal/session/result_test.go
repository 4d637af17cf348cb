package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// objectOf returns an applied object of a kind with a status.
func objectOf(group, kind, name, status string) runlocal.ObjectStatus {
	s := runlocal.ObjectStatus{Status: inspect.Status{Status: status}}
	s.Kind, s.Name = schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, name
	return s
}

// TestEnded: an interrupt is an error where there was something else to wait for.
func TestEnded(t *testing.T) {
	for goal, want := range map[runlocal.GoalType]string{
		runlocal.GoalInterrupted: "", runlocal.GoalReady: `interrupted before the goal "ready" was reached`,
		runlocal.GoalElapsed: `interrupted before the goal "1m0s" was reached`,
	} {
		r := &result{goal: runlocal.Goal{Type: goal, After: time.Minute}}
		r.ended("interrupted", nil, time.Now())
		text := ""
		if r.err != nil {
			text = r.err.Error()
		}
		if text != want {
			t.Errorf("%s: %q, want %q", goal, text, want)
		}
	}
}

func TestFailure(t *testing.T) {
	object := func(name, status, message string) runlocal.ObjectStatus {
		s := runlocal.ObjectStatus{Status: inspect.Status{Status: status, Reason: message}}
		s.Kind.Kind, s.Name = "Pod", name
		return s
	}
	var five []runlocal.ObjectStatus
	for i := range 5 {
		five = append(five, object(fmt.Sprint(i), "InProgress", ""))
	}
	failed := objectOf("batch", "Job", "flaky", "Failed")
	failed.Namespace, failed.Status.Reason = "shop", "BackoffLimitExceeded: Job has reached the specified backoff limit"
	pod := func(reason string) runlocal.ObjectStatus {
		p := objectOf("", "Pod", "flaky-x", "Failed")
		p.Namespace, p.Status.Reason, p.Controller = "shop", reason, &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "flaky"}
		return p
	}
	ready := runlocal.Goal{Type: runlocal.GoalReady, Timeout: time.Minute}
	settled := runlocal.Goal{Type: runlocal.GoalSettled, Timeout: time.Minute}
	o := &Options{Target: &Sandbox{}, SimulatedNodes: 3}
	for _, tt := range []struct {
		name   string
		r      result
		goal   runlocal.Goal
		want   string
		reason string
	}{
		{"reached", result{outcome: "ready"}, ready, "", "no error"},
		{"late", result{outcome: runlocal.OutcomeTimedOut, objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{object("good", "Current", ""), object("bad", "Failed", "no image")}}}, ready,
			"not ready after 1m0s: pod/bad is Failed: no image", "the object that is late, and why"},
		{"no message", result{outcome: runlocal.OutcomeTimedOut, objects: runlocal.Readiness{Applied: five[:1]}}, ready, "not ready after 1m0s: pod/0 is InProgress", "no colon before nothing"},
		{"many", result{outcome: runlocal.OutcomeTimedOut, objects: runlocal.Readiness{Applied: five}}, ready, "not ready after 1m0s: pod/0 is InProgress; pod/1 is InProgress; pod/2 is InProgress; and 2 more", "a few, and how many more"},
		{"stuck", result{outcome: runlocal.OutcomeStuck, objects: runlocal.Readiness{Applied: five[:1]}}, ready, "not ready, and nothing is left to do within --timeout 1m0s: pod/0 is InProgress", "time would not mend it"},
		{"failed", result{outcome: runlocal.OutcomeStuck, objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{failed}, Created: []runlocal.ObjectStatus{pod("exit code 3"), pod("exit code 3")}}}, ready,
			"job flaky failed: BackoffLimitExceeded (exit code 3)", "time was not what it lacked"},
		{"failed in several ways", result{outcome: runlocal.OutcomeTimedOut, objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{failed}, Created: []runlocal.ObjectStatus{pod("exit code 3"), pod("OOMKilled"), pod("")}}}, ready,
			"job flaky failed: BackoffLimitExceeded (exit code 3, OOMKilled)", "each is named once"},
		{"failed, and its pods are gone", result{outcome: runlocal.OutcomeStuck, objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{failed}}}, ready,
			"job flaky failed: BackoffLimitExceeded: Job has reached the specified backoff limit", "the Job's own message is left"},
		{"failed among others", result{outcome: runlocal.OutcomeStuck, objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{failed, five[0]}}}, ready,
			"not ready, and nothing is left to do within --timeout 1m0s: job flaky failed: BackoffLimitExceeded: Job has reached the specified backoff limit; pod/0 is InProgress", "both are named"},
		{"not settled", result{outcome: runlocal.OutcomeTimedOut}, settled, "not settled after 1m0s", "no object is to blame"},
		{"broken", result{outcome: runlocal.OutcomeFailed, err: errors.New("boom")}, ready, "boom", "the error itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := ""
			tt.r.goal = tt.goal
			if err := o.failure(&tt.r); err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.want, text); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestLateText(t *testing.T) {
	for _, tt := range []struct{ reason, given, want string }{
		{"a reason", "disk full", "gadget.example.com/g is Failed: disk full"},
		{"one that begins with the status", "Failed: disk full", "gadget.example.com/g is Failed: disk full"},
		{"none", "", "gadget.example.com/g is Failed"},
	} {
		s := objectOf("example.com", "Gadget", "g", "Failed")
		s.Status.Reason = tt.given
		if got := lateText(runlocal.Readiness{}, s); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

const noRight = `pods is forbidden: User "reader" cannot create resource "pods" in API group "" in the namespace "default"`

// dryCreate returns a create of pods in a dry run that had this answer.
func dryCreate(code int, message string) *trace.Request {
	return &trace.Request{Verb: "create", DryRun: true, Code: code, Message: message, Object: trace.Object{Group: "apps", Version: "v1", Resource: "pods"}}
}

func TestUnverifiedWrites(t *testing.T) {
	right := trace.FailingKey{Unverified: dryCreate(403, noRight)}
	away := trace.FailingKey{Unverified: dryCreate(0, "connection refused")}
	const text = "what would be written is not known: the writes of "
	why := strings.TrimPrefix(noRight, "pods is forbidden: ")
	for _, test := range []struct {
		reason, want, hint string
		mode               WriteMode
		unverified         []trace.FailingKey
	}{
		{"all is known", "", "", DryRunServer, nil},
		{"permissions", text + "1 key could not be tried: create pods.apps: " + why, "--dry-run=client sends no write, and needs no permission to", DryRunServer, []trace.FailingKey{right}},
		{"client", text + "1 key could not be tried: create pods.apps: " + why, "", DryRunClient, []trace.FailingKey{right}},
		{"away", text + "2 keys could not be tried: create pods.apps: connection refused", "", DryRunServer, []trace.FailingKey{away, away}},
	} {
		o := &Options{Writes: test.mode}
		err := o.unverifiedWrites(test.unverified)
		got, hint := "", ""
		if err != nil {
			got = err.Error()
		}
		if h := (*cli.HintError)(nil); errors.As(err, &h) {
			hint = h.Hint
		}
		if got != test.want || hint != test.hint {
			t.Errorf("%s: got %q and the hint %q", test.reason, got, hint)
		}
	}
}
