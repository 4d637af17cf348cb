package envtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/heap"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// podReadyAfter is how long a simulated pod runs before it is ready, as by default in `sandbox`.
const podReadyAfter = 200 * time.Millisecond

// bufferedEvents is how many events the trace may be behind before the controllers wait for it.
const bufferedEvents = 1 << 16

// apiServerFlags are kube-apiserver's flags, which are upstream's own.
type apiServerFlags struct {
	options  *kubeapiserver.ServerRunOptions
	sections cliflag.NamedFlagSets
	all      *pflag.FlagSet
	help     bool
	version  bool
}

// addLogGates adds the feature gates of the log to those of the process, which must not be done again once they are
// flags.
var addLogGates = sync.OnceValue(func() error {
	return logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate)
})

// newAPIServerFlags mirrors NewAPIServerCommand of k8s.io/kubernetes/cmd/kube-apiserver/app/server.go.
func newAPIServerFlags() (*apiServerFlags, error) {
	if err := addLogGates(); err != nil {
		return nil, fmt.Errorf("adding the feature gates of the log: %w", err)
	}
	f := &apiServerFlags{options: kubeapiserver.NewServerRunOptions()}
	f.sections = f.options.Flags()
	global := f.sections.FlagSet("global")
	global.BoolVar(&f.version, "version", false, "print the version of Kubernetes and quit")
	logs.AddFlags(global, logs.SkipLoggingConfigurationFlags())
	global.BoolVarP(&f.help, "help", "h", false, "help for "+apiServerName)
	f.all = pflag.NewFlagSet(apiServerName, pflag.ContinueOnError)
	f.all.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	f.all.Usage = func() {}
	for _, name := range f.sections.Order {
		f.all.AddFlagSet(f.sections.FlagSets[name])
	}
	return f, nil
}

// runAPIServer runs an API server in memory with kube-apiserver's command line, until ctx ends.
func runAPIServer(ctx context.Context, args []string, streams genericiooptions.IOStreams,
	getenv func(string) string) error {
	f, err := newAPIServerFlags()
	if err != nil {
		return err
	}
	f.all.SetOutput(streams.ErrOut)
	if err := f.all.Parse(args); err != nil {
		return err
	}
	switch {
	case f.help:
		return f.printHelp(streams.Out)
	case f.version:
		_, err := fmt.Fprintln(streams.Out, "Kubernetes "+api.KubernetesVersion())
		return err
	}
	o, err := f.toOptions(getenv)
	if err != nil {
		return err
	}
	heap.Run(heap.Running)
	return o.Run(ctx)
}

// printHelp writes all flags, in the form in which envtest looks for some.
func (f *apiServerFlags) printHelp(w io.Writer) error {
	_, err := fmt.Fprintf(w, `The API server of kubectl reconcile %s in the place of kube-apiserver %s, for tests: its
objects are in memory. What differs is in docs/envtest.md.

Usage:
  kube-apiserver [flags]
`, cli.Version(), api.KubernetesVersion())
	cliflag.PrintSections(w, f.sections, render.TerminalWidth(w))
	return err
}

// apiServerOptions are what the API server runs with.
type apiServerOptions struct {
	additions
	commandLine *api.CommandLine
}

// toOptions returns an error for flags that upstream refuses, and for those that cannot be honoured here.
func (f *apiServerFlags) toOptions(getenv func(string) string) (*apiServerOptions, error) {
	if rest := f.all.Args(); len(rest) > 0 {
		return nil, fmt.Errorf("%q does not take any arguments, got %q", apiServerName, rest)
	}
	if err := refuse(f.all); err != nil {
		return nil, err
	}
	added, err := readAdditions(getenv)
	if err != nil {
		return nil, err
	}
	line, err := api.NewCommandLine(f.options)
	if err != nil {
		return nil, err
	}
	if err := logsapi.ValidateAndApply(f.options.Logs, utilfeature.DefaultFeatureGate); err != nil {
		return nil, err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	return &apiServerOptions{added, line}, nil
}

// Run serves until ctx ends.
func (o *apiServerOptions) Run(ctx context.Context) error {
	defer klog.Flush()
	recorder, finish, err := o.openTrace(ctx)
	if err != nil {
		return err
	}
	session, err := runlocal.Start(ctx, runlocal.Options{
		API:           api.Options{CommandLine: o.commandLine, NoDefaultAccounts: true},
		Controllers:   o.controllers,
		Nodes:         o.nodes,
		NoScheduling:  o.nodes == 0,
		PodReadyAfter: podReadyAfter,
		Recorder:      recorder,
		Verbosity:     render.Normal.LogLevel(),
	})
	if err != nil {
		if ctx.Err() != nil {
			err = nil // stopped while it was starting
		}
		return errors.Join(err, finish())
	}
	<-ctx.Done()
	return errors.Join(session.Stop(), finish())
}

// openTrace returns what records the trace, nil without one, and what writes the last of it, also after the end of ctx.
func (o *apiServerOptions) openTrace(ctx context.Context) (*trace.Recorder, func() error, error) {
	if o.trace == "" {
		return nil, func() error { return nil }, nil
	}
	file, err := openTrace(o.trace)
	if err != nil {
		return nil, nil, err
	}
	writer := trace.NewWriter(file)
	buffer := trace.NewBuffer(bufferedEvents, writer)
	return trace.NewRecorder(clock.RealClock{}, buffer), func() error {
		return closeTrace(context.WithoutCancel(ctx), file, writer, buffer)
	}, nil
}

// traceTimeout is how long the rest of a trace may take to write: envtest kills the server after 20 s.
const traceTimeout = 5 * time.Second

func closeTrace(ctx context.Context, file *os.File, writer *trace.Writer, buffer *trace.Buffer) error {
	ctx, cancel := context.WithTimeout(ctx, traceTimeout)
	defer cancel()
	err := errors.Join(buffer.Close(ctx), writer.Err(), file.Close())
	if err != nil {
		return fmt.Errorf("%s: writing %q, which is not complete: %w", traceVariable, file.Name(), err)
	}
	return nil
}
