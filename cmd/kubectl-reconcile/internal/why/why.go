// Package why is the command `why`: why an object is not as its spec requests, or with --field who set a field of it.
// The causes are found by pkg/inspect and pkg/ownertree/diagnosis; here are the flags, and all that is text for people.
//
//	why.go, read.go     flags and options; what is read of the cluster
//	try.go              --try: what controllers write, tried in dry run
//	sentences.go        causes in words
//	commands.go         commands that show more of a cause, or would unblock it
//	commandline.go      how these are written
//	text.go             the screen
//	document.go         JSON and YAML
//	watch.go            --watch
//	blame.go            --field
package why

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/moment"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

const whyExample = `  # Why is this Deployment not ready?
  kubectl reconcile why deploy/web

  # Why does this claim wait, why does this namespace not go?
  kubectl reconcile why pvc/data
  kubectl reconcile why ns/shop

  # Wait until it has converged, for at most five minutes, and show what is in the way
  kubectl reconcile why deploy/web -w --timeout 5m

  # Is what its controller writes refused? Try that in dry run, whatever else was found
  kubectl reconcile why sts/db --try always

  # Who set this field, and what would set it back?
  kubectl reconcile why deploy/web --field spec.replicas
  kubectl reconcile why deploy/web --field 'spec.template.spec.containers[name=web].image'

  # Why was it not ready two minutes before the end of a recording?
  kubectl reconcile why deploy/web --from web.rec --at -2m`

// outputs are the values of -o.
var outputs = []string{"json", "yaml"}

// Flags are the flags of `why`.
type Flags struct {
	cluster *connect.Flags
	targets *connect.TargetFlags

	field   string
	try     string
	watch   bool
	timeout time.Duration
	output  string
}

// NewCommand makes the command.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	cmd, _ := newCommand(streams)
	return cmd
}

func newCommand(streams genericiooptions.IOStreams) (*cobra.Command, *Flags) {
	f := &Flags{cluster: connect.NewFlags(), targets: connect.NewTargetFlags()}
	cmd := &cobra.Command{
		Use:   "why TYPE/NAME",
		Short: "Explain why an object has not converged, or who set a field of it",
		Long: `Explain why an object of any kind is not as its spec requests: the chain from the object down to the
likeliest cause, with evidence, commands that show more or would unblock it, and how sure it is; then
other causes. Nothing is changed.

If nothing that can be read explains why a controller of Kubernetes does not do its work, that controller is run once,
on these objects and in dry run, to find out whether the API server refuses what it writes: see --try.

With --field it shows who set a field, when and how, who else owns it, and what would set it back.`,
		Example: whyExample,
		RunE:    cli.RunE(streams, f.toOptions),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.field, "field", "", "show who set the field at this `path`, such as spec.replicas")
	flags.StringVar(&f.try, "try", tryAuto,
		"run the object's controller once in dry run, to see whether what it writes is refused: "+
			"auto (if nothing that was read explains the state), always or never")
	flags.BoolVarP(&f.watch, "watch", "w", false, "keep running, and show what changes, until the object has converged")
	flags.DurationVar(&f.timeout, "timeout", 0,
		"with --watch, exit with 1 if the object has not converged by then; 0 waits for ever")
	flags.StringVarP(&f.output, "output", "o", "", "output format: json or yaml")
	f.cluster.AddTo(cmd)
	f.cluster.AddRecordingFlags(cmd, moment.Open, moment.SourceAt)
	cmd.ValidArgsFunction = cli.Completion(f.cluster.OfferTarget())
	cli.CompleteWords(cmd, "output", outputs...)
	cli.CompleteWords(cmd, "try", tryAuto+"\tif the cause is unsure otherwise", tryAlways, tryNever)
	cli.Complete(cmd, "field", f.cluster.OfferFields())
	return cmd, f
}

// Options are what `why` needs to run.
type Options struct {
	connection *connect.Connection
	named      connect.TargetArgs
	field      fields.Path // nil without --field
	try        string      // of tryValues
	watch      bool
	timeout    time.Duration
	output     string
	// connectionArgs are what commands need to reach the same cluster as the same user.
	connectionArgs string

	streams genericiooptions.IOStreams
	palette render.Palette
	ascii   bool
	width   int // of the terminal; 0 if stdout is none
	clock   clock.WithTicker
}

