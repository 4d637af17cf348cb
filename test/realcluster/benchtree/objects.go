package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// broken is a Deployment of the first namespace of which a pod cannot pull its image.
const broken = "web-0010"

// breakOne makes it so, as a kubelet and controllers would report it. A cluster that is too small to have it is left
// alone.
func breakOne(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	ofIt := metav1.ListOptions{LabelSelector: "app=" + broken}
	pods, err := client.CoreV1().Pods(firstNamespace).List(ctx, ofIt)
	if err != nil || len(pods.Items) == 0 {
		return err
	}
	pod := &pods.Items[0]
	pod.Status.Phase = corev1.PodPending
	container := &pod.Status.ContainerStatuses[0]
	container.Ready = false
	container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "ImagePullBackOff", Message: fmt.Sprintf("Back-off pulling image %q", container.Image),
	}}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotReady"
		}
	}
	if _, err := client.CoreV1().Pods(firstNamespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("setting the status of pod %q: %w", pod.Name, err)
	}
	sets := client.AppsV1().ReplicaSets(firstNamespace)
	rs, err := sets.Get(ctx, metav1.GetControllerOf(pod).Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the ReplicaSet of pod %q: %w", pod.Name, err)
	}
	rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = rs.Status.Replicas-1, rs.Status.Replicas-1
	if _, err := sets.UpdateStatus(ctx, rs, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("setting the status of ReplicaSet %q: %w", rs.Name, err)
	}
	deployments := client.AppsV1().Deployments(firstNamespace)
	d, err := deployments.Get(ctx, broken, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading Deployment %q: %w", broken, err)
	}
	d.Status.ReadyReplicas, d.Status.AvailableReplicas = d.Status.Replicas-1, d.Status.Replicas-1
	d.Status.UnavailableReplicas = 1
	if _, err := deployments.UpdateStatus(ctx, d, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("setting the status of Deployment %q: %w", broken, err)
	}
	return nil
}

// writeManifest writes the first Deployment as its user would have it in a file, with another image.
func writeManifest(ctx context.Context, config *rest.Config, file string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	d, err := client.AppsV1().Deployments(firstNamespace).Get(ctx, "web-0000", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the Deployment to be applied: %w", err)
	}
	d.Spec.Template.Spec.Containers[0].Image = "example.com/web:next"
	data, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "spec": d.Spec,
		"metadata": map[string]any{"name": d.Name, "namespace": d.Namespace, "labels": d.Labels},
	})
	if err != nil {
		return fmt.Errorf("encoding the Deployment to be applied: %w", err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("writing the Deployment to be applied: %w", err)
	}
	return nil
}
