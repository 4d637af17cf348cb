package replay

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/compare"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/input"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/serve"
)

const replayExample = `  # What happened, and who did it
  kubectl reconcile replay incident.krec

  # Only what belongs to a Deployment, and only its replicas
  kubectl reconcile replay incident.krec --tree deploy/web
  kubectl reconcile replay incident.krec --object deploy/web --field spec.replicas

  # Who changes most, what alternates, and how long it took until workloads were ready
  kubectl reconcile replay incident.krec --summary

  # Ten minutes of it in one
  kubectl reconcile replay incident.krec --since 14:20 --until 14:30 --follow --speed 10

  # Would the controllers do the same again?
  kubectl reconcile replay incident.krec --controller deployment,replicaset

  # kubectl sees the cluster as it was
  kubectl reconcile replay incident.krec --serve --at 14:20

  # What kubectl prints, as it comes
  kubectl get pods -w --output-watch-events -o json | kubectl reconcile replay -`

// errorCode is the exit code of an error: 1 is that something differs, in the modes that compare.
const errorCode = 2

// Flags are the flags of `replay`.
type Flags struct {
	narrow    narrowFlags
	compare   compare.Flags
	serve     serve.Flags
	output    string
	summary   bool
	follow    bool
	speed     float64
	noPager   bool
	clean     bool
	existing  bool
	allFields bool
	verbosity int
	color     render.ColorMode
}

// NewCommand returns the command `replay`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &Flags{color: render.ColorAuto, speed: 1}
	cmd := &cobra.Command{
		Use:   "replay [FILE…|-] [-- COMMAND [ARGS…]]",
		Short: "Show what happened in a recording: what changed, when and by whom",
		Long: `Show what happened in a recording, one line for each change: when, which object, what changed in it, and who
wrote that. Recordings are files that ` + "`kubectl reconcile record`" + ` wrote, or the output of
` + "`kubectl get -w -o json`" + `, lists, manifests and audit logs; - is stdin. Several are merged.

Fields that change with every write, such as managedFields and heartbeats, are left out. The exit code is 0, or more
than 1 after an error.`,
		Example: replayExample,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var command []string
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			args, command = args[:dash], args[dash:]
		}
		return cli.WithExitCode(f.run(cmd.Context(), streams, args, command), errorCode)
	}
	f.addTo(cmd)
	return cmd
}

func (f *Flags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.narrow.addTo(cmd)
	f.compare.AddTo(cmd)
	flags.StringVarP(&f.output, "output", "o", "", "output format: json, a line for each entry, with --summary also yaml; watch, as kubectl get -w prints it; "+
		"audit, an audit log; or manifests, the objects at the end or at --until")
	flags.BoolVar(&f.clean, "clean", false, "with -o manifests, leave out what only the API server writes, for kubectl apply")
	flags.BoolVar(&f.summary, "summary", false,
		"sum up: what changes most and who writes most, what alternates, how long it took until workloads were ready")
	flags.BoolVar(&f.follow, "follow", false, "play it in time; on a terminal space pauses, arrows move, q ends")
	flags.Float64Var(&f.speed, "speed", 1, "with --follow or --serve, how many times faster it is played")
	f.serve.AddTo(cmd)
	flags.BoolVar(&f.noPager, "no-pager", false, "do not show long output with a pager")
	flags.BoolVar(&f.existing, "existing", false, "a line for each object that was there at the start")
	flags.BoolVar(&f.allFields, "all-fields", false,
		"also fields that change with every write: managedFields, resourceVersion, heartbeats")
	flags.CountVarP(&f.verbosity, "verbose", "v", "show all fields of a change, and messages of conditions")
	flags.Var(&f.color, "color", "colour the output: auto, always or never")
	cli.CompleteWords(cmd, "output", replayOutputs...)
	cli.CompleteWords(cmd, "color", string(render.ColorAuto), string(render.ColorAlways), string(render.ColorNever))
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if parent := cmd.Parent(); parent != nil {
			err = parent.FlagErrorFunc()(cmd, err)
		}
		return cli.WithExitCode(err, errorCode)
	})
}

