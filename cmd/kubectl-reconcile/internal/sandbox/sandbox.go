package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/heap"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

const sandboxExample = `  # Serve an API with all controllers and three nodes; in another terminal, use the line that it prints
  kubectl reconcile sandbox
  export KUBECONFIG=…

  # Keep the kubeconfig where you want it, and show what the controllers do
  kubectl reconcile sandbox --kubeconfig-out ./sandbox.kubeconfig -v

  # An API server alone, to test a controller of your own against
  kubectl reconcile sandbox --controller none --nodes 0 --disable-admission-plugins ServiceAccount --kubeconfig-out FILE`

// Flags are the flags of `sandbox`.
type Flags struct {
	session       session.Flags
	listen        string
	allowRemote   bool
	kubeconfigOut string
	enable        []string
	disable       []string
	events        bool
}

// NewCommand returns the command `sandbox`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &Flags{}
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Serve an API server in memory, with controllers and simulated nodes",
		Long: `Serve a Kubernetes API in memory, with Kubernetes' own controllers and with simulated nodes, for kubectl and for
controllers of your own. It lives until it is interrupted, and nothing of it is kept.

It listens on the loopback address only, with TLS and a token that the kubeconfig holds. Your own kubeconfig is not
touched.`,
		Example: sandboxExample,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.toOptions(streams)
			if err != nil {
				return err
			}
			heap.Run()
			return o.Run(cmd.Context())
		},
	}
	f.addTo(cmd)
	return cmd
}

func (f *Flags) addTo(cmd *cobra.Command) {
	f.session.AddTo(cmd, "*")
	flags := cmd.Flags()
	flags.Lookup("verbose").Usage = "show the reconciles that write or fail; -vv shows every one, and more of each, " +
		"-vvv all that is logged"
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "address to serve on; port 0 picks a free one")
	flags.BoolVar(&f.allowRemote, "allow-remote", false, "permit a --listen address that other machines can reach")
	flags.StringVar(&f.kubeconfigOut, "kubeconfig-out", "", "write the kubeconfig to this file, and leave it there at the end; by default to a temporary one")
	flags.StringSliceVar(&f.enable, "enable-admission-plugins", nil, "admission plugins to run beside those that kube-apiserver runs by default")
	flags.StringSliceVar(&f.disable, "disable-admission-plugins", nil, "admission plugins not to run")
	flags.BoolVar(&f.events, "events", false, "with -v, show the Events that controllers record")
	cli.CompleteWords(cmd, "enable-admission-plugins", admissionPlugins()...)
	cli.CompleteWords(cmd, "disable-admission-plugins", admissionPlugins()...)
}

// toOptions returns the options of the session, or an error for flags that make no sense.
func (f *Flags) toOptions(streams genericiooptions.IOStreams) (*session.Options, error) {
	if err := f.session.Validate(); err != nil {
		return nil, err
	}
	sandbox, err := f.session.SandboxOptions()
	if err != nil {
		return nil, err
	}
	sandbox.API.Listen, sandbox.API.AllowRemote = f.listen, f.allowRemote
	sandbox.API.EnableAdmission, sandbox.API.DisableAdmission = f.enable, f.disable
	sandbox.API.DefaultServiceAccounts = !sandbox.NoScheduling
	exported := streams.Out
	streams.Out = streams.ErrOut // stdout gets the export line alone, for eval
	return &session.Options{
		Target: &session.Sandbox{Options: sandbox}, SimulatedNodes: sandbox.Nodes,
		Goal: runlocal.Goal{Type: runlocal.GoalInterrupted}, Namespace: "default", Events: f.events,
		Detail: min(render.Detail(f.session.Verbosity), render.Everything), TraceFile: f.session.TraceFile,
		Telemetry: f.session.Telemetry.ToTelemetry(),
		Streams:   streams, Palette: render.NewPalette(streams.Out, f.session.Color, os.Getenv), Clock: clock.RealClock{},
		Serve: func(ctx context.Context, s *runlocal.Session) (func() error, error) {
			s.Server().WaitReady(ctx) // until then clients other than the administrator may be refused
			return export(s, f.kubeconfigOut, exported)
		},
	}, nil
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
