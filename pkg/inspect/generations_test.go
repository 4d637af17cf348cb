package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDrift(t *testing.T) {
	tests := []struct {
		reason, object string
		want           Drift
		behind         int64
		drifted        bool
	}{
		{"seen", `{metadata: {generation: 4}, status: {observedGeneration: 4}}`, Drift{Generation: 4, Observed: new(int64(4)), State: InSync}, 0, false},
		{"not seen", `{metadata: {generation: 4}, status: {observedGeneration: 2}}`, Drift{Generation: 4, Observed: new(int64(2)), State: Behind}, 2, true},
		{"never seen: a definition's default, or what some controllers write first", `{metadata: {generation: 1}, spec: {}, status: {observedGeneration: 0}}`, Drift{Generation: 1, State: NeverSeen}, 0, true},
		{"never seen: Flux's default", `{metadata: {generation: 1}, spec: {}, status: {observedGeneration: -1}}`, Drift{Generation: 1, State: NeverSeen}, 0, true},
		{"a 0 beside a status that was written is a field that is not used", `{metadata: {generation: 1}, spec: {}, status: {observedGeneration: 0, healthy: true}}`, Drift{Generation: 1, State: NotReported}, 0, false},
		{"not reported, which does not mean observed", `{metadata: {generation: 4}, status: {}}`, Drift{Generation: 4, State: NotReported}, 0, false},
		{"more than there is", `{metadata: {generation: 1}, status: {observedGeneration: 4}}`, Drift{Generation: 1, Observed: new(int64(4)), State: Ahead}, 0, false},
		{"kinds whose generation the API server does not count", `{status: {observedGeneration: 1}}`, Drift{Observed: new(int64(1)), State: NotReported}, 0, false},
		{"written as text", `{metadata: {generation: 4}, status: {observedGeneration: "3"}}`, Drift{Generation: 4, Observed: new(int64(3)), State: Behind}, 1, true},
		{"a word", `{metadata: {generation: 4}, status: {observedGeneration: latest}}`, Drift{Generation: 4, State: NotReported}, 0, false},
		{
			"a condition alone is behind", `{metadata: {generation: 4}, status: {conditions: [{type: Ready, status: "True", observedGeneration: 3}]}}`,
			Drift{Generation: 4, State: NotReported}, 0, true,
		},
		{
			"a condition's own generation counts before the object's", `{metadata: {generation: 4}, status: {observedGeneration: 4, conditions: [{type: Ready, status: "True", observedGeneration: 3}]}}`,
			Drift{Generation: 4, Observed: new(int64(4)), State: InSync}, 0, true,
		},
		{
			"since the spec was written", `{metadata: {generation: 4, managedFields: [{manager: a, time: "2026-01-02T03:04:05Z"}, {manager: b, subresource: status, time: "2026-01-02T03:04:06Z"}]}, status: {observedGeneration: 3}}`,
			Drift{Generation: 4, Observed: new(int64(3)), State: Behind, Since: at("2026-01-02T03:04:05Z")}, 1, true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got := Inspect(fromYAML(t, "{apiVersion: example.com/v1, kind: Cache, "+tt.object[1:]), nil)
			if diff := cmp.Diff(tt.want, got.Drift); diff != "" {
				t.Errorf("drift (-want +got):\n%s", diff)
			}
			if got.Drift.Behind() != tt.behind || got.Drifted() != tt.drifted {
				t.Errorf("behind by %d, drifted %t; want %d, %t", got.Drift.Behind(), got.Drifted(), tt.behind, tt.drifted)
			}
		})
	}
}

// TestNeverSeen: the controllers of these kinds say of each object that they have seen it.
func TestNeverSeen(t *testing.T) {
	tests := []struct {
		reason, object string
		want           DriftState
	}{
		{"a Deployment", `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 0}, status: {}}`, NeverSeen},
		{"a ReplicaSet", `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {}, status: {replicas: 0}}`, NeverSeen},
		{"a StatefulSet", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {}, status: {availableReplicas: 0, replicas: 0}}`, NeverSeen},
		{"a DaemonSet", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, spec: {}, status: {currentNumberScheduled: 0}}`, NeverSeen},
		{"a ReplicationController", `{apiVersion: v1, kind: ReplicationController, metadata: {generation: 1}, spec: {}, status: {replicas: 0}}`, NeverSeen},
		{"a PodDisruptionBudget", `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, spec: {}, status: {}}`, NeverSeen},
		{"an autoscaler", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {generation: 1}, spec: {}, status: {}}`, NeverSeen},
		{"one whose target is not there, which was looked at", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {generation: 1}, spec: {},
			status: {conditions: [{type: AbleToScale, status: "False", reason: FailedGetScale}]}}`, NotReported},
		{"the same in the first version", `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {generation: 1, annotations: {
			autoscaling.alpha.kubernetes.io/conditions: '[{"type":"AbleToScale","status":"False","reason":"FailedGetScale"}]'}}, spec: {}, status: {}}`, NotReported},
		{"a budget that its controller cannot compute", `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, spec: {}, status: {currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0,
			conditions: [{type: DisruptionAllowed, status: "False", reason: SyncFailed}]}}`, NotReported},
		{"a Deployment whose ReplicaSet is refused", `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {}, status: {
			conditions: [{type: Progressing, status: "False", reason: ReplicaSetCreateError}]}}`, NotReported},
		{"managed fields show that a status was written", `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1, managedFields: [
			{manager: kubectl}, {manager: kube-controller-manager, subresource: status}]}, spec: {}, status: {}}`, NotReported},
		{"that another client wrote the spec shows nothing", `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1, managedFields: [{manager: kubectl}]}, spec: {}, status: {}}`, NeverSeen},
		{"one of a server that does not count its generation", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {}, status: {}}`, NotReported},
		{"a policy of admission", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {generation: 1}, spec: {}}`, NeverSeen},
		{"a Job's controller does not report it", `{apiVersion: batch/v1, kind: Job, metadata: {generation: 1}, spec: {}, status: {}}`, NotReported},
		{"one that was seen", `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {}, status: {observedGeneration: 1}}`, InSync},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got := Inspect(fromYAML(t, tt.object), nil)
			if got.Drift.State != tt.want || got.Drifted() != (tt.want == NeverSeen) {
				t.Errorf("%s, drifted %t; want %s", got.Drift.State, got.Drifted(), tt.want)
			}
			if tt.want == NeverSeen && got.Current() {
				t.Errorf("it is %s", got.Status.Status)
			}
		})
	}
}

