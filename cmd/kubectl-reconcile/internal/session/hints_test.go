package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestLateHint(t *testing.T) {
	deployment, err := controllers.Select([]string{"deployment", "replicaset"})
	if err != nil {
		t.Fatal(err)
	}
	web, db, job := objectOf("apps", "Deployment", "web", "InProgress"),
		objectOf("apps", "StatefulSet", "db", "InProgress"), objectOf("batch", "Job", "j", "InProgress")
	unschedulable := objectOf("", "Pod", "p", "InProgress")
	unschedulable.Status.Reason = "Unschedulable so far: 0/3 nodes are available: 3 Insufficient cpu."
	in := func(d time.Duration) []pendingKey {
		return []pendingKey{{Controller: "horizontalpodautoscaling", Key: "default/web", In: trace.Duration(d)}}
	}
	for _, tt := range []struct {
		reason string
		r      result
		nodes  int
		want   string
	}{
		{"time", result{outcome: runlocal.OutcomeTimedOut,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web}}}, 3, "--timeout gives it more time"},
		{"more time would not help", result{outcome: runlocal.OutcomeTimedOut,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web, db, job}}}, 3,
			"statefulset, job do not run: name them in --controller too"},
		{"one is enough, and is named once", result{outcome: runlocal.OutcomeStuck,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{db, db}}}, 3,
			"statefulset does not run: name it in --controller too"},
		{"a ready object needs no controller", result{outcome: runlocal.OutcomeTimedOut,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web,
				objectOf("batch", "Job", "j", "Current")}}}, 3, "--timeout gives it more time"},
		{"nothing acts on what was made", result{outcome: runlocal.OutcomeStuck,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web},
				Created: []runlocal.ObjectStatus{objectOf("batch", "Job", "j", "InProgress")}}}, 3,
			"job does not run: name it in --controller too"},
		{"no nodes", result{outcome: runlocal.OutcomeStuck,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web}}}, 0,
			"without nodes all pods stay pending: --nodes gives it some"},
		{"a key that comes soon after", result{outcome: runlocal.OutcomeStuck, elapsed: 31 * time.Second,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web}}, pending: in(13700 * time.Millisecond)},
			3,
			"--timeout 45s reaches the next key, horizontalpodautoscaling default/web"},
		{"a retry would fail again", result{outcome: runlocal.OutcomeStuck,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web}, Created: []runlocal.ObjectStatus{web}},
			pending: []pendingKey{{Controller: "replicaset", In: trace.Duration(time.Second), Retry: 11}}}, 3, ""},
		{"one that comes late is no help", result{outcome: runlocal.OutcomeStuck,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web}, Created: []runlocal.ObjectStatus{web}},
			pending: in(10 * time.Minute)}, 3, ""},
		{"no controller did anything", result{outcome: runlocal.OutcomeStuck,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{objectOf("", "Pod", "p", "InProgress")}}}, 3,
			"it may need a controller that --controller does not name: `run --list` shows them all"},
		{"an image that cannot be pulled", result{outcome: runlocal.OutcomeTimedOut,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web},
				Created: []runlocal.ObjectStatus{objectOf("", "Pod", "p", "Failed")}}}, 3, ""},
		{"nor does its next retry help", result{outcome: runlocal.OutcomeStuck, pending: in(time.Second),
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{web},
				Created: []runlocal.ObjectStatus{objectOf("", "Pod", "p", "Failed")}}}, 3, ""},
		{"a pod that fits no node", result{outcome: runlocal.OutcomeStuck,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{unschedulable}}}, 3, ""},
		{"nor could any", result{outcome: runlocal.OutcomeStuck,
			objects: runlocal.Readiness{Applied: []runlocal.ObjectStatus{objectOf("example.com", "Gadget", "g",
				"Failed")}}}, 3,
			"no controller of Kubernetes acts on it: its own controller can, against `sandbox`; " +
				"--until settled does not wait for it"},
	} {
		o := &Options{Target: &Sandbox{Options: runlocal.Options{Controllers: deployment}}, SimulatedNodes: tt.nodes}
		tt.r.goal.Timeout = 45 * time.Second
		if got := o.lateHint(&tt.r); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

func TestErrorHints(t *testing.T) {
	unknown := &cluster.UnknownKindError{Name: "apps/v1 Deploymnt", Known: []string{"apps/v1 Deployment", "v1 Pod"}}
	foreign := &cluster.UnknownKindError{Name: "example.com/v1 Gadget", Known: []string{"apps/v1 Deployment", "v1 Pod"}}
	taken := &net.OpError{Op: "listen", Err: &os.SyscallError{Syscall: "bind", Err: syscall.EADDRINUSE}}
	definition := "kinds that are no part of Kubernetes need their CustomResourceDefinition among the files"
	for _, tt := range []struct {
		name   string
		err    error
		want   []string
		reason string
	}{
		{"misspelt kind", withManifestHints(fmt.Errorf("web.yaml: %w", unknown)),
			[]string{"did you mean apps/v1 Deployment? " + definition}, "the nearest kind"},
		{"foreign kind", withManifestHints(foreign), []string{definition}, "nothing is near"},
		{"among others", withManifestHints(errors.Join(errors.New("other"), unknown)),
			[]string{"", "did you mean apps/v1 Deployment? " + definition}, "only for the error that it belongs to"},
		{"uncounted quota", withManifestHints(&runlocal.UncountedQuotaError{Err: context.DeadlineExceeded}),
			[]string{"-v shows what the controller does; without the quota the objects are applied"},
			"what can be done about it"},
		{"taken port", withStartHints(fmt.Errorf("listening: %w", taken)),
			[]string{"--listen 127.0.0.1:0 picks a free port"}, "what else to do"},
		{"remote", withStartHints(fmt.Errorf("listening: %w", api.ErrRemoteListen)),
			[]string{"--allow-remote lets other machines reach it, with the token of the kubeconfig"},
			"what it would take, and mean"},
		{"other", withStartHints(errors.New("other")), []string{""}, "no advice that does not fit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, e := range cli.FlattenErrors(tt.err) {
				hint := &cli.HintError{}
				if !errors.As(e, &hint) {
					hint = &cli.HintError{}
				}
				got = append(got, hint.Hint)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
	if err := withManifestHints(nil); err != nil {
		t.Errorf("no error becomes %v", err)
	}
	if err := withStartHints(nil); err != nil {
		t.Errorf("no error becomes %v", err)
	}
}

func TestUntilText(t *testing.T) {
	ready, settled := runlocal.Goal{Type: runlocal.GoalReady}, runlocal.Goal{Type: runlocal.GoalSettled}
	cronJob := func(in time.Duration) pendingKey {
		return pendingKey{Controller: "cronjob", Key: "default/tick", In: trace.Duration(in)}
	}
	for _, tt := range []struct {
		reason string
		o      Options
		p      pendingKey
		want   string
	}{
		{"its next time", Options{Goal: ready}, cronJob(34 * time.Second), "; a run that begins before then shows it with --until 1m"},
		{"later", Options{Goal: settled}, cronJob(200 * time.Second), "; a run that begins before then shows it with --until 4m"},
		{"too long to wait", Options{Goal: ready}, cronJob(time.Hour), ""},
		{"who waited for a time knows", Options{Goal: runlocal.Goal{Type: runlocal.GoalElapsed}}, cronJob(time.Second), ""},
		{"a cluster, which has its own controller", Options{Goal: settled, Writes: DryRunServer}, cronJob(time.Second), ""},
		{"a check changes nothing", Options{Goal: ready}, pendingKey{Controller: "deployment", In: trace.Duration(time.Minute)}, ""},
	} {
		if got := tt.o.untilText(tt.p); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}
