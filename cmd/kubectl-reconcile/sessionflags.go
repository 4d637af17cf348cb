package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// sessionFlags are the flags that `run` and `sandbox` share: what a session consists of, and how its trace is shown.
type sessionFlags struct {
	controllers   string
	workers       int
	nodes         int
	autoscaling   autoscalingFlags
	hosts         hostFlags
	podReadyAfter time.Duration
	traceFile     string
	color         render.ColorMode
	verbosity     int
	serve         serveFlags
	rates         rateFlags
}

func (f *sessionFlags) addTo(cmd *cobra.Command, controllers string) {
	f.color = render.ColorAuto
	flags := cmd.Flags()
	flags.StringVar(&f.controllers, "controller", controllers, "controllers to run, by the names and aliases of kube-controller-manager; "+
		"'*' is all that can run here, -NAME leaves one out")
	flags.IntVar(&f.workers, "workers", 0, "keys that each controller reconciles at a time; 0 is what kube-controller-manager has, and 4 for the simulated nodes")
	flags.IntVar(&f.nodes, "nodes", 3, "simulated nodes; with 0, pods stay pending")
	flags.DurationVar(&f.podReadyAfter, "pod-ready-after", 200*time.Millisecond, "how long a simulated pod runs before it is ready")
	f.autoscaling.addTo(cmd)
	f.hosts.addTo(cmd)
	flags.StringVar(&f.traceFile, "trace-file", "", "write the trace to this file too, as JSON, one event a line")
	flags.Var(&f.color, "color", "colour the output: auto, always or never")
	flags.CountVarP(&f.verbosity, "verbose", "v", "show more: all causes, names, fields and reads, and what is logged up to level 4; -vv shows all that is logged")
	f.serve.addTo(cmd)
	f.rates.addTo(cmd)
	completeWords(cmd, "color", string(render.ColorAuto), string(render.ColorAlways), string(render.ColorNever))
	completeControllers(cmd)
}

func (f *sessionFlags) validate() error {
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
	if err := f.serve.validate(); err != nil {
		return err
	}
	return f.rates.validate()
}

func (f *sessionFlags) detail() render.Detail {
	return min(render.Normal+render.Detail(f.verbosity), render.Everything)
}

func (f *sessionFlags) sessionOptions(extra ...string) (runlocal.Options, error) {
	selected, err := selectControllers(f.controllers, extra...)
	if err != nil {
		return runlocal.Options{}, err
	}
	o := runlocal.Options{
		API:           api.Options{DefaultServiceAccounts: true},
		Controllers:   selected,
		Workers:       f.workers,
		Nodes:         f.nodes,
		PodReadyAfter: f.podReadyAfter,
		Verbosity:     f.detail().LogLevel(),
		Autoscaling:   f.autoscaling.Autoscaling,
		Hosts:         f.hosts.Hosts,
		Metrics:       f.autoscaling.metrics,
	}
	f.rates.inSandbox(&o)
	return o, nil
}

// selectControllers finds the controllers of --controller, a comma list. extra are words that the flag takes beside names.
func selectControllers(list string, extra ...string) ([]controllers.Controller, error) {
	if list == "" {
		return nil, nil
	}
	selected, err := controllers.Select(strings.Split(list, ","))
	return selected, withSelectionHint(err, extra...)
}

// withSelectionHint adds advice to the error of a controller that cannot be run. extra are as for selectControllers.
func withSelectionHint(err error, extra ...string) error {
	if unknown, ok := errors.AsType[*controllers.UnknownError](err); ok {
		return withHint(err, suggestion(unknown.Name, append(unknown.Known, extra...), "controllers are named as kube-controller-manager names them; `run --list` lists them"))
	}
	notRun, ok := errors.AsType[*controllers.NotRunError](err)
	if !ok {
		return err
	}
	if flags := flagsFor(notRun.Reason); flags != "" {
		return withHint(err, "a control plane has what it needs; give it with "+flags)
	}
	return withHint(err, "`run --list` says which run here")
}

// mostNamed is how many controllers are named, unless all are asked for.
const mostNamed = 6

// named names the controllers, or counts them if they are many.
func (o *runOptions) named(of []controllers.Controller) string {
	if len(of) > mostNamed && o.detail < render.Verbose {
		return fmt.Sprintf("%d controllers", len(of))
	}
	var names []string
	for _, c := range of {
		names = append(names, c.Short)
	}
	return "controllers " + strings.Join(names, ", ")
}

// describe says in a few words what the session consists of.
func (o *runOptions) describe(session *runlocal.Session) string {
	text := fmt.Sprintf("Kubernetes %s API ", api.KubernetesVersion())
	if url := session.Server().URL(); url != "" {
		text += "at " + url
	} else {
		text += "in memory"
	}
	if len(o.session.Controllers) > 0 {
		text += "; " + o.named(o.session.Controllers)
	}
	if o.session.NoScheduling {
		return text
	}
	return text + "; simulated nodes: " + strconv.Itoa(o.session.Nodes)
}
