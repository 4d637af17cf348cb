package inspect

import (
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWhereKstatusMisleads holds kstatus's word beside ours. A row whose kstatus differs after an upgrade may have
// become needless: kstatus may have learnt it.
func TestWhereKstatusMisleads(t *testing.T) {
	for _, tt := range misleading {
		t.Run(tt.reason, func(t *testing.T) {
			obj := fromYAML(t, tt.object)
			if plain := wordOfKstatus(obj); plain != tt.kstatus {
				t.Errorf("kstatus itself says %q of it, not %q: is the correction still needed?", plain, tt.kstatus)
			}
			got := StatusOf(obj)
			if got.Status != tt.ours || got.Reason != tt.why {
				t.Errorf("status %s (%s), want %s (%s)", got.Status, got.Reason, tt.ours, tt.why)
			}
			if kept := strings.TrimPrefix(tt.kstatus, "panic"); got.Kstatus != kept {
				t.Errorf("the word of kstatus that is kept is %q, want %q", got.Kstatus, tt.kstatus)
			}
		})
	}
}

// wordOfKstatus asks the library itself: empty for an error, "panic" for that.
func wordOfKstatus(obj *unstructured.Unstructured) (word string) {
	defer func() {
		if recover() != nil {
			word = "panic"
		}
	}()
	result, err := status.Compute(obj)
	if err != nil {
		return ""
	}
	return string(result.Status)
}

var misleading = []struct {
	reason, object     string
	kstatus, ours, why string
}{
	{
		"a paused Deployment whose pods run has got where its spec wants it: its Progressing condition never becomes True",
		`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 3, paused: true, progressDeadlineSeconds: 600},
		  status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, conditions: [
		  {type: Available, status: "True"}, {type: Progressing, status: Unknown, reason: DeploymentPaused}]}}`,
		"InProgress", Suspended, "paused",
	},
	{
		"an image that cannot be pulled is no progress",
		`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web, image: "nginx:nope"}]}, status: {phase: Pending,
		  containerStatuses: [{name: web, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "nginx:nope"'}}}]}}`,
		"InProgress", Failed, "ImagePullBackOff: nginx:nope",
	},
	{
		"the first try to pull it is none either",
		`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web, image: "nginx:nope"}]}, status: {phase: Pending,
		  containerStatuses: [{name: web, state: {waiting: {reason: ErrImagePull}}}]}}`,
		"InProgress", Failed, "ErrImagePull: nginx:nope",
	},
	{
		"kstatus looks at the crashes of the main containers only",
		`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, initContainers: [{name: migrate}], containers: [{name: web}]}, status: {phase: Pending,
		  initContainerStatuses: [{name: migrate, restartCount: 5, state: {waiting: {reason: CrashLoopBackOff}},
		    lastState: {terminated: {exitCode: 1, reason: Error}}}],
		  containerStatuses: [{name: web, state: {waiting: {reason: PodInitializing}}}]}}`,
		"InProgress", Failed, "CrashLoopBackOff: init container migrate, exit code 1, restarted 5 times",
	},
	{
		"a Secret that is missing holds up the container until it is created",
		`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Pending,
		  containerStatuses: [{name: web, state: {waiting: {reason: CreateContainerConfigError, message: 'secret "db" not found'}}}]}}`,
		"InProgress", Failed, `CreateContainerConfigError: secret "db" not found`,
	},
	{
		"kstatus takes a pod that failed for done",
		`{apiVersion: v1, kind: Pod, spec: {containers: [{name: job}]}, status: {phase: Failed,
		  containerStatuses: [{name: job, state: {terminated: {exitCode: 2, reason: Error}}}]}}`,
		"Current", Failed, "exit code 2",
	},
	{
		"a load balancer without an address is not reachable",
		`{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: {loadBalancer: {}}}`,
		"Current", InProgress, "waiting for a load balancer address",
	},
	{
		"a StatefulSet that is updated by hand has pods to wait for like any other",
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 3, updateStrategy: {type: OnDelete}},
		  status: {observedGeneration: 1, replicas: 3, availableReplicas: 0}}`,
		"Current", InProgress, "0 of 3 pods ready",
	},
	{
		"a DaemonSet with the strategy OnDelete waits for nothing",
		`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}, spec: {updateStrategy: {type: OnDelete}},
		  status: {observedGeneration: 2, desiredNumberScheduled: 2, currentNumberScheduled: 2, numberReady: 2, numberAvailable: 2}}`,
		"InProgress", Current, "0 of 2 pods updated, the others when they are deleted (OnDelete)",
	},
	{
		"an autoscaler that may not scale its target does nothing",
		`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {currentReplicas: 2, desiredReplicas: 2, conditions: [
		  {type: AbleToScale, status: "False", reason: FailedGetScale, message: "the HPA controller was unable to get the target's current scale"}]}}`,
		"Current", Degraded, "FailedGetScale: the HPA controller was unable to get the target's current scale",
	},
	{
		"nor does one that gets no metrics",
		`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {currentReplicas: 2, conditions: [{type: AbleToScale, status: "True"},
		  {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: "no metrics returned"}]}}`,
		"Current", Degraded, "FailedGetResourceMetric: no metrics returned",
	},
	{
		"a custom resource that only reports that it is not available",
		`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Available, status: "False", reason: NoQuorum}]}}`,
		"Current", Degraded, "Available=False NoQuorum",
	},
	{
		"a custom resource without a status is Unknown",
		`{apiVersion: example.com/v1, kind: Cache, metadata: {generation: 1}, spec: {size: 3}}`,
		"Current", Unknown, "no status reported",
	},
	{
		"a condition of an older generation is about another object than the one that stands there",
		`{apiVersion: example.com/v1, kind: Cache, metadata: {generation: 2}, spec: {}, status: {conditions: [
		  {type: Ready, status: "True", observedGeneration: 1}]}}`,
		"Current", InProgress, "Ready=True is of generation 1, not 2",
	},
	{
		"a generation that was written as text is understood",
		`{apiVersion: example.com/v1, kind: Cache, metadata: {generation: 2}, spec: {}, status: {observedGeneration: "2", conditions: [
		  {type: Ready, status: "True"}]}}`,
		"", Current, "",
	},
	{
		"and is compared",
		`{apiVersion: example.com/v1, kind: Cache, metadata: {generation: 2}, spec: {}, status: {observedGeneration: "1", conditions: [
		  {type: Ready, status: "True"}]}}`,
		"", InProgress, "observed generation is 1, not yet 2",
	},
	{
		"after a restore from a backup the generation starts at 1 and the status is an old one: nothing is left to wait for",
		`{apiVersion: example.com/v1, kind: Cache, metadata: {generation: 1}, spec: {}, status: {observedGeneration: 7, conditions: [
		  {type: Ready, status: "True"}]}}`,
		"InProgress", Current, "",
	},
	{
		"a Job that runs is not done",
		`{apiVersion: batch/v1, kind: Job, spec: {completions: 3, parallelism: 2}, status: {startTime: "2026-01-02T03:04:05Z", active: 2, succeeded: 1}}`,
		"Current", InProgress, "1 of 3 completed, 2 active",
	},
	{
		"a Job that is suspended waits for its user, not for the controller",
		`{apiVersion: batch/v1, kind: Job, spec: {suspend: true}, status: {conditions: [{type: Suspended, status: "True"}]}}`,
		"InProgress", Suspended, "suspended",
	},
	{
		"a CronJob that is suspended makes no jobs",
		`{apiVersion: batch/v1, kind: CronJob, spec: {suspend: true}, status: {}}`,
		"Current", Suspended, "suspended",
	},
	{
		"a claim that lost its volume does not get it back",
		`{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeName: pv-1}, status: {phase: Lost}}`,
		"InProgress", Failed, "its volume pv-1 is gone",
	},
	{
		"a volume that could not be reclaimed",
		`{apiVersion: v1, kind: PersistentVolume, spec: {}, status: {phase: Failed, message: "no deleter found"}}`,
		"Current", Failed, "no deleter found",
	},
	{
		"a namespace that goes by its phase alone",
		`{apiVersion: v1, kind: Namespace, spec: {finalizers: [kubernetes]}, status: {phase: Terminating}}`,
		"Current", Terminating, "waiting for finalizer kubernetes",
	},
	{
		"a node whose kubelet is gone is not on its way",
		`{apiVersion: v1, kind: Node, status: {conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown,
		  message: Kubelet stopped posting node status.}]}}`,
		"InProgress", Failed, "NotReady: Kubelet stopped posting node status.",
	},
	{
		"a node under pressure evicts pods though it is ready",
		`{apiVersion: v1, kind: Node, status: {conditions: [{type: Ready, status: "True"}, {type: MemoryPressure, status: "True", reason: KubeletHasInsufficientMemory}]}}`,
		"Current", Degraded, "MemoryPressure=True KubeletHasInsufficientMemory",
	},
	{
		"an aggregated API that does not answer breaks discovery for everybody",
		`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {conditions: [{type: Available, status: "False", reason: FailedDiscoveryCheck,
		  message: "failing or missing response"}]}}`,
		"Current", Failed, "FailedDiscoveryCheck: failing or missing response",
	},
	{
		"a budget that is not met is no budget that holds",
		`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {observedGeneration: 1, currentHealthy: 1, desiredHealthy: 2, expectedPods: 3}}`,
		"Current", Degraded, "1 of 2 pods healthy",
	},
	{
		"a ReplicaSet whose pods are forbidden does not get on",
		`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, conditions: [
		  {type: ReplicaFailure, status: "True", reason: FailedCreate, message: "exceeded quota: pods"}]}}`,
		"InProgress", Failed, "FailedCreate: exceeded quota: pods",
	},
	{
		"a Deployment whose pods are forbidden fails at once, not after its deadline",
		`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 1,
		  updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1, conditions: [
		  {type: ReplicaFailure, status: "True", reason: FailedCreate, message: "exceeded quota: pods"}]}}`,
		"InProgress", Degraded, "FailedCreate: exceeded quota: pods",
	},
	{
		"a ReplicationController is as a ReplicaSet",
		`{apiVersion: v1, kind: ReplicationController, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, readyReplicas: 1}}`,
		"Current", InProgress, "1 of 2 pods ready",
	},
	{
		"a schema that the API server cannot use is a defect of a definition that is established",
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: "True"},
		  {type: Established, status: "True"}, {type: NonStructuralSchema, status: "True", reason: Violations}]}}`,
		"Current", Degraded, "NonStructuralSchema=True Violations",
	},
	{
		"pods of a StatefulSet that are ready, and not yet for as long as they shall be, do not count",
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2, minReadySeconds: 30},
		  status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 2, availableReplicas: 1}}`,
		"Current", InProgress, "1 of 2 ready pods available",
	},
	{
		"a volume that is not attached yet",
		`{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, spec: {nodeName: node-1}, status: {attached: false}}`,
		"Current", InProgress, "not attached yet",
	},
	{
		"a certificate without approval",
		`{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, spec: {signerName: example.com/x}, status: {}}`,
		"Current", InProgress, "waiting for approval",
	},
	{
		"Argo tells the health of an application by a word, without conditions",
		`{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {}, status: {health: {status: Degraded, message: "pod crashes"}}}`,
		"Current", Degraded, "Degraded: pod crashes",
	},
	{
		"containers that are of another shape make kstatus panic",
		`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Running, containerStatuses: [{name: web, state: {running: {}}}, {name: 1}]}}`,
		"panic", InProgress, "not started",
	},
}
