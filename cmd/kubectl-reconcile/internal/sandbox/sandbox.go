package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/heap"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

const sandboxExample = `  # Serve an API with all controllers and three nodes; in another terminal, use the line that it
  # prints
  kubectl reconcile sandbox
  export KUBECONFIG=…

  # Begin with the objects of a manifest
  kubectl reconcile sandbox -f web.yaml

  # Keep the kubeconfig where you want it, and show what the controllers do
  kubectl reconcile sandbox --kubeconfig-out ./sandbox.kubeconfig -v

  # An API server alone, to test a controller of your own against
  kubectl reconcile sandbox --controller none --nodes 0 --disable-admission-plugins ServiceAccount \
      --kubeconfig-out FILE`

// Flags are the flags of `sandbox`.
type Flags struct {
	session       session.Flags
	cluster       *connect.Flags
	copy          session.CopyFlags
	allNamespaces bool
	listen        string
	allowRemote   bool
	kubeconfigOut string
	enable        []string
	disable       []string
	events        bool
	output        string
	manifests     *connect.ManifestFlags
}

// NewCommand returns the command `sandbox`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &Flags{
		cluster: connect.NewFlags(),
		manifests: connect.NewManifestFlags(
			"files, directories or URLs with the objects to create before anything is served; - is stdin"),
	}
	cmd := &cobra.Command{
		Use:   "sandbox [-f FILE] [--from-cluster [TYPE/NAME…]]",
		Short: "Serve an API server in memory, with controllers and simulated nodes",
		Long: `Serve a Kubernetes API in memory, with Kubernetes' own controllers and with simulated nodes, for
kubectl and for controllers of your own. It lives until it is interrupted, and nothing of it is
kept. It begins with the objects of -f or -k, if any, and with --from-cluster with a copy of a part of
your cluster, which is only read.

It listens on the loopback address only, with TLS and a token that the kubeconfig holds. Your own
kubeconfig is not touched.`,
		Example: sandboxExample,
		Args:    cobra.ArbitraryArgs, // objects to copy with --from-cluster: toOptions refuses others
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.toOptions(streams, args)
			if err != nil {
				return err
			}
			heap.Run(heap.Running)
			return o.Run(cmd.Context())
		},
	}
	f.addTo(cmd)
	return cmd
}

func (f *Flags) addTo(cmd *cobra.Command) {
	f.session.AddTo(cmd, "*")
	f.copy.AddTo(cmd)
	f.manifests.AddTo(cmd.Flags())
	flags := cmd.Flags()
	flags.Lookup("verbose").Usage = "tell what the controllers write, from cause to effect, or with --blocks " +
		"show the reconciles that write or fail; -vv shows every one, and more of each, -vvv all that is logged"
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "address to serve on; port 0 picks a free one")
	flags.BoolVar(&f.allowRemote, "allow-remote", false, "permit a --listen address that other machines can reach")
	flags.StringVar(&f.kubeconfigOut, "kubeconfig-out", "",
		"write the kubeconfig to this file, and leave it there at the end; by default to a temporary one")
	flags.StringSliceVar(&f.enable, "enable-admission-plugins", nil,
		"admission plugins to run beside those that kube-apiserver runs by default")
	flags.StringSliceVar(&f.disable, "disable-admission-plugins", nil, "admission plugins not to run")
	flags.BoolVar(&f.events, "events", false, "with -v, show the Events that controllers record")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "with --from-cluster, copy all namespaces")
	flags.StringVarP(&f.output, "output", "o", "", "graph shows at the end which controllers and programs "+
		"watch, read and write what, and what of that stands out")
	cli.CompleteWords(cmd, "output", string(session.GraphText))
	f.cluster.AddConnectionFlags(cmd, func(set *pflag.FlagSet) {
		set.Lookup("namespace").Usage = "namespace of the objects of -f that name none, created if it does not " +
			"exist; with --from-cluster, the one to copy, by default that of the context"
	})
	f.copy.Complete(cmd, f.cluster)
	f.session.Narrow.Complete(cmd, f.cluster)
	cli.CompleteList(cmd, "enable-admission-plugins", cli.Words(admissionPlugins()...))
	cli.CompleteList(cmd, "disable-admission-plugins", cli.Words(admissionPlugins()...))
	cli.CompleteFiles(cmd, "kubeconfig-out")
}

