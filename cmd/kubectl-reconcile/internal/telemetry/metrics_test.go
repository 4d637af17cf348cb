package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func record(s trace.Sink, controller string, details ...trace.Detail) {
	for _, d := range details {
		s.Record(&trace.Event{Controller: controller, Key: "default/secret-name", Detail: d})
	}
}

func TestMetricsCount(t *testing.T) {
	m := NewMetrics()
	pods := trace.Object{Version: "v1", Resource: "pods", Namespace: "default", Name: "secret-name"}
	record(m, "replicaset",
		&trace.Start{Causes: []trace.Cause{{Type: trace.CauseWatch}, {Type: trace.CauseRetry}}},
		&trace.Request{Verb: "get", Object: pods, Code: 200},
		&trace.Request{Verb: "create", Object: pods, Code: 201},
		&trace.Request{Verb: "create", Object: pods, Code: 201},
		&trace.Request{Verb: "create", Object: pods},
		&trace.Request{Verb: "create", Object: pods, Code: 201, DryRun: true},
		&trace.Request{Verb: "create", Object: trace.Object{Resource: "events"}, Code: 201,
			Recorded: &trace.RecordedEvent{}},
		&trace.Request{Verb: "update", Object: trace.Object{Group: "apps", Resource: "replicasets"},
			Subresource: "status", Code: 409},
		&trace.Request{Verb: "PROPFIND", Object: pods, Code: 7},
		&trace.End{Outcome: trace.Failed, Duration: trace.Duration(time.Millisecond)},
		&trace.Start{}, &trace.End{Outcome: trace.Failed, PutOff: "pods"},
		&trace.Start{}, &trace.End{Outcome: trace.Done}, &trace.Dropped{})
	record(m, "", &trace.Watch{})

	const want = `
# HELP kubectl_reconcile_events_recorded_total API Events recorded, refused ones included.
# TYPE kubectl_reconcile_events_recorded_total counter
kubectl_reconcile_events_recorded_total{controller="replicaset"} 1
# HELP kubectl_reconcile_gave_up_total Keys given up after too many tries.
# TYPE kubectl_reconcile_gave_up_total counter
kubectl_reconcile_gave_up_total{controller="replicaset"} 1
# HELP kubectl_reconcile_reconciles_total Reconciles that ended, by how.
# TYPE kubectl_reconcile_reconciles_total counter
kubectl_reconcile_reconciles_total{controller="replicaset",outcome="done"} 1
kubectl_reconcile_reconciles_total{controller="replicaset",outcome="failed"} 1
kubectl_reconcile_reconciles_total{controller="replicaset",outcome="putOff"} 1
# HELP kubectl_reconcile_retries_total Reconciles that were made because an earlier one of the key had failed.
# TYPE kubectl_reconcile_retries_total counter
kubectl_reconcile_retries_total{controller="replicaset"} 1
# HELP kubectl_reconcile_writes_total Write requests, refused ones included, Events not; code is none for those without an answer.
# TYPE kubectl_reconcile_writes_total counter
kubectl_reconcile_writes_total{code="201",controller="replicaset",dry_run="false",resource="pods",verb="create"} 2
kubectl_reconcile_writes_total{code="201",controller="replicaset",dry_run="true",resource="pods",verb="create"} 1
kubectl_reconcile_writes_total{code="409",controller="replicaset",dry_run="false",resource="replicasets.apps/status",verb="update"} 1
kubectl_reconcile_writes_total{code="none",controller="replicaset",dry_run="false",resource="pods",verb="create"} 1
kubectl_reconcile_writes_total{code="other",controller="replicaset",dry_run="false",resource="pods",verb="other"} 1
`
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	err := testutil.GatherAndCompare(registry, strings.NewReader(want), "kubectl_reconcile_events_recorded_total",
		"kubectl_reconcile_gave_up_total", "kubectl_reconcile_reconciles_total", "kubectl_reconcile_retries_total", "kubectl_reconcile_writes_total")
	if err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m.duration); n != 1 {
		t.Errorf("%d histograms of durations, want one for the controller", n)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("promtool would complain: %v, %v", problems, err)
	}
}

// TestMetricsAreBounded: as many kinds as a cluster has make no more series than a scrape can hold.
func TestMetricsAreBounded(t *testing.T) {
	m := NewMetrics()
	for i := range 3 * maxResources {
		record(m, "garbagecollector", &trace.Request{
			Verb: "delete", Object: trace.Object{Group: "example.com", Resource: fmt.Sprintf("things%d", i),
				Name: fmt.Sprint(i)}, Code: 200,
		})
	}
	if n := testutil.CollectAndCount(m.writes); n != maxResources+1 {
		t.Errorf("%d series, want %d and one for the others", n, maxResources)
	}
	others := m.writes.WithLabelValues("garbagecollector", "delete", other, "200", "false")
	if n := testutil.ToFloat64(others); n != 2*maxResources {
		t.Errorf("the others are %v, want %d", n, 2*maxResources)
	}
}

func TestStateCollector(t *testing.T) {
	var session Session
	c := newStateCollector(func() Session { return session },
		func() []Check { return []Check{{Name: "api-server"}, {Name: "gc", Problem: "waiting for pods"}} })
	if n := testutil.CollectAndCount(c); n != 2 {
		t.Errorf("%d gauges before there are controllers, want those of the checks", n)
	}
	session = fixed{Controllers: []tap.ControllerState{{
		Name: "gc", Requests: 2, Queues: []tap.QueueState{
			{Queue: "attemptToDelete", Queued: 3, Running: 1, Delayed: []tap.DelayedKey{{Key: "a"}, {Key: "b"}}}, {},
		},
	}}}
	const want = `
# HELP kubectl_reconcile_queue_delayed Keys that come back by themselves, retries and timers.
# TYPE kubectl_reconcile_queue_delayed gauge
kubectl_reconcile_queue_delayed{controller="gc",queue=""} 0
kubectl_reconcile_queue_delayed{controller="gc",queue="attemptToDelete"} 2
# HELP kubectl_reconcile_queue_depth Keys that can be taken; queue is empty for a controller's main one.
# TYPE kubectl_reconcile_queue_depth gauge
kubectl_reconcile_queue_depth{controller="gc",queue=""} 0
kubectl_reconcile_queue_depth{controller="gc",queue="attemptToDelete"} 3
# HELP kubectl_reconcile_ready 1 for what is ready, 0 for what is not, as /readyz has it.
# TYPE kubectl_reconcile_ready gauge
kubectl_reconcile_ready{check="api-server"} 1
kubectl_reconcile_ready{check="gc"} 0
# HELP kubectl_reconcile_reconciles_running Keys that workers have taken and not finished.
# TYPE kubectl_reconcile_reconciles_running gauge
kubectl_reconcile_reconciles_running{controller="gc",queue=""} 0
kubectl_reconcile_reconciles_running{controller="gc",queue="attemptToDelete"} 1
# HELP kubectl_reconcile_requests_in_flight Requests without an answer; a watch is answered when it is opened.
# TYPE kubectl_reconcile_requests_in_flight gauge
kubectl_reconcile_requests_in_flight{controller="gc"} 2
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
