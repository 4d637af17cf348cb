// Package status is the command `status`: it reads objects of any kinds, and prints which have not caught up with their
// specification, worst first. How an object is judged is in pkg/inspect, how objects are read and followed in its
// package cluster.
//
// status.go has flags and options, read.go what is read, backends.go what other objects tell about Services and
// Ingresses, list.go the items in their order and the selection of what is shown, print.go the table and the notes
// below it. With --watch, watch.go follows the objects and redraws a terminal, and changes.go writes a row or a line
// for each change.
package status

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/moment"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

const statusExample = `  # All that has a status in the namespace, the worst first
  kubectl reconcile status

  # What is not ready, or whose controller has not seen the latest change, in all namespaces
  kubectl reconcile status -A --not-ready --drifted

  # One Deployment with each of its conditions in full
  kubectl reconcile status deploy/web --conditions

  # Is what these files describe in place? For scripts
  kubectl reconcile status -f examples/web.yaml --exit-code

  # Follow several kinds as they change
  kubectl reconcile status deploy,sts,jobs -w

  # What was not ready at a moment of a recording
  kubectl reconcile status --not-ready --from web.rec --at 2026-01-01T10:04:05Z`

// Flags are the flags of `status`.
type Flags struct {
	cluster      *connect.Flags
	targets      *connect.TargetFlags
	drifted      bool
	notReady     bool
	conditions   bool
	watch        bool
	exitCode     bool
	noHeaders    bool
	output       string
	polarityFile string
}

// NewCommand makes the command.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &Flags{cluster: connect.NewFlags(), targets: connect.NewTargetFlags()}
	cmd := &cobra.Command{
		Use:   "status [TYPE[,TYPE…] [NAME…] | TYPE/NAME… | -f FILE]",
		Short: "Show what is not ready, and whose controller has not seen the latest change",
		Long: `Show the status of objects of any kind, the worst first: whether each matches its spec and why not,
whether its controller has seen the latest generation of it (drift), and its conditions, bad ones
first.

Without arguments it shows all objects in the namespace whose kind has a status; with -A those of
the whole cluster, but for cluster-scoped ones with which all is well, unless with -o. What could
not be read is named below the table.`,
		Example: statusExample,
		RunE:    cli.RunE(streams, f.toOptions),
	}
	f.addTo(cmd)
	return cmd
}

func (f *Flags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.targets.AddTo(cmd)
	flags.BoolVar(&f.drifted, "drifted", false,
		"only objects whose controller has not seen the latest generation; with --not-ready those that are either")
	flags.BoolVar(&f.notReady, "not-ready", false, "only objects that do not match their spec")
	flags.BoolVar(&f.conditions, "conditions", false, "show every condition in full")
	flags.BoolVarP(&f.watch, "watch", "w", false, "keep running, and show what changes")
	flags.BoolVar(&f.exitCode, "exit-code", false, "exit with 1 if any object that is shown is drifted or not ready")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "leave out the titles of the columns")
	flags.StringVarP(&f.output, "output", "o", "", "output format: wide, name, json or yaml")
	flags.StringVar(&f.polarityFile, "polarity-file", "",
		"a file that says which status of a condition is the good one; see docs/status.md")
	f.cluster.AddTo(cmd)
	f.cluster.AddRecordingFlags(cmd, moment.Open, moment.SourceAt)
	cmd.ValidArgsFunction = cli.Completion(f.cluster.OfferTargets())
	cli.CompleteWords(cmd, "output", statusOutputs...)
	cli.CompleteFiles(cmd, "polarity-file")
}

// statusOutputs are the values of -o.
var statusOutputs = []string{"wide", "name", "json", "yaml"}

// Options are what `status` needs to run.
type Options struct {
	connection *connect.Connection
	targets    *connect.TargetFlags
	named      connect.TargetArgs
	polarities *inspect.Polarities

	drifted, notReady, conditions, watch, exitCode, noHeaders bool
	output                                                    string

	streams genericiooptions.IOStreams
	palette render.Palette // of stdout
	remarks render.Palette // of stderr
	ascii   bool
	width   int // of the terminal; 0 if stdout is none
	clock   clock.WithTicker
}