// TestTimeAlone: what becomes of an object that nothing writes to.
func TestTimeAlone(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1, creationTimestamp: "2026-01-02T03:00:00Z"}, spec: {replicas: 1}, status: {}}`
	const pod = `{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-01-02T02:00:00Z"}, spec: {containers: [{name: web}]}, status: {phase: Pending, conditions: [
	  {type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available.", lastTransitionTime: "2026-01-02T03:00:00Z"}]}}`
	const undated = `{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-01-02T03:00:00Z"}, spec: {containers: [{name: web}]}, status: {phase: Pending, conditions: [
	  {type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available."}]}}`
	tests := []struct {
		reason, object, now string
		status, why         string
		drift               DriftState
	}{
		{"its controller may be about to see it", deployment, "2026-01-02T03:00:29Z", InProgress, "not seen by its controller yet", NotReported},
		{"and has not for half a minute", deployment, "2026-01-02T03:00:30Z", InProgress, "never seen by its controller", NeverSeen},
		{"a server whose clock is ahead", deployment, "2026-01-02T02:00:00Z", InProgress, "not seen by its controller yet", NotReported},
		{"an autoscaler may add a node", pod, "2026-01-02T03:04:59Z", InProgress, "Unschedulable so far: 0/3 nodes are available.", NotReported},
		{"it has not for five minutes", pod, "2026-01-02T03:05:00Z", Failed, "Unschedulable for over 5m: 0/3 nodes are available.", NotReported},
		{"a condition without a time is as old as the pod", undated, "2026-01-02T03:05:00Z", Failed, "Unschedulable for over 5m: 0/3 nodes are available.", NotReported},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			early := Inspect(fromYAML(t, tt.object), nil)
			if early.Later == nil {
				t.Fatal("time alone changes nothing of it")
			}
			got := early.At(at(tt.now).Time)
			if got.Status.Status != tt.status || got.Reason != tt.why || got.Drift.State != tt.drift {
				t.Errorf("%s (%s), %s; want %s (%s), %s", got.Status.Status, got.Reason, got.Drift.State, tt.status, tt.why, tt.drift)
			}
			if early.Drifted() || early.Status.Status == Failed {
				t.Errorf("without a time it is %s, drifted %t", early.Status.Status, early.Drifted())
			}
		})
	}
}

// TestWithEvents: a controller that reports what hinders it has seen the object, though it has written no status.
func TestWithEvents(t *testing.T) {
	const statefulSet = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1, creationTimestamp: "2026-01-02T03:00:00Z"}, spec: {replicas: 1}, status: {replicas: 0}}`
	const seen = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2, creationTimestamp: "2026-01-02T03:00:00Z"}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1}}`
	refused := Event{Type: "Warning", Reason: "FailedCreate", Message: "create Pod web-0 in StatefulSet web failed error: invalid label", Count: 16}
	for _, tt := range []struct {
		reason, object, now string
		events              []Event
		why                 string
		drift               DriftState
	}{
		{"it is refused, again and again", statefulSet, "2026-01-02T03:05:00Z", []Event{{Type: "Normal", Reason: "Scaled"}, refused},
			"FailedCreate: create Pod web-0 in StatefulSet web failed error: invalid label", NotReported},
		{"and will be before half a minute is over", statefulSet, "2026-01-02T03:00:01Z", []Event{refused},
			"FailedCreate: create Pod web-0 in StatefulSet web failed error: invalid label", NotReported},
		{"what it reports is no trouble", statefulSet, "2026-01-02T03:05:00Z", []Event{{Type: "Normal", Reason: "Scaled"}}, "no status reported", NotReported},
		{"nothing is reported", statefulSet, "2026-01-02T03:05:00Z", nil, "never seen by its controller", NeverSeen},
		{"it has seen an older generation", seen, "2026-01-02T03:05:00Z", []Event{refused}, "observed generation is 1, not yet 2", Behind},
	} {
		got := Inspect(fromYAML(t, tt.object), nil).At(at(tt.now).Time).WithEvents(tt.events)
		if got.Status.Status != InProgress || got.Reason != tt.why || got.Drift.State != tt.drift {
			t.Errorf("%s: %s (%s), %s; want %s, %s", tt.reason, got.Status.Status, got.Reason, got.Drift.State, tt.why, tt.drift)
		}
	}
}
