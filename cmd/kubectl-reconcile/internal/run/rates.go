package run

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// rateFlags say how fast controllers may ask, and how often they look again.
type rateFlags struct {
	qps    float32
	burst  int
	resync time.Duration
}

func (f *rateFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Float32Var(&f.qps, "qps", 0, "requests a second that each controller may make, beside its informers; "+
		"0 is as many as it likes in a sandbox, and 20 on a cluster, as kube-controller-manager has; less than 0 is no bound")
	flags.IntVar(&f.burst, "burst", 0, "with --qps, how many requests may come at once; 0 is half as many more")
	flags.DurationVar(&f.resync, "resync", 0, "how often informers hand all objects to the controllers again; 0 is never")
}

func (f *rateFlags) validate() error {
	switch {
	case f.burst < 0:
		return fmt.Errorf("--burst %d is negative", f.burst)
	case f.burst > 0 && f.qps <= 0:
		return cli.WithHint(fmt.Errorf("--burst %d needs --qps", f.burst), "it says how many of the requests of --qps may come at once")
	case f.resync < 0:
		return fmt.Errorf("--resync %s is negative", f.resync)
	case f.resync > 0 && f.resync < time.Second:
		return fmt.Errorf("--resync %s is less than a second: every controller would look at every object all the time", f.resync)
	}
	return nil
}

// bursts is --burst, or half as much again as --qps, as kube-controller-manager has 20 and 30.
func (f *rateFlags) bursts() int {
	if f.burst > 0 || f.qps <= 0 {
		return f.burst
	}
	return max(1, int(f.qps*3/2))
}

func (f *rateFlags) inSandbox(o *runlocal.Options) {
	o.QPS, o.Burst, o.Resync = f.qps, f.bursts(), f.resync
}

func (f *rateFlags) onCluster(o *runlocal.ClusterOptions) {
	o.QPS, o.Burst, o.Resync = f.qps, f.bursts(), f.resync
}
