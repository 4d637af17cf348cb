package run

import (
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func TestAutoscalingFlagsAreNotNegative(t *testing.T) {
	for _, test := range []struct {
		asked  controllers.Autoscaling
		want   string
		reason string
	}{
		{controllers.Autoscaling{}, "", "0 stands for what kube-controller-manager has"},
		{controllers.Autoscaling{SyncPeriod: time.Second, DownscaleStabilization: time.Minute}, "", "both may be set"},
		{controllers.Autoscaling{SyncPeriod: -time.Second}, "--horizontal-pod-autoscaler-sync-period -1s is negative", "nothing happens before it did"},
		{
			controllers.Autoscaling{DownscaleStabilization: -time.Second},
			"--horizontal-pod-autoscaler-downscale-stabilization -1s is negative", "nor is anything remembered that is to come",
		},
	} {
		got := ""
		if err := (&autoscalingFlags{Autoscaling: test.asked}).validate(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
		}
	}
}
