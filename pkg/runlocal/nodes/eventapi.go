package nodes

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
)

// regarding refers to a part of the pod, or to all of it if fieldPath is empty.
func regarding(pod *corev1.Pod, fieldPath string) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion, FieldPath: fieldPath,
	}
}

// kubeletEvents writes core/v1 Events, as kubelets do.
type kubeletEvents struct{ client corev1client.EventsGetter }

var _ eventWriter = kubeletEvents{}

func (k kubeletEvents) create(ctx context.Context, name string, o *eventRecord) error {
	e := &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: o.regarding.Namespace, Name: name},
		InvolvedObject:      o.regarding,
		Reason:              o.reason,
		Message:             o.message,
		Type:                o.eventType(),
		Count:               1,
		FirstTimestamp:      *seconds(o.at),
		LastTimestamp:       *seconds(o.at),
		Source:              corev1.EventSource{Component: "kubelet", Host: o.host},
		ReportingController: "kubelet",
		ReportingInstance:   o.host,
	}
	if _, err := k.client.Events(o.regarding.Namespace).Create(ctx, e, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating event %s of pod %q: %w", o.reason, o.regarding.Name, err)
	}
	return nil
}

func (k kubeletEvents) repeat(ctx context.Context, name string, o *eventRecord, count int32) error {
	patch, err := json.Marshal(map[string]any{"count": count, "lastTimestamp": seconds(o.at)})
	if err != nil {
		return fmt.Errorf("counting up event %s of pod %q: %w", o.reason, o.regarding.Name, err)
	}
	if _, err := k.client.Events(o.regarding.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("counting up event %s of pod %q: %w", o.reason, o.regarding.Name, err)
	}
	return nil
}

// schedulerEvents writes events.k8s.io/v1 Events, as kube-scheduler does.
type schedulerEvents struct{ client eventsclient.EventsGetter }

var _ eventWriter = schedulerEvents{}

// action is what kube-scheduler says it was doing.
func action(reason string) string {
	if reason == "Scheduled" {
		return "Binding"
	}
	return "Scheduling"
}

func (s schedulerEvents) create(ctx context.Context, name string, o *eventRecord) error {
	e := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: o.regarding.Namespace, Name: name},
		EventTime:           metav1.NewMicroTime(o.at),
		ReportingController: corev1.DefaultSchedulerName,
		ReportingInstance:   corev1.DefaultSchedulerName + "-" + runtimeName,
		Action:              action(o.reason),
		Reason:              o.reason,
		Regarding:           o.regarding,
		Note:                o.message,
		Type:                o.eventType(),
	}
	if _, err := s.client.Events(o.regarding.Namespace).Create(ctx, e, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating event %s of pod %q: %w", o.reason, o.regarding.Name, err)
	}
	return nil
}

func (s schedulerEvents) repeat(ctx context.Context, name string, o *eventRecord, count int32) error {
	series := &eventsv1.EventSeries{Count: count, LastObservedTime: metav1.NewMicroTime(o.at)}
	patch, err := json.Marshal(map[string]any{"series": series})
	if err != nil {
		return fmt.Errorf("counting up event %s of pod %q: %w", o.reason, o.regarding.Name, err)
	}
	if _, err := s.client.Events(o.regarding.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("counting up event %s of pod %q: %w", o.reason, o.regarding.Name, err)
	}
	return nil
}
