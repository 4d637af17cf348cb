package inspect

import "testing"

func TestInfrastructure(t *testing.T) {
	judgeAll(t, []verdict{
		{"a namespace in use", `{apiVersion: v1, kind: Namespace, spec: {finalizers: [kubernetes]}, status: {phase: Active}}`, Current, "", ""},
		{
			"an API that does not answer blocks the deletion of a namespace, and comes before its remaining content",
			`{apiVersion: v1, kind: Namespace, metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {finalizers: [kubernetes]}, status: {phase: Terminating, conditions: [
			  {type: NamespaceContentRemaining, status: "True", reason: SomeResourcesRemain, message: "Some resources are remaining: pods. has 1 resource instances"},
			  {type: NamespaceDeletionDiscoveryFailure, status: "True", reason: DiscoveryFailed, message: "Discovery failed for some groups, 1 failing: metrics.k8s.io/v1beta1"}]}}`,
			Terminating, "Discovery failed for some groups, 1 failing: metrics.k8s.io/v1beta1", "",
		},
		{
			"finalizers of what is in it",
			`{apiVersion: v1, kind: Namespace, metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}, status: {phase: Terminating, conditions: [
			  {type: NamespaceDeletionDiscoveryFailure, status: "False"},
			  {type: NamespaceFinalizersRemaining, status: "True", reason: SomeFinalizersRemain, message: "Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances"}]}}`,
			Terminating, "Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances", "",
		},
		{"a namespace about to go", `{apiVersion: v1, kind: Namespace, metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}}`, Terminating, "being deleted", ""},

		{"a node in use", `{apiVersion: v1, kind: Node, status: {conditions: [{type: Ready, status: "True"}, {type: DiskPressure, status: "False"}]}}`, Current, "", ""},
		{"a cordoned node", `{apiVersion: v1, kind: Node, spec: {unschedulable: true}, status: {conditions: [{type: Ready, status: "True"}]}}`, Suspended, "cordoned", ""},
		{
			"a cordon does not hide that it is lost",
			`{apiVersion: v1, kind: Node, spec: {unschedulable: true}, status: {conditions: [{type: Ready, status: "False", reason: KubeletNotReady}]}}`,
			Failed, "NotReady: KubeletNotReady", "",
		},
		{
			"nor that it is under pressure",
			`{apiVersion: v1, kind: Node, spec: {unschedulable: true}, status: {conditions: [{type: Ready, status: "True"}, {type: DiskPressure, status: "True"}]}}`,
			Degraded, "DiskPressure=True", "",
		},
		{"a node that was only registered", `{apiVersion: v1, kind: Node, status: {}}`, Unknown, "its kubelet has not reported", ""},
		{
			"a problem that a detector of the cluster's own reports",
			`{apiVersion: v1, kind: Node, status: {conditions: [{type: Ready, status: "True"}, {type: KernelDeadlock, status: "True", reason: DockerHung}]}}`,
			Degraded, "KernelDeadlock=True DockerHung", "",
		},

		{
			"a definition that is served",
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}}`,
			Current, "", "",
		},
		{
			"names that another definition has",
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: "False", reason: PluralConflict, message: '"things" is already in use'},
			  {type: Established, status: "False", reason: NotAccepted}]}}`,
			Failed, `PluralConflict: "things" is already in use`, "",
		},
		{
			"a definition that is being installed",
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "False", reason: Installing}]}}`,
			InProgress, "not established yet", "",
		},
		{
			"one that is not established for another reason",
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: Established, status: "False", reason: NotAccepted, message: refused}]}}`,
			Failed, "NotAccepted: refused", "",
		},
		{"one that no controller has observed", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {}}`, InProgress, "not established yet", ""},

		{
			"an API that answers",
			`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {conditions: [{type: Available, status: "True", reason: Local}]}}`,
			Current, "", "",
		},
		{"an API that is not checked yet", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, spec: {}}`, InProgress, "not checked yet", ""},

		{"a Service within the cluster", `{apiVersion: v1, kind: Service, spec: {type: ClusterIP, clusterIP: 10.0.0.1}, status: {loadBalancer: {}}}`, Current, "", ""},
		{
			"a load balancer with a name",
			`{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: {loadBalancer: {ingress: [{hostname: lb.example.com}]}}}`,
			Current, "", "",
		},
		{
			"a load balancer that takes only some of the ports",
			`{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: {conditions: [{type: LoadBalancerPortsError, status: "True", reason: LoadBalancerMixedProtocolNotSupported}],
			  loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}`,
			Degraded, "LoadBalancerPortsError=True LoadBalancerMixedProtocolNotSupported", "",
		},
		{
			"endpoints are ready unless they say otherwise",
			`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, endpoints: [{conditions: {ready: true}}, {conditions: {ready: false}}, {}]}`,
			Current, "", "2/3",
		},

		{"a certificate", `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, spec: {}, status: {certificate: eA==, conditions: [{type: Approved, status: "True"}]}}`, Current, "issued", ""},
		{
			"one that is only approved",
			`{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, spec: {signerName: example.com/x}, status: {conditions: [{type: Approved, status: "True"}]}}`,
			InProgress, "approved, waiting for example.com/x", "",
		},
		{
			"one that was denied",
			`{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, spec: {}, status: {conditions: [{type: Denied, status: "True", message: not you}]}}`,
			Failed, "Denied: not you", "",
		},
		{
			"a flow schema without its priority level",
			`{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, spec: {}, status: {conditions: [{type: Dangling, status: "True", reason: NotFound}]}}`,
			Degraded, "Dangling=True NotFound", "",
		},
		{"a kind without a status", `{apiVersion: v1, kind: ConfigMap, data: {a: b}}`, Current, "", ""},
		{"one that has a spec is none of a custom kind's", `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}}}`, Current, "", ""},
	})
}

