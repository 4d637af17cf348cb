package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/compare"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/input"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// mode is what the command does with a recording, by the flag that asks for it.
type mode string

// The modes. The timeline has no flag of its own.
const (
	modeTimeline mode = "the timeline"
	modeServe    mode = "--serve"
	modeProgram  mode = "--serve -- COMMAND"
	modeCompare  mode = "--controller"
	modeSummary  mode = "--summary"
	modeFollow   mode = "--follow"
	modeStory    mode = "--story"
	modeExport   mode = "-o"
)

// outputs are the values of -o that a mode has, beside none.
var outputs = map[mode][]string{
	modeTimeline: {"json"}, modeFollow: {"json"}, modeSummary: {"json", "yaml"}, modeCompare: {"json", "yaml"},
	modeProgram: {"json", "yaml"},
	modeExport:  {"watch", "audit", "manifests"},
}

// ownFlags are flags that only some modes have.
var ownFlags = map[string][]mode{
	"speed":      {modeFollow, modeServe},
	"at":         {modeServe, modeProgram, modeCompare, modeExport},
	"manager":    {modeProgram},
	"accept":     {modeProgram},
	"ignore":     {modeProgram},
	"startup":    {modeProgram},
	"patience":   {modeProgram},
	"clean":      {modeExport},
	"no-pager":   {modeTimeline, modeSummary, modeStory},
	"existing":   {modeTimeline, modeFollow},
	"all-fields": {modeTimeline, modeFollow, modeSummary},

	"fail-on":        {modeTimeline, modeSummary},
	"finding-limits": {modeTimeline, modeSummary},
}

// mode returns the mode that the flags ask for, and an error for flags that do not go together.
func (f *Flags) mode(command []string) (mode, error) {
	var given []mode
	for _, one := range []struct {
		mode  mode
		given bool
	}{
		{modeServe, f.serve.Given()}, {modeCompare, f.compare.Given()}, {modeSummary, f.summary},
		{modeFollow, f.follow}, {modeStory, f.story}, {modeExport, slices.Contains(outputs[modeExport], f.output)},
	} {
		if one.given {
			given = append(given, one.mode)
		}
	}
	if len(given) > 1 {
		names := [2]string{string(given[0]), string(given[1])}
		if given[1] == modeExport {
			names[1] += " " + f.output
		}
		return "", fmt.Errorf("%s and %s exclude each other", names[0], names[1])
	}
	m := modeTimeline
	if len(given) > 0 {
		m = given[0]
	}
	if m == modeServe && f.serve.Compares(command) {
		m = modeProgram
	}
	return m, f.checkFlags(m)
}

// checkFlags returns an error for flags that the mode does not have.
func (f *Flags) checkFlags(m mode) error {
	switch {
	case f.output == "" || slices.Contains(outputs[m], f.output):
	case m == modeTimeline:
		return cli.WithHint(errors.New("a timeline is not written as YAML"), "-o json writes a line for each entry")
	default:
		return fmt.Errorf("%s and -o %s exclude each other", m, f.output)
	}
	if m == modeServe || m == modeProgram || m == modeCompare || m == modeStory {
		if flag := f.narrow.given(f.cmd); flag != "" {
			return fmt.Errorf("%s and %s exclude each other", m, flag)
		}
	}
	for _, name := range []string{
		"speed", "at", "manager", "accept", "ignore", "startup", "patience", "clean", "no-pager", "existing",
		"all-fields", "fail-on", "finding-limits",
	} {
		if modes := ownFlags[name]; f.cmd.Flags().Changed(name) && !slices.Contains(modes, m) {
			return cli.WithHint(fmt.Errorf("--%s is not for %s", name, m), flagHints[name])
		}
	}
	if name := "at"; m == modeExport && f.cmd.Flags().Changed(name) && f.output != "manifests" {
		return cli.WithHint(fmt.Errorf("--at is not for -o %s", f.output), flagHints[name])
	}
	return nil
}

