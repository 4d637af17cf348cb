package run

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// hostFlags are kube-controller-manager's flags of the controllers of nodes.
type hostFlags struct {
	controllers.NodeControllerOptions
}

func (f *hostFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.MonitorPeriod, "node-monitor-period", 0,
		"how often node-lifecycle looks at the health of nodes; 0 is 5s, what kube-controller-manager has")
	flags.DurationVar(&f.GracePeriod, "node-monitor-grace-period", 0,
		"how long a node may be silent before node-lifecycle takes it for unreachable; 0 is 50s, what kube-controller-manager has")
	flags.Float32Var(&f.EvictionRate, "node-eviction-rate", 0,
		"nodes a second that node-lifecycle taints because they are not ready; 0 is 0.1, what kube-controller-manager has")
	flags.IntVar(&f.TerminatedPods, "terminated-pod-gc-threshold", 0,
		"pods that have ended which podgc leaves; 0 is 12500, what kube-controller-manager has, and less than 0 is all")
}

func (f *hostFlags) validate() error {
	switch {
	case f.MonitorPeriod < 0:
		return fmt.Errorf("--node-monitor-period %s is negative", f.MonitorPeriod)
	case f.GracePeriod < 0:
		return fmt.Errorf("--node-monitor-grace-period %s is negative", f.GracePeriod)
	case f.EvictionRate < 0:
		return fmt.Errorf("--node-eviction-rate %g is negative", f.EvictionRate)
	}
	return nil
}