func TestStorage(t *testing.T) {
	judgeAll(t, []verdict{
		{"a claim with its volume", `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {}, status: {phase: Bound}}`, Current, "", ""},
		{"a claim without", `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: fast}, status: {phase: Pending}}`, InProgress, "waiting for a volume of class fast", ""},
		{
			"a claim whose pod must come first", // ReadWriteOncePod and the like tell nothing here: only the class knows
			`{apiVersion: v1, kind: PersistentVolumeClaim, spec: {}}`, InProgress, "waiting for a volume", "",
		},
		{
			"a claim that becomes larger",
			`{apiVersion: v1, kind: PersistentVolumeClaim, spec: {}, status: {phase: Bound, conditions: [{type: FileSystemResizePending, status: "True", message: "Waiting for user to (re-)start a pod"}]}}`,
			InProgress, "FileSystemResizePending: Waiting for user to (re-)start a pod", "",
		},
		{
			"a claim that cannot become larger",
			`{apiVersion: v1, kind: PersistentVolumeClaim, spec: {}, status: {phase: Bound, conditions: [{type: Resizing, status: "True"}, {type: ControllerResizeError, status: "True", reason: Infeasible}]}}`,
			Degraded, "Infeasible", "",
		},
		{
			"a claim that no pod uses is as good as another",
			`{apiVersion: v1, kind: PersistentVolumeClaim, spec: {}, status: {phase: Bound, conditions: [{type: Unused, status: "True"}]}}`,
			Current, "", "",
		},
		{
			"a claim that a pod still uses",
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {deletionTimestamp: "2026-01-02T03:04:05Z", finalizers: [kubernetes.io/pvc-protection]}, spec: {}, status: {phase: Bound}}`,
			Terminating, "waiting for finalizer kubernetes.io/pvc-protection", "",
		},
		{"a phase of a later version", `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {}, status: {phase: Sleeping}}`, InProgress, "Sleeping", ""},

		{"a volume in use", `{apiVersion: v1, kind: PersistentVolume, spec: {}, status: {phase: Bound}}`, Current, "", ""},
		{"a volume without a claim", `{apiVersion: v1, kind: PersistentVolume, spec: {}, status: {phase: Available}}`, Current, "no claim yet", ""},
		{
			"a volume that is kept for its data",
			`{apiVersion: v1, kind: PersistentVolume, spec: {persistentVolumeReclaimPolicy: Retain, claimRef: {namespace: shop, name: db}}, status: {phase: Released}}`,
			Suspended, "released by claim shop/db, kept by its policy", "",
		},
		{
			"a volume that is about to go",
			`{apiVersion: v1, kind: PersistentVolume, spec: {persistentVolumeReclaimPolicy: Delete, claimRef: {namespace: shop, name: db}}, status: {phase: Released}}`,
			InProgress, "released by claim shop/db", "",
		},
		{"a volume that failed and tells nothing", `{apiVersion: v1, kind: PersistentVolume, spec: {}, status: {phase: Failed}}`, Failed, "reclaiming it failed", ""},
		{"a volume that was just made", `{apiVersion: v1, kind: PersistentVolume, spec: {}}`, InProgress, "not available yet", ""},
		{"a phase of a later version's volume", `{apiVersion: v1, kind: PersistentVolume, spec: {}, status: {phase: Sleeping}}`, Current, "Sleeping", ""},

		{"attached", `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, spec: {}, status: {attached: true}}`, Current, "", ""},
		{
			"not to be attached",
			`{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, spec: {}, status: {attached: false, attachError: {message: "no such disk\nat all"}}}`,
			Failed, "attaching: no such disk", "",
		},
	})
}

func TestScaling(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"an autoscaler at work",
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {currentReplicas: 2, desiredReplicas: 2, conditions: [{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "True"}]}}`,
			Current, "", "",
		},
		{
			"one that has just decided",
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {currentReplicas: 2, desiredReplicas: 4, conditions: [{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "True"}]}}`,
			InProgress, "scaling from 2 to 4", "",
		},
		{
			"one that would do more than it may",
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {currentReplicas: 4, desiredReplicas: 4, conditions: [{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "True"},
			  {type: ScalingLimited, status: "True", reason: TooManyReplicas}]}}`,
			Current, "limited: TooManyReplicas", "",
		},
		{
			"a user scaled its target to 0, which disables it",
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {conditions: [{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "False", reason: ScalingDisabled}]}}`,
			Suspended, "its target is scaled to 0", "",
		},
		{
			"version v1 has its conditions in an annotation",
			`{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {annotations: {autoscaling.alpha.kubernetes.io/conditions: '[{"type":"AbleToScale","status":"True"},{"type":"ScalingActive","status":"False","reason":"FailedGetResourceMetric","message":"no metrics returned"}]'}},
			  status: {currentReplicas: 2, desiredReplicas: 2}}`,
			Degraded, "FailedGetResourceMetric: no metrics returned", "",
		},
		{
			"and rests as v2 does",
			`{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {annotations: {autoscaling.alpha.kubernetes.io/conditions: '[{"type":"AbleToScale","status":"True"},{"type":"ScalingActive","status":"False","reason":"ScalingDisabled"}]'}}, status: {}}`,
			Suspended, "its target is scaled to 0", "",
		},
		{
			"an annotation that is no JSON leaves a doubt",
			`{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {generation: 1, annotations: {autoscaling.alpha.kubernetes.io/conditions: '['}}, status: {observedGeneration: 1, currentReplicas: 1, desiredReplicas: 1}}`,
			Unknown, `annotation autoscaling.alpha.kubernetes.io/conditions is the text "[", not a list of conditions`, "",
		},
		{"an Ingress of a class waits for an address", `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {ingressClassName: nginx}, status: {loadBalancer: {}}}`, InProgress, "waiting for an address", ""},
		{"so does one of the older annotation", `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {annotations: {kubernetes.io/ingress.class: nginx}}, spec: {}, status: {loadBalancer: {}}}`, InProgress, "waiting for an address", ""},
		{"one that has it", `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {ingressClassName: nginx}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}`, Current, "", ""},
		{"one of no class may be meant for nothing here", `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {}, status: {loadBalancer: {}}}`, Current, "", ""},
		{"one that no controller has evaluated", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {}}`, InProgress, "not evaluated yet", ""},

		{
			"a budget that holds, and allows something",
			`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {observedGeneration: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3, disruptionsAllowed: 1}}`,
			Current, "", "",
		},
		{
			"a budget that holds, and allows nothing: nodes cannot be drained",
			`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {observedGeneration: 1, currentHealthy: 2, desiredHealthy: 2, expectedPods: 2, disruptionsAllowed: 0}}`,
			Current, "no disruption allowed", "",
		},
		{
			"a budget for no pod",
			`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {observedGeneration: 1}}`,
			Current, "no pod matches", "",
		},
		{
			"a budget that cannot be computed",
			`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: DisruptionAllowed, status: "False", reason: SyncFailed, message: no scale}]}}`,
			Degraded, "SyncFailed: no scale", "",
		},
		{
			"its controller leaves out the generation of one that it cannot compute",
			`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptionsAllowed: 0,
			  conditions: [{type: DisruptionAllowed, status: "False", reason: SyncFailed, message: no scale}]}}`,
			Degraded, "SyncFailed: no scale", "",
		},
		{"a budget that its controller has not seen", `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}}`, InProgress, "not seen by its controller yet", ""},
	})
}

