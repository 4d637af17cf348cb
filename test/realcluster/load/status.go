package load

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func deploymentStatus(d *appsv1.Deployment) appsv1.DeploymentStatus {
	condition := func(kind appsv1.DeploymentConditionType, reason, message string) appsv1.DeploymentCondition {
		return appsv1.DeploymentCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message,
			LastUpdateTime: d.CreationTimestamp, LastTransitionTime: d.CreationTimestamp,
		}
	}
	return appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		Replicas:           pods, UpdatedReplicas: pods, ReadyReplicas: pods, AvailableReplicas: pods,
		Conditions: []appsv1.DeploymentCondition{
			condition(appsv1.DeploymentAvailable, "MinimumReplicasAvailable", "Deployment has minimum availability."),
			condition(appsv1.DeploymentProgressing, "NewReplicaSetAvailable",
				fmt.Sprintf("ReplicaSet of %q has successfully progressed.", d.Name)),
		},
	}
}

func replicaSetStatus(rs *appsv1.ReplicaSet) appsv1.ReplicaSetStatus {
	n := *rs.Spec.Replicas
	return appsv1.ReplicaSetStatus{
		ObservedGeneration: rs.Generation, Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
	}
}

// podStatus is that of the n-th pod of all, which is ready.
func podStatus(pod *corev1.Pod, n int) corev1.PodStatus {
	started := pod.CreationTimestamp
	address := fmt.Sprintf("10.%d.%d.%d", 100+n>>16, n>>8&0xff, n&0xff)
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &started, QOSClass: corev1.PodQOSBurstable,
		HostIP: "192.0.2.10", HostIPs: []corev1.HostIP{{IP: "192.0.2.10"}},
		PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady,
		corev1.ContainersReady, corev1.PodScheduled,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: started, ObservedGeneration: pod.Generation,
		})
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(c, started))
	}
	return status
}

func containerStatus(c corev1.Container, started metav1.Time) corev1.ContainerStatus {
	yes := true
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: c.Image + "@sha256:0000", ContainerID: "containerd://" + c.Name,
		Ready: true, Started: &yes,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
	}
}
