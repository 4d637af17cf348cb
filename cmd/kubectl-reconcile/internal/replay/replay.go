package replay

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/compare"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/serve"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

const replayExample = `  # What happened, and who did it
  kubectl reconcile replay incident.rec

  # Only what belongs to a Deployment, and only its replicas
  kubectl reconcile replay incident.rec --tree deploy/web
  kubectl reconcile replay incident.rec --object deploy/web --field spec.replicas

  # Who changes most, what alternates, and how long it took until workloads were ready
  kubectl reconcile replay incident.rec --summary

  # What the controllers of a recorded run did, from cause to effect
  kubectl reconcile replay run.rec --story

  # Ten minutes of it in one
  kubectl reconcile replay incident.rec --since 14:20 --until 14:30 --follow --speed 10

  # Would the controllers do the same again?
  kubectl reconcile replay incident.rec --controller deployment,replicaset

  # Would your own controller, and is a change of it safe?
  kubectl reconcile replay testdata/rollout.rec --serve -- ./bin/manager --leader-elect=false

  # kubectl sees the cluster as it was
  kubectl reconcile replay incident.rec --serve --at 14:20

  # What kubectl prints, as it comes
  kubectl get pods -w --output-watch-events -o json | kubectl reconcile replay -`

// errorCode is the exit code of an error: 1 is that something differs, in the modes that compare.
const errorCode = 2

// Flags are the flags of `replay`.
type Flags struct {
	narrow    narrowFlags
	compare   compare.Flags
	program   compare.ProgramFlags
	serve     serve.Flags
	findings  session.FindingFlags
	output    string
	summary   bool
	follow    bool
	story     bool
	speed     float64
	noPager   bool
	at        string
	clean     bool
	existing  bool
	allFields bool
	verbosity int
	color     render.ColorMode
	cmd       *cobra.Command // that the flags were added to
}

// NewCommand returns the command `replay`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &Flags{color: render.ColorAuto, speed: 1}
	cmd := &cobra.Command{
		Use:   "replay [FILE…|-] [-- COMMAND [ARGS…]]",
		Short: "Show what happened in a recording: what changed, when and by whom",
		Long: `Show what happened in a recording, one line for each change: when, which object, what changed in it,
and who wrote that. Recordings are files that ` + "`kubectl reconcile record`" + ` wrote, or the output of
` + "`kubectl get -w -o json`" + `, lists, manifests and audit logs; - is stdin. Several are merged.

Fields that change with every write, such as managedFields and heartbeats, are left out. The exit code is 0, 1 if
there are findings of --fail-on, or more than 1 after an error.`,
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
	cmd.ValidArgsFunction = cli.Files
	return cmd
}

func (f *Flags) addTo(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	f.narrow.addTo(cmd)
	f.compare.AddTo(cmd)
	flags.StringVarP(&f.output, "output", "o", "",
		"output format: json, a line for each entry, with --summary and --controller a document, also as yaml; or the "+
			"recording itself: watch, as kubectl get -w prints it, audit, an audit log, or manifests, the objects at "+
			"the end or at --at")
	flags.BoolVar(&f.clean, "clean", false,
		"with -o manifests, leave out what only the API server writes, for kubectl apply")
	flags.StringVar(&f.at, "at", "",
		"the `moment` to serve, to begin a comparison at, or to write with -o manifests: "+
			"a time, #N, a resource version, start or end")
	flags.BoolVar(&f.summary, "summary", false,
		"sum up: what changes most and who writes most, what alternates, how long it took until workloads were ready")
	flags.BoolVar(&f.follow, "follow", false, "play it in time; on a terminal space pauses, arrows move, q ends")
	flags.BoolVar(&f.story, "story", false,
		"tell what the controllers did, from cause to effect, as run does, if the recording has their trace")
	flags.Float64Var(&f.speed, "speed", 1, "with --follow or --serve, how many times faster it is played")
	f.findings.AddTo(cmd)
	f.serve.AddTo(cmd)
	f.program.AddTo(cmd)
	flags.BoolVar(&f.noPager, "no-pager", false, "do not show long output with a pager")
	flags.BoolVar(&f.existing, "existing", false, "a line for each object that was there at the start")
	flags.BoolVar(&f.allFields, "all-fields", false,
		"all details of a change, also fields that change with every write: managedFields, resourceVersion, heartbeats")
	flags.CountVarP(&f.verbosity, "verbose", "v",
		"show all fields of a change, messages of conditions, the numbers of records, and reconciles that wrote "+
			"nothing")
	flags.Var(&f.color, "color", "colour the output: auto, always or never")
	cli.CompleteWords(cmd, "output", replayOutputs...)
	cli.CompleteInOrder(cmd, "at", offerMoments)
	f.narrow.complete(cmd)
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
	files    []string
	narrow   narrowing
	findings session.Findings
	// summarizer sums up what is shown, for the summary and for findings; nil if neither was asked for.
	summarizer *timeline.Summarizer

	output                      string
	summary, follow, existing   bool
	story                       bool
	allFields, verbose, isPaged bool
	clean                       bool
	speed                       float64
	pager                       string
	streams                     genericiooptions.IOStreams
	palette                     render.Palette
	width, height               int
	clock                       clock.WithTicker
}

func (f *Flags) toOptions(streams genericiooptions.IOStreams, args []string) (*Options, error) {
	if f.speed <= 0 {
		return nil, fmt.Errorf("--speed %g is not above 0", f.speed)
	}
	narrow, err := f.narrow.toNarrowing()
	if err != nil {
		return nil, err
	}
	if f.at != "" {
		if narrow.until != "" {
			return nil, errors.New("--at and --until exclude each other")
		}
		narrow.until, narrow.untilFlag = f.at, "--at" // the state at a moment is that after what is until it
	}
	found, err := f.findings.ToFindings()
	if err != nil {
		return nil, err
	}
	var summarizer *timeline.Summarizer
	if f.summary || found.Given() {
		summarizer = timeline.NewSummarizer(found.Limits)
	}
	width, height := render.TerminalSize(streams.Out)
	return &Options{
		files: args, narrow: narrow, findings: found, summarizer: summarizer, output: f.output,
		summary: f.summary, follow: f.follow, story: f.story, speed: f.speed,
		existing: f.existing, clean: f.clean, allFields: f.allFields, verbose: f.verbosity > 0,
		isPaged: !f.noPager && !f.follow && f.output == "", pager: pagerCommand(os.Getenv),
		streams: streams, palette: render.NewPalette(streams.Out, f.color, os.Getenv),
		width: width, height: height, clock: clock.RealClock{},
	}, nil
}