// TestJoiningNodes: a node whose Ready condition has been as it is since the node was made has never been ready.
func TestJoiningNodes(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"a node that has just joined waits for its network",
			`{apiVersion: v1, kind: Node, metadata: {creationTimestamp: "2026-01-02T03:04:05Z"}, status: {conditions: [
			  {type: Ready, status: "False", reason: KubeletNotReady, message: "cni plugin not initialized", lastTransitionTime: "2026-01-02T03:04:04Z"}]}}`,
			InProgress, "not ready since it joined: cni plugin not initialized", "",
		},
		{
			"one that no cloud controller manager has initialized",
			`{apiVersion: v1, kind: Node, metadata: {creationTimestamp: "2026-01-02T03:04:05Z"}, spec: {taints: [{key: node.cloudprovider.kubernetes.io/uninitialized, effect: NoSchedule}]},
			  status: {conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-02T03:04:14Z"}]}}`,
			InProgress, "no cloud controller manager has initialized it: taint node.cloudprovider.kubernetes.io/uninitialized", "",
		},
		{
			"one that was ready and is not any more",
			`{apiVersion: v1, kind: Node, metadata: {creationTimestamp: "2026-01-02T03:04:05Z"}, status: {conditions: [
			  {type: Ready, status: "False", reason: KubeletNotReady, message: "cni plugin not initialized", lastTransitionTime: "2026-01-02T04:04:04Z"}]}}`,
			Failed, "NotReady: cni plugin not initialized", "",
		},
		{
			"one that joined, and whose kubelet then fell silent",
			`{apiVersion: v1, kind: Node, metadata: {creationTimestamp: "2026-01-02T03:04:05Z"}, status: {conditions: [
			  {type: Ready, status: Unknown, reason: NodeStatusUnknown, lastTransitionTime: "2026-01-02T03:04:50Z"}]}}`,
			Failed, "NotReady: NodeStatusUnknown", "",
		},
	})
}

