package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/heap"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

const runExample = `  # Run Kubernetes' own Deployment and ReplicaSet controllers on a manifest, without a cluster
  %[1]s run --controller deployment,replicaset --sandbox -f web.yaml

  # What the Deployment controller would do on your cluster at this moment; nothing is written
  %[1]s run --controller deployment --until settled

  # The same, with everything the controllers log and read
  %[1]s run --controller deployment,replicaset --sandbox -f web.yaml -v

  # Every controller, a kustomization, until nothing is left to do
  %[1]s run --controller '*' --sandbox -k ./overlay --until settled

  # The trace as JSON, one event a line
  %[1]s run --controller replicaset --sandbox -f rs.yaml -o json | jq 'select(.type == "request")'`

// Flags are the flags of `run`.
type Flags struct {
	SessionFlags
	cluster   *connect.Flags
	dry       dryRunFlags
	write     writeFlags
	sandbox   bool
	manifests *connect.ManifestFlags
	until     Until
	timeout   time.Duration
	events    bool
	quiet     bool
	output    string
	authority authorityFlags
	list      bool
}

func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &Flags{
		cluster:   connect.NewFlags(),
		manifests: connect.NewManifestFlags("with --sandbox, files, directories or URLs with the objects to create; - is stdin"),
	}
	cmd := &cobra.Command{
		Use:   "run --controller NAMES [--sandbox [-f FILE]]",
		Short: "Run Kubernetes' own controllers, and show why each reconcile happened",
		Long: `Run Kubernetes' own controllers in this process, and show their reconciles: the watch events that led to it, what the
controller decided, what it wrote, and how it ended.

They run against your cluster, in dry run: nothing is written. With --write they write, in the place of a
kube-controller-manager that does not run, and are the only ones that do. With --sandbox they run against an API server inside this
process instead, with simulated nodes; no cluster is needed and none is touched. The objects of -f or -k are created in it
first. The run ends when they are ready, or as --until says.

Each block of lines is a reconcile, shown when it ends: the time since the start at which it ended, the controller, the key, and a
number by which others name it. How long it took is in its last line. Reconciles that wrote nothing and went well are counted at
the end; -v shows them.`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.list {
				return f.printList(streams)
			}
			o, err := f.toOptions(streams)
			if err != nil {
				return err
			}
			heap.Run()
			return o.Run(cmd.Context())
		},
	}
	cmd.Example = fmt.Sprintf(runExample, "kubectl reconcile")
	f.addTo(cmd)
	return cmd
}

func (f *Flags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.SessionFlags.AddTo(cmd, "")
	flags.BoolVar(&f.sandbox, "sandbox", false, "run against an API server inside this process")
	f.manifests.AddTo(flags)
	f.dry.addTo(cmd)
	f.write.addTo(cmd)
	f.authority.addTo(flags)
	flags.BoolVar(&f.list, "list", false, "list all controllers of kube-controller-manager, and say which can run; -o is json, yaml or name")
	f.cluster.AddConnection(cmd, func(set *pflag.FlagSet) {
		set.Lookup("namespace").Usage = "on a cluster, short for --namespaces with one; with --sandbox, namespace of the objects that name none, created if it is not there"
	})
	flags.Var(&f.until, "until", "when to end: settled (nothing left to do), ready (all objects of -f are), or after a duration; "+
		"by default ready with -f or -k, else when interrupted")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "give up waiting for --until settled or ready after this time, and with --write before that for the Lease; 0 waits forever")
	flags.BoolVar(&f.events, "events", false, "show the Events that controllers record")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show the summary only")
	flags.StringVarP(&f.output, "output", "o", "", "output format: json writes the trace, one event a line")
	cli.CompleteWords(cmd, "until", "settled", "ready")
	f.completeOutput(cmd)
}

func (f *Flags) toOptions(streams genericiooptions.IOStreams) (*Options, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	progress, streams := cli.WithProgress(streams, !f.quiet && f.output == "")
	o := &Options{
		Namespace: f.namespace(), Until: f.until.or(f.manifests.Given()), timeout: f.timeout, Events: f.events,
		Detail: f.detail(), quiet: f.quiet, json: f.output == "json", TraceFile: f.TraceFile,
		Telemetry: f.Serve.Serving(),
		Streams:   streams, progress: progress,
		Palette: render.NewPalette(streams.Out, f.Color, os.Getenv), Clock: clock.RealClock{},
	}
	if f.quiet {
		o.Detail = render.Quiet
	}
	if f.sandbox {
		return o, f.inSandbox(o)
	}
	return o, f.onCluster(o)
}