const programHint = "it is for --serve -- COMMAND, without --speed, --writable and --no-compare"

// flagHints are advice for flags that were given in a mode that does not have them.
var flagHints = map[string]string{
	"speed":          "it is for --follow and --serve",
	"at":             "--since and --until choose a part of the recording; `get --from FILE --at TIME` shows a moment",
	"fail-on":        "it is for the timeline and --summary",
	"finding-limits": "it is for the timeline and --summary",
	"clean":          "it is for -o manifests",

	"manager":  programHint,
	"accept":   programHint,
	"ignore":   programHint,
	"startup":  programHint,
	"patience": programHint,
}

func (f *Flags) run(ctx context.Context, streams genericiooptions.IOStreams, args, command []string) error {
	if err := cli.CheckOutput(f.output, replayOutputs, "text"); err != nil {
		return err
	}
	if err := f.serve.Validate(command); err != nil {
		return err
	}
	m, err := f.mode(command)
	switch {
	case err != nil:
		return err
	case len(args) == 0:
		return cli.WithHint(errors.New("no recording is named"),
			"name a FILE, or - for stdin; `kubectl reconcile record -o FILE` makes one")
	case m == modeServe:
		return f.runServe(ctx, streams, args, command)
	case m == modeProgram:
		return f.runProgram(ctx, streams, args, command)
	case m == modeCompare:
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
	recording, closeFiles, err := input.Open(ctx, streams, args)
	if err != nil {
		return err
	}
	return errors.Join(f.serve.Run(ctx, streams, recording, command), closeFiles())
}

// runCompare lets controllers run on the recording.
func (f *Flags) runCompare(ctx context.Context, streams genericiooptions.IOStreams, args []string) error {
	recording, closeFiles, err := input.Open(ctx, streams, args)
	if err != nil {
		return err
	}
	if isStream(recording.Header()) {
		return errors.Join(f.runOnStream(ctx, streams, recording), closeFiles())
	}
	view, err := f.view(streams, recording)
	if err == nil {
		err = f.compare.Run(ctx, streams, recording, view)
	}
	return errors.Join(err, closeFiles())
}

// runProgram lets a program run on the recording.
func (f *Flags) runProgram(ctx context.Context, streams genericiooptions.IOStreams, args, command []string) error {
	if f.program.Accepts() {
		if err := canBeWritten(args); err != nil {
			return err
		}
	}
	recording, closeFiles, err := input.Open(ctx, streams, args)
	if err != nil {
		return err
	}
	view, err := f.view(streams, recording)
	if err == nil {
		err = f.program.Run(ctx, streams, recording, compare.ProgramView{
			View: view, Command: command, Serve: &f.serve, File: args[0],
		})
	}
	return errors.Join(err, closeFiles())
}

// canBeWritten returns an error if --accept cannot write its result in the place of the inputs.
func canBeWritten(args []string) error {
	if len(args) > 1 || args[0] == "-" {
		return cli.WithHint(errors.New("--accept needs one file"), "it writes the recording that it reads")
	}
	file, err := replay.OpenFile(args[0], replay.ReaderOptions{})
	if errors.As(err, new(*replay.NotRecordingError)) {
		return cli.WithHint(err, "--accept writes recordings of `record`; export what other tools have written again")
	}
	if file == nil {
		return nil // opening it as an input finds the reason too, and says better
	}
	return file.Close()
}

// view returns how a comparison is printed.
func (f *Flags) view(streams genericiooptions.IOStreams, recording replay.Recording) (compare.View, error) {
	view := compare.View{
		Output: f.output, Verbose: f.verbosity > 0, Palette: render.NewPalette(streams.Out, f.color, os.Getenv),
	}
	if f.at == "" {
		return view, nil
	}
	info, err := recording.Info()
	if err == nil {
		view.At, err = input.Moment(f.at, info)
	}
	if err != nil {
		return view, fmt.Errorf("--at: %w", err)
	}
	return view, nil
}