// toOptions returns the options of the session, or an error for flags that make no sense.
func (f *Flags) toOptions(streams genericiooptions.IOStreams, args []string) (*session.Options, error) {
	if err := errors.Join(f.session.Validate(), f.validateCopy(args), f.validateOutput()); err != nil {
		return nil, err
	}
	sandbox, err := f.session.SandboxOptions()
	if err != nil {
		return nil, err
	}
	sandbox.API.Listen, sandbox.API.AllowRemote = f.listen, f.allowRemote
	sandbox.API.EnableAdmission, sandbox.API.DisableAdmission = f.enable, f.disable
	sandbox.NoDefaultAccounts = sandbox.NoScheduling
	progress, streams := cli.WithProgress(streams, true)
	exported := streams.Out
	streams.Out = streams.ErrOut // stdout gets the export line alone, for eval
	sandbox.Warnings = connect.NewWarnings(streams.ErrOut)
	target := &session.Sandbox{Options: sandbox}
	if err := f.setCopy(target, streams, args); err != nil {
		return nil, err
	}
	var manifests func() ([]runlocal.Manifest, error)
	if f.manifests.Given() {
		manifests = func() ([]runlocal.Manifest, error) { return f.manifests.Read(streams.In) }
	}
	record, err := f.session.Record.ToRecording()
	if err != nil {
		return nil, err
	}
	watchFields, err := f.session.WatchFields.ToPaths()
	if err != nil {
		return nil, err
	}
	narrow, err := f.session.Narrow.ToNarrowing()
	if err != nil {
		return nil, err
	}
	if len(narrow.Objects)+len(narrow.Trees) > 0 && f.session.Verbosity == 0 && len(watchFields) == 0 {
		return nil, cli.WithHint(errors.New("--object and --tree need -v or --watch-field"),
			"without these only the summary is shown, which is of the whole run")
	}
	found, err := f.session.Findings.ToFindings()
	if err != nil {
		return nil, err
	}
	return &session.Options{
		Target: target, SimulatedNodes: max(0, sandbox.Nodes),
		Goal:          runlocal.Goal{Type: runlocal.GoalInterrupted},
		ReadManifests: manifests, Namespace: cmp.Or(*f.cluster.Config.Namespace, "default"),
		Events: f.events, Blocks: f.session.Blocks, WatchFields: watchFields, Narrow: narrow,
		Detail: min(render.Detail(f.session.Verbosity), render.Everything), TraceFile: f.session.TraceFile,
		Graph:     session.GraphFormat(f.output),
		Record:    record,
		Findings:  found,
		Telemetry: f.session.Telemetry.ToTelemetry(),
		Streams:   streams, Progress: progress, Clock: clock.RealClock{},
		Palette: render.NewPalette(streams.Out, f.session.Color, os.Getenv),
		Serve: func(ctx context.Context, s *runlocal.Session) (func() error, error) {
			s.Server().WaitReady(ctx) // until then clients other than the administrator may be refused
			return export(s, f.kubeconfigOut, exported)
		},
	}, nil
}

// validateOutput returns an error for an output that a sandbox does not have.
func (f *Flags) validateOutput() error {
	if f.output == "" || f.output == string(session.GraphText) {
		return nil
	}
	return cli.WithHint(cli.UnknownError("output format", f.output), "graph is known")
}

// validateCopy returns an error for flags of a cluster without --from-cluster, and the reverse.
func (f *Flags) validateCopy(args []string) error {
	flags := f.cluster.Cmd.Flags()
	if err := f.copy.Validate(flags, args); err != nil || f.copy.FromCluster {
		return err
	}
	connection := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	connect.NewFlags().Config.AddFlags(connection)
	if flags.Changed("namespace") && !f.manifests.Given() {
		return cli.WithHint(errors.New("-n needs -f or --from-cluster"), "the sandbox has all namespaces")
	}
	var err error
	flags.Visit(func(flag *pflag.Flag) {
		ofCluster := connection.Lookup(flag.Name) != nil && flag.Name != "namespace" || flag.Name == "all-namespaces"
		if err == nil && ofCluster {
			err = cli.WithHint(fmt.Errorf("--%s needs --from-cluster", flag.Name), "without it no cluster is touched")
		}
	})
	return err
}

// setCopy makes the sandbox begin with a copy, with --from-cluster.
func (f *Flags) setCopy(target *session.Sandbox, streams genericiooptions.IOStreams, args []string) error {
	if !f.copy.FromCluster {
		return nil
	}
	connection, err := f.cluster.Connect(streams)
	if err != nil {
		return err
	}
	var namespaces []string
	if given := *f.cluster.Config.Namespace; given != "" {
		namespaces = []string{given}
	}
	target.Copy, err = f.copy.Source(connection, namespaces, f.allNamespaces, args)
	if err != nil {
		return err
	}
	target.Copy.Controllers = f.session.Controllers
	target.Copy.KeepNodes = f.cluster.Cmd.Flags().Changed("nodes")
	return nil
}

// export writes the kubeconfig to path, or else to a temporary file that the returned function removes, and prints the
// line that makes kubectl use it.
func export(s *runlocal.Session, path string, out io.Writer) (func() error, error) {
	remove := func() error { return nil }
	if path == "" {
		dir, err := os.MkdirTemp("", "kubectl-reconcile-")
		if err != nil {
			return remove, fmt.Errorf("making a folder for the kubeconfig: %w", err)
		}
		path, remove = filepath.Join(dir, "kubeconfig"), func() error { return os.RemoveAll(dir) }
	}
	if err := s.Server().WriteKubeconfig(path); err != nil {
		return remove, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return remove, fmt.Errorf("naming the kubeconfig %s: %w", path, err)
	}
	_, err = fmt.Fprintf(out, "export KUBECONFIG=%s\n", cli.ShellQuoted(absolute))
	return remove, err
}

// admissionPlugins are the names of all admission plugins.
func admissionPlugins() []string {
	var out []string
	for _, p := range api.AdmissionPlugins() {
		out = append(out, p.Name)
	}
	return out
}
