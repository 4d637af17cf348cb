package run

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/discovery"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/apihealth"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// clusterRun is a run on a cluster.
type clusterRun struct {
	connection *connect.Connection
	options    runlocal.ClusterOptions
	// list is what --controller says, and without which controllers of it are left out and why, a line for each reason.
	list    string
	without []string
	// foresees reports whether the program can tell what a dry run cannot: what happens after the writes.
	foresees bool
	// part is what of the cluster the run has to do with.
	part part
	// write is nil in a dry run.
	write *writing
	// monitor reports whether the API server answers, and rights what it refuses; nil until watch.
	monitor *apihealth.Monitor
	rights  *rights
}

// onCluster makes the options those of a run on a cluster.
func (f *Flags) onCluster(o *Options) error {
	authority, err := f.authority.authority()
	if err != nil {
		return err
	}
	selected, without, err := selectFor(authority, f.controllers)
	if err != nil {
		return err
	}
	c, err := f.cluster.Connect(o.Streams)
	if err != nil {
		return err
	}
	o.cluster = &clusterRun{
		connection: c,
		options: runlocal.ClusterOptions{
			Config: c.Config, Controllers: selected, Workers: f.workers, Verbosity: f.detail().LogLevel(), DryRun: f.dry.mode(), DryRunAggregated: f.dry.aggregated,
			Authority: authority, Autoscaling: f.autoscaling.Autoscaling, NodeControllers: f.hosts.NodeControllerOptions,
		},
		list:     f.controllers,
		foresees: hasCommand(f.cluster.Cmd.Root(), "diff"),
	}
	if without != "" {
		o.cluster.without = []string{without}
	}
	f.rates.onCluster(&o.cluster.options)
	return f.write.onCluster(o.cluster)
}

// start reaches the cluster, starts the controllers and says what is about to happen.
func (r *clusterRun) start(ctx context.Context, o *Options, out *outputs, recorder *trace.Recorder) (*runlocal.Session, error) {
	shown := o.progress.Show(ctx, cli.Constant("asking %s what it serves and permits", r.connection.Config.Host))
	defer shown()
	version, err := r.version(ctx)
	if err != nil {
		return nil, r.connection.Explain(err)
	}
	// What is missing is printed for other programs to read, and so before all that is for people.
	admitted, err := r.admit(ctx, out)
	if err != nil {
		return nil, err
	}
	shown()
	r.rights.without(admitted.missing)
	out.note("cluster: %s, Kubernetes %s; %s%s", r.connection.Place(), version, o.named(r.options.Controllers), r.part.described())
	if other := otherMinor(version, api.KubernetesVersion()); other != "" {
		out.warn(other)
	}
	out.noteEach(slices.Concat(r.without, r.caution()))
	if err := r.write.begin(ctx, admitted, o, out); err != nil {
		return nil, err
	}
	began := o.Clock.Now()
	r.options.Recorder = recorder
	r.listen(out)
	defer r.filling(ctx, o.progress)()
	session, err := startSession(ctx, "the controllers were starting", func(ctx context.Context) (*runlocal.Session, error) {
		return runlocal.StartCluster(ctx, r.options)
	})
	if err != nil {
		return nil, explainStart(r.connection, err)
	}
	out.note("synced in %.2fs", o.Clock.Since(began).Seconds())
	return session, nil
}

// version asks the cluster for its version, which also reports whether it can be reached.
func (r *clusterRun) version(ctx context.Context) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(r.connection.Config)
	if err != nil {
		return "", fmt.Errorf("making a client of the cluster: %w", err)
	}
	info, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return "", err
	}
	return info.GitVersion, nil
}

// caution says what is about to happen to the cluster.
func (r *clusterRun) caution() []string {
	if r.write != nil {
		return unattended(r.options.Controllers) // and it asks
	}
	lines := []string{"dry run: nothing is written; each write is tried on the server, which does not keep it"}
	if r.options.DryRun == guardClient {
		lines[0] = "dry run: nothing is written, and no write is sent: nobody validates or completes what would be written"
	}
	next := "it does not show what the controllers would do next, after these writes"
	if r.foresees {
		next += ": `" + r.connection.Program + " diff` does"
	}
	return append(lines, next)
}
