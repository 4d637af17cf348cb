package run

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// autoscalingFlags are kube-controller-manager's flags of the horizontal pod autoscaler, and whether what it asks for is
// served without it.
type autoscalingFlags struct {
	controllers.Autoscaling
	metrics bool
}

func (f *autoscalingFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.metrics, "metrics", false,
		"serve what simulated pods use as metrics.k8s.io, for kubectl top, even if no horizontal pod autoscaler runs")
	flags.DurationVar(&f.SyncPeriod, "horizontal-pod-autoscaler-sync-period", 0,
		"how often horizontal pod autoscalers look at metrics; 0 is 15s, what kube-controller-manager has")
	flags.DurationVar(&f.DownscaleStabilization, "horizontal-pod-autoscaler-downscale-stabilization", 0,
		"how long a load must have been low before they scale down; 0 is 5m, what kube-controller-manager has")
}

func (f *autoscalingFlags) validate() error {
	switch {
	case f.SyncPeriod < 0:
		return fmt.Errorf("--horizontal-pod-autoscaler-sync-period %s is negative", f.SyncPeriod)
	case f.DownscaleStabilization < 0:
		return fmt.Errorf("--horizontal-pod-autoscaler-downscale-stabilization %s is negative", f.DownscaleStabilization)
	}
	return nil
}