// inSandbox makes the options those of a run in the sandbox.
func (f *Flags) inSandbox(o *Options) error {
	session, err := f.SessionOptions()
	if err != nil {
		return err
	}
	session.Warnings = connect.NewWarnings(o.Streams.ErrOut)
	o.Session = session
	o.read = func() ([]runlocal.Manifest, error) { return f.manifests.Read(o.Streams.In) }
	return nil
}

// defaultNamespace is where objects go that name none.
const defaultNamespace = "default"

func (f *Flags) namespace() string {
	if given := *f.cluster.Config.Namespace; given != "" {
		return given
	}
	return defaultNamespace
}

func (f *Flags) validate() error {
	switch {
	case f.controllers == "":
		return cli.WithHint(errors.New("run needs --controller, the controllers to run"), "for example --controller deployment,replicaset, or --controller '*' for all")
	case f.output != "" && f.output != "json":
		return cli.WithHint(cli.UnknownError("output format", f.output), "json is known; without -o the output is for people")
	case f.timeout < 0:
		return fmt.Errorf("--timeout %s is negative", f.timeout)
	case f.quiet && f.Verbosity > 0:
		return errors.New("-q and -v exclude each other")
	}
	if err := f.place(); err != nil {
		return err
	}
	if f.until.Goal == untilReady && !f.manifests.Given() {
		return errors.New("--until ready needs objects to wait for: give them with -f or -k")
	}
	return f.SessionFlags.Validate()
}

// sandboxOnly are the flags that make no sense on a cluster.
var sandboxOnly = []string{"filename", "kustomize", "recursive", "nodes", "pod-ready-after"}

// Place refuses flags that are for the other place where controllers can run.
func (f *Flags) place() error {
	flags := f.cluster.Cmd.Flags()
	if !f.sandbox {
		for _, name := range sandboxOnly {
			if flags.Changed(name) {
				return cli.WithHint(fmt.Errorf("%s needs --sandbox", spelled(flags.Lookup(name))),
					"without --sandbox the controllers run on the objects and nodes that the cluster has")
			}
		}
		if err := f.scope(); err != nil {
			return err
		}
		return errors.Join(f.dry.validate(), f.write.validate(f.cluster.Cmd))
	}
	var wrong error
	flags.Visit(func(flag *pflag.Flag) {
		if wrong == nil && f.isOfCluster(flag.Name) {
			wrong = cli.WithHint(fmt.Errorf("%s and --sandbox exclude each other", spelled(flag)), "with --sandbox no cluster is touched")
		}
	})
	return wrong
}

// isOfCluster reports whether a flag has to do with a cluster only.
func (f *Flags) isOfCluster(name string) bool {
	own := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	connect.NewFlags().Config.AddFlags(own)
	return name != "namespace" && own.Lookup(name) != nil || name == dryRunFlag || name == dryRunAggregatedFlag || isAuthority(name) || slices.Contains(writeFlagNames, name)
}

// spelled is a flag as it is mostly typed.
func spelled(flag *pflag.Flag) string {
	if flag.Shorthand != "" {
		return "-" + flag.Shorthand
	}
	return "--" + flag.Name
}

// Options are what `run` needs to run.
type Options struct {
	Session runlocal.Options // in the sandbox
	cluster *clusterRun      // nil in the sandbox
	// Read reads the manifests: those that can be, and an error for the others. Nil if there are none.
	read      func() ([]runlocal.Manifest, error)
	Namespace string
	Until     Until
	timeout   time.Duration
	Events    bool
	Detail    render.Detail
	quiet     bool
	json      bool
	TraceFile string
	Telemetry *telemetryServer // nil if nothing is served

	// Serve makes the session known to others as soon as it is ready; what it returns is called at the end. Nil if nobody
	// else uses it.
	Serve func(context.Context, *runlocal.Session) (end func() error, err error)

	Streams  genericiooptions.IOStreams
	progress *render.Progress // beside the streams; nil shows none
	Palette  render.Palette
	Clock    clock.Clock
}
