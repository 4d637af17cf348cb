package controllers

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	kcmconfig "k8s.io/kube-controller-manager/config/v1alpha1"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	hpaconfig "k8s.io/kubernetes/pkg/controller/podautoscaler/config/v1alpha1"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	resourcemetrics "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// Autoscaling holds the periods of the horizontal pod autoscaler. The zero value is kube-controller-manager's defaults.
type Autoscaling struct {
	// SyncPeriod is how often an autoscaler is reconciled when nothing has changed, as with the flag
	// --horizontal-pod-autoscaler-sync-period; 0 is 15 s.
	SyncPeriod time.Duration
	// DownscaleStabilization is how far back the controller looks for a higher recommendation before it scales down, as
	// with the flag --horizontal-pod-autoscaler-downscale-stabilization; 0 is 5 min.
	DownscaleStabilization time.Duration
}

// config returns kube-controller-manager's configuration with these periods.
func (a Autoscaling) config() kcmconfig.HPAControllerConfiguration {
	var c kcmconfig.HPAControllerConfiguration
	hpaconfig.RecommendedDefaultHPAControllerConfiguration(&c)
	period, window := &c.HorizontalPodAutoscalerSyncPeriod, &c.HorizontalPodAutoscalerDownscaleStabilizationWindow
	period.Duration = cmp.Or(a.SyncPeriod, period.Duration)
	window.Duration = cmp.Or(a.DownscaleStabilization, window.Duration)
	return c
}

// podAutoscalerController mirrors newHorizontalPodAutoscalerController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/autoscaling.go.
func podAutoscalerController() Controller {
	autoscalers := schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}
	return Controller{
		Name:       names.HorizontalPodAutoscalerController,
		Short:      "horizontalpodautoscaling",
		Aliases:    []string{"horizontalpodautoscaling"},
		Reads:      []schema.GroupResource{autoscalers, {Resource: "pods"}},
		Writes:     []schema.GroupResource{autoscalers, {Group: "*", Resource: "*/scale"}},
		Needs:      []Need{NeedsMapper, NeedsScale},
		Keys:       []ObjectKind{{"autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers"}},
		MakesReady: true,
		workers:    5,
		build:      buildPodAutoscaler,
	}
}

// buildPodAutoscaler builds the autoscaler with clients of the three metrics APIs, whether they are served or not.
func buildPodAutoscaler(ctx context.Context, e environment) (runFunc, error) {
	config, mapper := e.autoscaling.config(), newMapper(e)
	scales, err := scale.NewForConfig(
		e.config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(e.client.Discovery()))
	if err != nil {
		return nil, fmt.Errorf("making the scale client: %w", err)
	}
	versions := custom_metrics.NewAvailableAPIsGetter(e.client.Discovery())
	measured, err := metricsClient(e, mapper, versions)
	if err != nil {
		return nil, err
	}
	// It adds every key again after each reconcile, to be processed once a period.
	e.tap.SetTraits(tap.ControllerTraits{RequeuesWithoutError: true})
	c := podautoscaler.NewHorizontalController(
		ctx, e.client.CoreV1(), scales, e.client.AutoscalingV2(), mapper, measured,
		e.informers.Autoscaling().V2().HorizontalPodAutoscalers(), e.informers.Core().V1().Pods(),
		config.HorizontalPodAutoscalerSyncPeriod.Duration,
		config.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration,
		config.HorizontalPodAutoscalerTolerance, config.HorizontalPodAutoscalerCPUInitializationPeriod.Duration,
		config.HorizontalPodAutoscalerInitialReadinessDelay.Duration,
	)
	run := func(ctx context.Context, workers int) {
		var running sync.WaitGroup
		running.Go(func() {
			custom_metrics.PeriodicallyInvalidate(
				versions, config.HorizontalPodAutoscalerSyncPeriod.Duration, ctx.Done())
		})
		running.Go(func() { c.Run(ctx, workers) })
		running.Wait()
	}
	return run, e.tapQueues(c, "queue")
}

// metricsClient returns a client of the APIs of resource metrics, custom metrics and external metrics.
func metricsClient(
	e environment, mapper *restmapper.DeferredDiscoveryRESTMapper, versions custom_metrics.AvailableAPIsGetter,
) (metrics.MetricsClient, error) {
	resources, err := resourcemetrics.NewForConfig(e.config)
	if err != nil {
		return nil, fmt.Errorf("making the client of resource metrics: %w", err)
	}
	external, err := external_metrics.NewForConfig(e.config)
	if err != nil {
		return nil, fmt.Errorf("making the client of external metrics: %w", err)
	}
	custom := custom_metrics.NewForConfig(e.config, mapper, versions)
	return metrics.NewRESTMetricsClient(resources, custom, external), nil
}
