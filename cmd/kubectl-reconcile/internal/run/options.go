package run

import (
	"errors"
	"os"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/lease"
)

// toOptions returns the options of the session, or an error for flags that make no sense.
func (f *Flags) toOptions(streams genericiooptions.IOStreams, args []string) (*session.Options, error) {
	if err := f.validate(args); err != nil {
		return nil, err
	}
	progress, streams := cli.WithRunProgress(streams, !f.quiet && f.output == "")
	o := &session.Options{
		Goal: f.until.goalOr(f.manifests.Given(), f.timeout), Events: f.events, Blocks: f.session.Blocks,
		Detail: f.session.Detail(), Quiet: f.quiet, JSON: f.output == "json", Graph: f.graph(),
		TraceFile: f.session.TraceFile, Telemetry: f.session.Telemetry.ToTelemetry(),
		Streams: streams, Progress: progress,
		Palette: render.NewPalette(streams.Out, f.session.Color, os.Getenv), Clock: clock.RealClock{},
	}
	var err error
	if o.Record, err = f.session.Record.ToRecording(); err != nil {
		return nil, err
	}
	if o.WatchFields, err = f.session.WatchFields.ToPaths(); err != nil {
		return nil, err
	}
	if o.Narrow, err = f.session.Narrow.ToNarrowing(); err != nil {
		return nil, err
	}
	if o.Findings, err = f.session.Findings.ToFindings(); err != nil {
		return nil, err
	}
	if f.quiet {
		o.Detail = render.Quiet
	}
	if f.sandbox {
		return o, f.setSandbox(o, args)
	}
	return o, f.setCluster(o)
}

// graph returns the format of the graph of interactions; empty if none is to be shown.
func (f *Flags) graph() session.GraphFormat {
	if !slices.Contains(session.GraphFormats(), f.output) {
		return ""
	}
	return session.GraphFormat(f.output)
}

// defaultNamespace is that of objects that name none.
const defaultNamespace = "default"

// setSandbox makes the options those of a run in the sandbox.
func (f *Flags) setSandbox(o *session.Options, args []string) error {
	sandbox, err := f.session.SandboxOptions()
	if err != nil {
		return err
	}
	sandbox.Warnings = connect.NewWarnings(o.Streams.ErrOut)
	target := &session.Sandbox{Options: sandbox}
	o.Target, o.SimulatedNodes, o.Namespace = target, max(0, sandbox.Nodes), defaultNamespace
	if given := *f.cluster.Config.Namespace; given != "" {
		o.Namespace = given
	}
	if f.copy.FromCluster {
		connection, err := f.cluster.Connect(o.Streams)
		if err != nil {
			return err
		}
		connection.Progress, o.Namespace = o.Progress, connection.Namespace
		target.Copy, err = f.copy.Source(connection, f.write.namespaces, f.write.allNamespaces, args)
		if err != nil {
			return err
		}
		target.Copy.Controllers = f.session.Controllers
		target.Copy.KeepNodes = f.cluster.Cmd.Flags().Changed("nodes")
		if named := f.write.namespaces; len(named) > 0 && !slices.Contains(named, o.Namespace) {
			o.Namespace = named[0] // of those that are copied
		}
	}
	o.ReadManifests = func() ([]runlocal.Manifest, error) { return f.manifests.Read(o.Streams.In) }
	return nil
}

// setCluster makes the options those of a run on a cluster.
func (f *Flags) setCluster(o *session.Options) error {
	authority, err := f.authority.authority()
	if err != nil {
		return err
	}
	list := f.session.Controllers
	selected, leftOut, err := selectForCluster(authority, list)
	if err != nil {
		return err
	}
	connection, err := f.cluster.Connect(o.Streams)
	if err != nil {
		return err
	}
	scope := runlocal.Scope{Namespaces: f.write.namespaces, Shard: f.write.shard.Shard}
	selected, lines, err := selectInScope(scope, selected, list, f.write.write)
	if err != nil {
		return err
	}
	if leftOut != "" {
		lines = append([]string{leftOut}, lines...)
	}
	c := &clusterTarget{
		connection: connection, scope: scope, list: list, leftOut: lines,
		cluster: runlocal.ClusterOptions{
			Config: connection.Config, Authority: authority,
			Write: f.write.write, DryRun: f.dryRun.mode(), DryRunAggregated: f.dryRun.aggregated,
			Namespaces: scope.Namespaces, Keep: scope.Keep(),
		},
		options: withClusterRates(f.session.ToOptions(selected)),
	}
	o.Target = c
	if o.Record != nil {
		o.Record.Namespaces = scope.Namespaces
	}
	switch {
	case f.write.write:
		o.Writes = session.WriteCluster
		c.writer = &writer{
			force: f.write.force, yes: f.write.yes, shard: scope.Shard, duration: f.write.leaseDuration,
			namespace: f.write.leaseNamespace, name: lease.Name(scope.Shard.Number, scope.Shard.Of),
		}
	case f.dryRun.mode() == guard.Client:
		o.Writes = session.DryRunClient
	default:
		o.Writes = session.DryRunServer
	}
	return nil
}

// Rates of kube-controller-manager's clients (k8s.io/kube-controller-manager/config/v1alpha1's recommended defaults).
const (
	controllerQPS   = 20
	controllerBurst = 30
)

// withClusterRates returns options for a session on a cluster, where a --qps of 0 is what kube-controller-manager has.
func withClusterRates(o runlocal.Options) runlocal.Options {
	if o.QPS == 0 {
		o.QPS, o.Burst = controllerQPS, controllerBurst
	}
	return o
}

// selectForCluster returns the controllers of --controller that can run on a cluster by what the authority has. The
// line, if it is not empty, says which are left out.
func selectForCluster(a controllers.Authority, list string) (chosen []controllers.Controller, line string, err error) {
	if list == session.NoControllers {
		return nil, "", cli.WithHint(errors.New("with --controller none nothing runs on a cluster"),
			"--sandbox has simulated nodes, which run without controllers")
	}
	if _, err := session.SelectControllers(list); list == "" || err != nil {
		return nil, "", err
	}
	chosen, unable, err := controllers.SelectFor(a, strings.Split(list, ","))
	if notRun, ok := errors.AsType[*controllers.NotRunError](err); ok {
		if flags := flagsFor(notRun.Reason); flags != "" {
			return nil, "", cli.WithHint(err, "a control plane has what it needs; give it with "+flags)
		}
	}
	return chosen, leftOutText(unable), session.WithSelectionHint(err)
}

// leftOutText says which controllers of "*" do not run because they lack key files; empty if all run.
func leftOutText(unable []controllers.SkippedController) string {
	if len(unable) == 0 {
		return ""
	}
	var names []string
	for _, c := range unable {
		names = append(names, c.Short)
	}
	return "left out because they need key files: " + strings.Join(names, ", ") + "; `run --list` names their flags"
}
