package render

import (
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// story is a trace with something of everything: two reconciles of a Deployment, one of its ReplicaSet, one of the
// simulated kubelet, and what belongs to none.
func story() []*trace.Event {
	deployment := trace.Object{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	replicaSet := trace.Object{Group: "apps", Version: "v1", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web-5fc9f4bf66"}
	first := reconcileEvents("deployment", 1, "default/web")
	second := reconcileEvents("replicaset", 2, "default/web-5fc9f4bf66")
	third := reconcileEvents("deployment", 3, "default/web")
	aside := reconcileEvents("kubelet", 4, "default/web-5fc9f4bf66-aaaaa")
	added := &trace.Watch{Event: trace.Added, Object: deployment, ResourceVersion: "14"}
	return []*trace.Event{
		ofNone("deployment", &trace.Log{Message: "Starting controller", Values: trace.Values{{Key: "controller", Value: "deployment"}}}),
		first(&trace.Start{Causes: []trace.Cause{{Type: trace.CauseWatch, Watch: added, Handler: "addDeployment > enqueue"}}}),
		first(&trace.Log{Level: 4, Message: "Started syncing deployment"}),
		first(&trace.Request{Verb: "get", Object: deployment, Code: 200, Latency: trace.Duration(300 * time.Microsecond)}),
		first(&trace.Request{Verb: "create", Object: replicaSet, Code: 201, Latency: trace.Duration(800 * time.Microsecond)}),
		first(&trace.Request{Verb: "update", Object: deployment, Subresource: "status", Code: 409, Reason: "Conflict", Message: "the object has been modified", Latency: trace.Duration(700 * time.Microsecond)}),
		first(&trace.End{Outcome: trace.Failed, Writes: 1, Refused: 1, Duration: trace.Duration(2800 * time.Microsecond), Error: "the object has been modified", Next: &trace.Next{After: trace.Duration(5 * time.Millisecond), Retry: 1}}),
		second(&trace.Start{Causes: []trace.Cause{{Type: trace.CauseWatch, Handler: "addRS > enqueueRS", Watch: &trace.Watch{
			Event: trace.Added, Object: replicaSet, ResourceVersion: "15", WrittenBy: 1,
		}}}}),
		second(&trace.Log{Level: 2, Message: "Too few replicas", Values: trace.Values{{Key: "replicaSet", Value: "default/web-5fc9f4bf66"}, {Key: "need", Value: "3"}, {Key: "creating", Value: "3"}}}),
		second(podCreate("aaaaa")), second(podCreate("bbbbb")), second(podCreate("ccccc")),
		ofNone("replicaset", &trace.Request{Verb: "create", Object: trace.Object{Version: "v1", Resource: "events", Kind: "Event"}, Code: 201, Recorded: &trace.RecordedEvent{
			Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod: web-5fc9f4bf66-aaaaa", Regarding: replicaSet,
		}}),
		second(&trace.Request{Verb: "update", Object: replicaSet, Subresource: "status", Code: 200, Latency: trace.Duration(600 * time.Microsecond), Change: changed(
			inspect.Change{Path: "status.fullyLabeledReplicas", New: int64(3)}, inspect.Change{Path: "status.observedGeneration", Old: int64(0), New: int64(1)},
			inspect.Change{Path: "status.replicas", Old: int64(0), New: int64(3)}, inspect.Change{Path: "status.terminatingReplicas", New: int64(0)}, inspect.Change{Path: "status.z", New: int64(0)},
		)}),
		second(&trace.End{Outcome: trace.Done, Writes: 4, Duration: trace.Duration(3900 * time.Microsecond)}),
		aside(&trace.Start{}),
		aside(&trace.End{Outcome: trace.Done}),
		third(&trace.Start{Causes: []trace.Cause{
			{Type: trace.CauseRetry, Retry: 1, Reconcile: 1, Delay: trace.Duration(5 * time.Millisecond), Handler: "handleErr"},
			{Type: trace.CauseWatch, Handler: "updateReplicaSet", Watch: &trace.Watch{Event: trace.Modified, Object: replicaSet, ResourceVersion: "19", WrittenBy: 2, Change: changed(inspect.Change{Path: "status.replicas", Old: int64(0), New: int64(3)})}},
		}}),
		third(&trace.Log{Level: 5, Message: "Calculated", Error: "never mind"}),
		third(&trace.Request{Verb: "patch", Object: deployment, Message: "connection refused"}),
		third(&trace.End{Outcome: trace.Done, Refused: 1, Duration: trace.Duration(900 * time.Microsecond), Next: &trace.Next{After: trace.Duration(10 * time.Minute)}}),
		third(&trace.Log{Message: "said after its end", Error: "too late"}),
	}
}

// reconcileEvents makes events of one reconcile.
func reconcileEvents(controller string, id trace.ReconcileID, key string) func(trace.Detail) *trace.Event {
	return func(d trace.Detail) *trace.Event {
		return &trace.Event{Controller: controller, Reconcile: id, Key: key, Detail: d}
	}
}

func podCreate(suffix string) *trace.Request {
	return &trace.Request{
		Verb: "create", Code: 201, Latency: trace.Duration(500 * time.Microsecond),
		Object: trace.Object{Version: "v1", Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web-5fc9f4bf66-" + suffix},
	}
}

func changed(fields ...inspect.Change) *trace.Change {
	return trace.ChangeFrom(func() []inspect.Change { return fields })
}
