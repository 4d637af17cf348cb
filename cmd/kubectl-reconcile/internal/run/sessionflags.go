package run

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// SessionFlags are the flags that `run` and `sandbox` share: what a session consists of, and how its trace is shown.
type SessionFlags struct {
	controllers   string
	workers       int
	nodes         int
	autoscaling   autoscalingFlags
	hosts         hostFlags
	podReadyAfter time.Duration
	TraceFile     string
	Color         render.ColorMode
	Verbosity     int
	Serve         serveFlags
	rates         rateFlags
}

func (f *SessionFlags) AddTo(cmd *cobra.Command, controllers string) {
	f.Color = render.ColorAuto
	flags := cmd.Flags()
	flags.StringVar(&f.controllers, "controller", controllers, "controllers to run, by the names and aliases of kube-controller-manager; "+
		"'*' is all that can run here, -NAME leaves one out, none in a sandbox runs none")
	flags.IntVar(&f.workers, "workers", 0, "keys that each controller reconciles at a time; 0 is what kube-controller-manager has, and 4 for the simulated nodes")
	flags.IntVar(&f.nodes, "nodes", 3, "simulated nodes; with 0, pods stay pending")
	flags.DurationVar(&f.podReadyAfter, "pod-ready-after", 200*time.Millisecond, "how long a simulated pod runs before it is ready")
	f.autoscaling.addTo(cmd)
	f.hosts.addTo(cmd)
	flags.StringVar(&f.TraceFile, "trace-file", "", "write the trace to this file too, as JSON, one event a line")
	flags.Var(&f.Color, "color", "colour the output: auto, always or never")
	flags.CountVarP(&f.Verbosity, "verbose", "v", "show more: every reconcile, all causes, names, fields "+
		"and reads, and what is logged up to level 4; -vv shows all that is logged")
	f.Serve.addTo(cmd)
	f.rates.addTo(cmd)
	cli.CompleteWords(cmd, "color", string(render.ColorAuto), string(render.ColorAlways), string(render.ColorNever))
	completeControllers(cmd)
}

func (f *SessionFlags) Validate() error {
	if err := f.autoscaling.validate(); err != nil {
		return err
	}
	if err := f.hosts.validate(); err != nil {
		return err
	}
	switch {
	case f.workers < 0:
		return fmt.Errorf("--workers %d is negative", f.workers)
	case f.nodes < 0:
		return fmt.Errorf("--nodes %d is negative", f.nodes)
	case f.podReadyAfter < 0:
		return fmt.Errorf("--pod-ready-after %s is negative", f.podReadyAfter)
	}
	if err := f.Serve.validate(); err != nil {
		return err
	}
	return f.rates.validate()
}

func (f *SessionFlags) detail() render.Detail {
	return min(render.Normal+render.Detail(f.Verbosity), render.Everything)
}

func (f *SessionFlags) SessionOptions() (runlocal.Options, error) {
	selected, err := selectControllers(f.controllers)
	if err != nil {
		return runlocal.Options{}, err
	}
	o := runlocal.Options{
		API:             api.Options{DefaultServiceAccounts: true},
		Controllers:     selected,
		Workers:         f.workers,
		Nodes:           f.nodes,
		NoScheduling:    len(selected) == 0 && f.nodes == 0,
		PodReadyAfter:   f.podReadyAfter,
		Verbosity:       f.detail().LogLevel(),
		Autoscaling:     f.autoscaling.Autoscaling,
		NodeControllers: f.hosts.NodeControllerOptions,
		Metrics:         f.autoscaling.metrics,
	}
	f.rates.inSandbox(&o)
	return o, nil
}

// mostNamed is how many controllers are named, unless all are asked for.
const mostNamed = 6

// named names the controllers, or counts them if they are many.
func (o *Options) named(of []controllers.Controller) string {
	if len(of) > mostNamed && o.Detail < render.Verbose {
		return fmt.Sprintf("%d controllers", len(of))
	}
	var names []string
	for _, c := range of {
		names = append(names, c.Short)
	}
	return "controllers " + strings.Join(names, ", ")
}

// describe says in a few words what the session consists of.
func (o *Options) describe(session *runlocal.Session) string {
	text := fmt.Sprintf("Kubernetes %s API ", api.KubernetesVersion())
	if url := session.Server().URL(); url != "" {
		text += "at " + url
	} else {
		text += "in memory"
	}
	if len(o.Session.Controllers) > 0 {
		text += "; " + o.named(o.Session.Controllers)
	}
	if o.Session.NoScheduling {
		return text
	}
	return text + "; simulated nodes: " + strconv.Itoa(o.Session.Nodes)
}