// replayOutputs are the values of -o.
var replayOutputs = []string{"json", "yaml", "watch", "audit", "manifests"}

// Options are what `replay` needs to run.
type Options struct {
	files  []string
	narrow narrowing

	output                      string
	summary, follow, existing   bool
	allFields, verbose, isPaged bool
	clean                       bool
	speed                       float64
	pager                       string
	streams                     genericiooptions.IOStreams
	palette                     render.Palette
	width, height               int
	clock                       clock.WithTicker
}

func (f *Flags) validate(args []string) error {
	if err := cli.CheckOutput(f.output, replayOutputs, "text"); err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		return cli.WithHint(errors.New("no recording is named"),
			"name a FILE, or - for stdin; `kubectl reconcile record -o FILE` makes one")
	case f.output == "yaml" && !f.summary:
		return cli.WithHint(errors.New("a timeline is not written as YAML"), "-o json writes a line for each entry")
	case f.summary && f.follow:
		return errors.New("--summary and --follow exclude each other")
	case f.summary && f.output != "" && f.output != "json" && f.output != "yaml":
		return fmt.Errorf("--summary and -o %s exclude each other", f.output)
	case f.follow && f.output != "" && f.output != "json":
		return fmt.Errorf("--follow and -o %s exclude each other", f.output)
	case f.clean && f.output != "manifests":
		return errors.New("--clean only works with -o manifests")
	case f.speed <= 0:
		return fmt.Errorf("--speed %g is not above 0", f.speed)
	}
	return nil
}

func (f *Flags) toOptions(streams genericiooptions.IOStreams, args []string) (*Options, error) {
	if err := f.validate(args); err != nil {
		return nil, err
	}
	narrow, err := f.narrow.toNarrowing()
	if err != nil {
		return nil, err
	}
	width, height := render.TerminalSize(streams.Out)
	return &Options{
		files: args, narrow: narrow, output: f.output, summary: f.summary, follow: f.follow, speed: f.speed,
		existing: f.existing, clean: f.clean, allFields: f.allFields, verbose: f.verbosity > 0,
		isPaged: !f.noPager && !f.follow && f.output == "", pager: pagerCommand(os.Getenv),
		streams: streams, palette: render.NewPalette(streams.Out, f.color, os.Getenv),
		width: width, height: height, clock: clock.RealClock{},
	}, nil
}

func (f *Flags) run(ctx context.Context, streams genericiooptions.IOStreams, args, command []string) error {
	if err := f.serve.Validate(command); err != nil {
		return err
	}
	if f.serve.Given() {
		return f.runServe(ctx, streams, args, command)
	}
	if f.compare.Given() {
		return f.runCompare(ctx, streams, args)
	}
	o, err := f.toOptions(streams, args)
	if err != nil {
		return err
	}
	return o.Run(ctx)
}

// runServe serves the recording.
func (f *Flags) runServe(ctx context.Context, streams genericiooptions.IOStreams, args, command []string) error {
	if f.summary || f.follow || f.compare.Given() || f.output != "" {
		return errors.New("--serve excludes --summary, --follow, --controller and -o")
	}
	recording, closeFiles, err := input.Open(streams, args)
	if err != nil {
		return err
	}
	return errors.Join(f.serve.Run(ctx, streams, recording, command), closeFiles())
}

// runCompare lets controllers run on the recording.
func (f *Flags) runCompare(ctx context.Context, streams genericiooptions.IOStreams, args []string) error {
	if f.summary || f.follow {
		return errors.New("--controller excludes --summary and --follow")
	}
	recording, closeFiles, err := input.Open(streams, args)
	if err != nil {
		return err
	}
	err = f.compare.Run(ctx, streams, recording, compare.View{
		Output: f.output, Verbose: f.verbosity > 0, Palette: render.NewPalette(streams.Out, f.color, os.Getenv),
	})
	return errors.Join(err, closeFiles())
}
