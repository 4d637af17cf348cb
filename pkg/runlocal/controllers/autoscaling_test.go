package controllers

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/metrics/pkg/apis/metrics"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// busyPods are the metrics of pods that use 400m of CPU each.
type busyPods struct{ names []string }

func (b busyPods) Pods(namespace string, _ labels.Selector) ([]metrics.PodMetrics, error) {
	var out []metrics.PodMetrics
	for _, name := range b.names {
		out = append(out, metrics.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Timestamp: metav1.Now(),
			Containers: []metrics.ContainerMetrics{{Name: "c",
				Usage: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("400m")}}},
		})
	}
	return out, nil
}

func (busyPods) Nodes(labels.Selector) ([]metrics.NodeMetrics, error) { return nil, nil }

func TestAutoscalerScales(t *testing.T) {
	t.Parallel()
	s := recordedSessionOn(t, tap.Options{},
		ownServer(api.Options{DefaultServiceAccounts: true, Metrics: busyPods{names: []string{"web"}}}))
	set := replicaSetOf("web", 1)
	set, err := s.client.AppsV1().ReplicaSets("default").Create(t.Context(), set, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set.Status.Replicas = 1
	if _, err := s.client.AppsV1().ReplicaSets("default").UpdateStatus(t.Context(), set,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := s.pod(t, "web", "10.0.0.1")
	pod.Status.StartTime = &metav1.Time{Time: time.Now()} // without it, its CPU does not count
	if _, err := s.client.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.AutoscalingV2().HorizontalPodAutoscalers("default").Create(t.Context(), autoscalerOf("web", 3),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	often := podAutoscalerController()
	often.build = func(ctx context.Context, e environment) (runFunc, error) {
		e.autoscaling.SyncPeriod = 100 * time.Millisecond
		return buildPodAutoscaler(ctx, e)
	}
	t.Cleanup(s.startThese(t, 0, often))
	eventually(t, "the autoscaler to scale", func() bool {
		scaled, err := s.client.AppsV1().ReplicaSets("default").Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && *scaled.Spec.Replicas == 3
	})
	s.expectActivity(t, "horizontalpodautoscaling", activity{
		Causes: []string{"ADDED HorizontalPodAutoscaler web seen by enqueueHPA"},
		Writes: []string{"update horizontalpodautoscalers/status by default/web", "update replicasets/scale by default/web"},
	})
	eventually(t, "the next reconcile to be planned", func() bool {
		return slices.ContainsFunc(s.log.list(), func(e *trace.Event) bool {
			end, ok := e.Detail.(*trace.End)
			return ok && e.Controller == "horizontalpodautoscaling" && end.Outcome == trace.Done && end.Next != nil &&
				end.Next.Retry == 0
		})
	})
	s.retriesFollowFailures(t)
}

// autoscalerOf aims at 100m of CPU a pod.
func autoscalerOf(name string, most int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name},
			MaxReplicas:    most,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{
						Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewMilliQuantity(100, resource.DecimalSI),
					},
				}}},
		},
	}
}

func TestAutoscalingDefaults(t *testing.T) {
	type times struct{ Period, Window time.Duration }
	for _, test := range []struct {
		set    Autoscaling
		want   times
		reason string
	}{
		{Autoscaling{}, times{15 * time.Second, 5 * time.Minute}, "kube-controller-manager's defaults"},
		{Autoscaling{SyncPeriod: time.Second}, times{time.Second, 5 * time.Minute}, "one of them is set"},
		{Autoscaling{DownscaleStabilization: time.Second}, times{15 * time.Second, time.Second}, "the other"},
	} {
		c := test.set.config()
		got := times{c.HorizontalPodAutoscalerSyncPeriod.Duration,
			c.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}