func TestSnapshots(t *testing.T) {
	judgeAll(t, []verdict{
		{"a snapshot to restore from", `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, spec: {}, status: {readyToUse: true}}`, Current, "", ""},
		{"one that is being taken", `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, spec: {}, status: {readyToUse: false}}`, InProgress, "not ready to use yet", ""},
		{"one that no controller has observed", `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotContent, spec: {}}`, InProgress, "not ready to use yet", ""},
		{
			"one that could not be taken",
			`{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotContent, spec: {}, status: {readyToUse: false, error: {message: "no such volume\nat all"}}}`,
			Failed, "taking the snapshot: no such volume", "",
		},
		{"an error that has passed", `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, spec: {}, status: {readyToUse: true, error: {message: late}}}`, Current, "", ""},
	})
}

func TestScalingOfOtherVersions(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"autoscaling/v1 has its conditions in an annotation",
			`{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {generation: 1}, status: {observedGeneration: 1, currentReplicas: 2, desiredReplicas: 2}}`,
			Current, "", "",
		},
		{
			"a budget of a Deployment that is scaled to nothing: there are no pods to protect",
			`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {observedGeneration: 1, currentHealthy: 0, desiredHealthy: 1, expectedPods: 0}}`,
			Current, "no pod matches", "",
		},
	})
}
