// Package get is the command `get`: it shows the objects that a recording has at a moment, as `kubectl get` shows those
// of a cluster.
//
// get.go has flags and options, read.go what is read, table.go the columns, which are those of the API server, with
// ages as of the moment (age.go), sort.go their order, and print.go what is written.
package get

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/moment"
)

const getExample = `  # The pods at the end of a recording
  kubectl reconcile get pods --from web.rec

  # A Deployment as it was two minutes before the end
  kubectl reconcile get deploy/web -o yaml --from web.rec --at -2m

  # What kubectl get would have shown at that time
  kubectl reconcile get deploy,rs,pods -o wide --from web.rec --at 2026-01-01T10:04:05Z

  # The events at record 118, of all namespaces
  kubectl reconcile get events -A --from web.rec --at '#118'`

// outputs are the values of -o.
var outputs = []string{"wide", "name", "json", "yaml"}

// Flags are the flags of `get`.
type Flags struct {
	cluster *connect.Flags
	targets *connect.TargetFlags

	noHeaders     bool
	showLabels    bool
	managedFields bool
	output        string
	sortBy        string
}

// NewCommand returns the command.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	return newCommand(streams, &Flags{cluster: connect.NewFlags(), targets: connect.NewTargetFlags()})
}

func newCommand(streams genericiooptions.IOStreams, f *Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get TYPE[,TYPE…] [NAME…] | TYPE/NAME… --from FILE",
		Short: "Show objects as they were at a moment of a recording",
		Long: `Show objects as they were at a moment of a recording: what kubectl get would have shown, with the
columns of the API server and ages as of then.`,
		Example: getExample,
		RunE:    cli.RunE(streams, f.toOptions),
	}
	f.targets.AddSelectors(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.noHeaders, "no-headers", false, "leave out the titles of the columns")
	flags.BoolVar(&f.showLabels, "show-labels", false, "show the labels of the objects in the last column")
	flags.BoolVar(&f.managedFields, "show-managed-fields", false, "with -o json and yaml, show the managed fields")
	flags.StringVar(&f.sortBy, "sort-by", "",
		"order the objects of a kind by this field, a JSONPath such as .metadata.creationTimestamp")
	flags.StringVarP(&f.output, "output", "o", "", "output format: wide, name, json or yaml")
	f.cluster.AddNamespace(cmd)
	f.cluster.AddRecordingFlags(cmd, moment.Open, moment.SourceAt)
	cmd.ValidArgsFunction = cli.Completion(f.cluster.OfferTargets())
	cli.CompleteWords(cmd, "output", outputs...)
	return cmd
}

// Options are what `get` needs to run.
type Options struct {
	connection *connect.Connection
	targets    *connect.TargetFlags
	named      connect.TargetArgs
	at         time.Time

	noHeaders, showLabels, managedFields bool
	output                               string
	sorter                               *sorter // nil for the order of the server

	streams genericiooptions.IOStreams
	clock   clock.PassiveClock // the real one, by which the columns of the API server tell ages
}

func (f *Flags) toOptions(streams genericiooptions.IOStreams, args []string) (*Options, error) {
	if !f.cluster.Recording.Given() && f.cluster.Recording.At == "" {
		return nil, cli.WithHint(errors.New("get shows a moment of a recording: it needs --from"),
			"`kubectl get` shows a cluster as it is")
	}
	named, err := f.targets.Parse(args)
	if err != nil {
		return nil, err
	}
	if err := f.validate(named); err != nil {
		return nil, err
	}
	sorter, err := newSorter(f.sortBy)
	if err != nil {
		return nil, err
	}
	connection, err := f.cluster.Connect(streams)
	if err != nil {
		return nil, err
	}
	return &Options{
		connection: connection, targets: f.targets, named: named, at: connection.Clock().Now(),
		noHeaders: f.noHeaders, showLabels: f.showLabels, managedFields: f.managedFields, output: f.output,
		sorter: sorter, streams: streams, clock: clock.RealClock{},
	}, nil
}

func (f *Flags) validate(named connect.TargetArgs) error {
	if err := cli.CheckOutput(f.output, outputs, "a table"); err != nil {
		return err
	}
	document := f.output == "json" || f.output == "yaml"
	switch {
	case named.Empty():
		return cli.WithHint(errors.New("get needs the type of the objects"), "for example pods, or deploy/web")
	case f.showLabels && f.output != "" && f.output != "wide":
		return fmt.Errorf("--show-labels and -o %s exclude each other", f.output)
	case f.managedFields && !document:
		return errors.New("--show-managed-fields needs -o json or -o yaml")
	}
	return nil
}

// Close closes the recording.
func (o *Options) Close() error { return o.connection.Close() }

// Run reads the objects and writes them. What could not be read is the error, after the others were written.
func (o *Options) Run(ctx context.Context) error {
	opened, err := o.connection.Open(ctx, o.connection.Config)
	if err != nil {
		return err
	}
	namespace := o.connection.Namespace
	if o.targets.AllNamespaces {
		namespace = ""
	}
	targets, err := o.named.Resolve(opened.Kinds, namespace)
	if err != nil {
		return o.connection.ExplainEach(err)
	}
	lists, err := o.read(ctx, opened, targets)
	switch {
	case countOf(lists) > 0:
		sorted, sortErr := o.sort(lists)
		if sortErr != nil {
			return errors.Join(sortErr, err)
		}
		if printErr := o.print(ctx, opened, sorted); printErr != nil {
			return errors.Join(printErr, err)
		}
	case err == nil:
		return o.explainEmpty(ctx, opened, lists, targets)
	}
	return err
}

// explainEmpty writes that there is nothing to show, as kubectl does. A namespace that does not exist is an error.
func (o *Options) explainEmpty(
	ctx context.Context, opened *connect.Cluster, lists []objectList, targets []connect.Target,
) error {
	if err := opened.CheckNamespace(ctx, connect.NamespaceOf(targets)); err != nil {
		return err
	}
	switch {
	case o.output == "json" || o.output == "yaml":
		return o.printDocument(lists)
	case o.targets.AllNamespaces:
		fmt.Fprintln(o.streams.ErrOut, "No resources found")
	default:
		fmt.Fprintf(o.streams.ErrOut, "No resources found in %s namespace.\n", o.connection.Namespace)
	}
	return nil
}