func (f *Flags) toOptions(streams genericiooptions.IOStreams, args []string) (*Options, error) {
	named, err := f.targets.Parse(args)
	if err != nil {
		return nil, err
	}
	const example = "for example deploy/web; `%s status` shows what is not ready"
	program := f.cluster.Cmd.Root().DisplayName()
	switch {
	case named.Empty():
		return nil, cli.WithHint(errors.New("why needs an object: TYPE/NAME"), fmt.Sprintf(example, program))
	case len(named.Types) > 0:
		return nil, cli.WithHint(fmt.Errorf("why needs one object, not all %s: TYPE/NAME", cli.Enumerate(named.Types)),
			fmt.Sprintf(example, program))
	}
	path, err := f.validate(named)
	if err != nil {
		return nil, err
	}
	progress, streams := cli.WithReadingProgress(streams, f.output == "")
	connection, err := f.cluster.Connect(streams)
	if err != nil {
		return nil, err
	}
	connection.Progress = progress
	return &Options{
		connection: connection, named: named, field: path, try: f.try, watch: f.watch, timeout: f.timeout,
		output: f.output, connectionArgs: f.cluster.Args(),
		streams: streams, palette: render.NewPalette(streams.Out, f.cluster.Color, os.Getenv),
		ascii: render.ASCIIOnly(os.Getenv), width: render.TerminalWidth(streams.Out), clock: connection.Clock(),
	}, nil
}

func (f *Flags) validate(named connect.TargetArgs) (fields.Path, error) {
	if err := cli.CheckOutput(f.output, outputs, "text for people"); err != nil {
		return nil, err
	}
	if !slices.Contains(tryValues, f.try) {
		return nil, cli.WithHint(cli.UnknownError("value of --try", f.try),
			cli.Suggestion(f.try, tryValues, "there are "+cli.Enumerate(tryValues)))
	}
	if err := f.validateRecording(); err != nil {
		return nil, err
	}
	switch {
	case named.Count() > 1:
		return nil, errors.New("why explains one object at a time")
	case f.timeout < 0:
		return nil, errors.New("--timeout must not be negative")
	case f.timeout > 0 && !f.watch:
		return nil, errors.New("--timeout needs --watch")
	case f.watch && f.field != "":
		return nil, errors.New("--watch and --field exclude each other")
	case f.watch && f.output == "yaml":
		return nil, cli.WithHint(errors.New("--watch does not write YAML"), "-o json writes a line for each change")
	case f.field == "" && f.cluster.Cmd.Flags().Changed("field"):
		return nil, cli.WithHint(errors.New("--field is empty"), "for example --field spec.replicas")
	case f.field == "":
		return nil, nil
	}
	path, err := fields.ParsePath(f.field)
	if err != nil {
		return nil, cli.WithHint(err, "for example spec.replicas, or 'spec.template.spec.containers[name=web].image'")
	}
	return path, nil
}

// validateRecording returns an error if the flags ask for what a recording cannot give.
func (f *Flags) validateRecording() error {
	if f.cluster.Recording.Given() && f.try != tryNever && f.cluster.Cmd.Flags().Changed("try") {
		return cli.WithHint(errors.New("--from and --try exclude each other: a recording takes no writes"),
			fmt.Sprintf("`%s diff%s` shows what the controllers would do next", f.cluster.Cmd.Root().DisplayName(),
				f.cluster.Args()))
	}
	return f.cluster.RefuseWatch(f.watch)
}

// Close closes the recording, if one is read.
func (o *Options) Close() error { return o.connection.Close() }

// Run explains the object.
func (o *Options) Run(ctx context.Context) error {
	q, err := o.open(ctx)
	if err != nil {
		return err
	}
	ends := q.cluster.ShowProgress(ctx, o.connection.Progress)
	defer ends()
	switch {
	case o.field != nil:
		return q.blame(ctx, ends)
	case o.watch:
		return q.follow(ctx, ends)
	}
	s, err := q.read(ctx)
	ends()
	if err != nil {
		return err
	}
	now := o.clock.Now()
	tried, err := (&trier{query: q}).complete(ctx, s, now)
	if err == nil && o.connection.Recording == nil {
		err = s.ReadRewrites(ctx, q.cluster.Reader, o.clock)
	}
	if err != nil {
		return o.connection.Explain(err)
	}
	return o.print(newView(q, s, tried, now))
}
