package session

import (
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestProgressText(t *testing.T) {
	current, late := objectOf("", "Pod", "a", "Current"), objectOf("", "Pod", "b", "InProgress")
	worked := []trace.ControllerSummary{{Reconciles: 7, Writes: 3}, {Reconciles: 2}}
	once, often := trace.FailingKey{Controller: "job", Key: "default/a", Failures: 1},
		trace.FailingKey{Controller: "replicaset", Key: "default/web-1", Failures: 4}
	for _, tt := range []struct {
		reason string
		p      progress
		want   string
	}{
		{"objects that are waited for", progress{goal: runlocal.Goal{Type: runlocal.GoalReady}, objects: []runlocal.ObjectStatus{current, late, late}, podsReady: 2, pods: 5, queued: 3, controllers: worked},
			"12s: 1 of 3 objects ready, 2 of 5 pods ready, 9 reconciles, 3 writes"},
		{"all that is left to do", progress{goal: runlocal.Goal{Type: runlocal.GoalSettled}, queued: 7, running: 4, controllers: worked},
			"12s: 7 keys queued, 4 worked on, 9 reconciles, 3 writes"},
		{"no end", progress{goal: runlocal.Goal{Type: runlocal.GoalInterrupted}, queued: 7, podsReady: 1, pods: 1}, "12s: 1 of 1 pod ready, 0 reconciles, 0 writes"},
		{"a program of the user's own", progress{programs: []trace.ProgramSummary{{Writes: 3}, {Writes: 4}}}, "12s: 0 reconciles, 0 writes, 7 writes by programs outside"},
		{"a time", progress{goal: runlocal.Goal{Type: runlocal.GoalElapsed, After: 30 * time.Second}}, "12s of 30s: 0 reconciles, 0 writes"},
		{"a key that failed once is tried again", progress{failing: []trace.FailingKey{once}}, "12s: 0 reconciles, 0 writes"},
		{"one that fails", progress{failing: []trace.FailingKey{once, often}}, "12s: replicaset default/web-1 fails, 0 reconciles, 0 writes"},
		{"others that do", progress{failing: []trace.FailingKey{often, often, often}}, "12s: replicaset default/web-1 and 2 more fail, 0 reconciles, 0 writes"},
	} {
		tt.p.elapsed = 12*time.Second + time.Millisecond
		if got := tt.p.text(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}