func (f *Flags) toOptions(streams genericiooptions.IOStreams, args []string) (*Options, error) {
	named, err := f.targets.Parse(args)
	if err != nil {
		return nil, err
	}
	if err := f.validate(); err != nil {
		return nil, err
	}
	polarities, err := readPolarities(f.polarityFile)
	if err != nil {
		return nil, err
	}
	progress, streams := cli.WithReadingProgress(streams, f.output == "" || f.output == "wide")
	connection, err := f.cluster.Connect(streams)
	if err != nil {
		return nil, err
	}
	connection.Progress = progress
	return &Options{
		connection: connection, targets: f.targets, named: named, polarities: polarities,
		drifted: f.drifted, notReady: f.notReady, conditions: f.conditions,
		watch: f.watch, exitCode: f.exitCode, noHeaders: f.noHeaders,
		output: f.output, streams: streams, palette: render.NewPalette(streams.Out, f.cluster.Color, os.Getenv),
		remarks: render.NewPalette(streams.ErrOut, f.cluster.Color, os.Getenv), ascii: render.ASCIIOnly(os.Getenv),
		width: render.TerminalWidth(streams.Out), clock: connection.Clock(),
	}, nil
}

func (f *Flags) validate() error {
	if err := cli.CheckOutput(f.output, statusOutputs, "a table"); err != nil {
		return err
	}
	if err := f.cluster.RefuseWatch(f.watch); err != nil {
		return err
	}
	switch {
	case f.watch && f.exitCode:
		return errors.New("--watch and --exit-code exclude each other")
	case f.watch && f.output == "yaml":
		return cli.WithHint(errors.New("--watch does not write YAML"), "-o json writes a line for each change")
	case f.conditions && f.output != "" && f.output != "wide":
		return cli.WithHint(fmt.Errorf("--conditions and -o %s exclude each other", f.output),
			"-o json and yaml have all conditions")
	}
	return nil
}

// readPolarities reads the file of --polarity-file; nil, for the defaults, without one.
func readPolarities(file string) (*inspect.Polarities, error) {
	if file == "" {
		return nil, nil
	}
	in, err := os.Open(file) //nolint:gosec // the user names it
	if err != nil {
		return nil, fmt.Errorf("reading the polarities: %w", err)
	}
	defer func() { _ = in.Close() }() // it was only read
	polarities, err := inspect.ReadPolarities(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return polarities, nil
}

// Close closes the recording, if one is read.
func (o *Options) Close() error { return o.connection.Close() }

// Run reads everything once, shows it, and with --watch as it changes.
func (o *Options) Run(ctx context.Context) error {
	served, err := o.connection.Open(ctx, o.connection.Config)
	if err != nil {
		return err
	}
	r := &statusReader{o, served}
	targets, err := r.find()
	if err != nil {
		return err
	}
	shown := r.cluster.ShowProgress(ctx, o.connection.Progress)
	defer shown()
	if o.watch {
		return r.follow(ctx, targets, shown)
	}
	list, err := r.read(ctx, targets)
	shown()
	if len(list.items) == 0 && err != nil {
		return err
	}
	all := len(list.items)
	if all == 0 {
		if err := served.CheckNamespace(ctx, connect.NamespaceOf(targets)); err != nil {
			return err
		}
	}
	o.choose(list)
	if printErr := o.print(list); printErr != nil {
		return errors.Join(printErr, err)
	}
	r.explainEmpty(all, list)
	return errors.Join(err, o.verdict(list))
}

// verdict is the error of --exit-code; nil if all that is shown is well.
func (o *Options) verdict(list *statusList) error {
	if !o.exitCode {
		return nil
	}
	for i := range list.items {
		if list.items[i].Drifted || list.items[i].NotReady {
			return cli.ErrSilentExit
		}
	}
	return nil
}
