// Package compare is what `replay --controller` and `replay --serve -- COMMAND` do: it lets controllers run on a
// recording, and prints what they did otherwise than in it. Package pkg/runlocal/compare runs and compares them.
//
// compare.go has the flags and Run for controllers of kube-controller-manager, program.go for a program, text.go what
// is printed for people, and document.go what -o json and yaml print.
package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/compare"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// Flags are the flags of `replay` that choose what is compared.
type Flags struct {
	// Controllers is the comma list of --controller.
	Controllers string
}

// AddTo adds the flags to a command.
func (f *Flags) AddTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Controllers, "controller", "",
		"run these controllers of kube-controller-manager on the recording, and compare what they write with what was "+
			"recorded: the exit code is 0 if it is the same, 1 if not; on what kubectl has printed, show what they "+
			"would do, as run does")
	cli.CompleteList(cmd, "controller", func(context.Context, []string, string) []string { return comparedNames() })
}

// Given reports whether the flags ask for a comparison.
func (f *Flags) Given() bool { return f.Controllers != "" }

// View is how the result is printed.
type View struct {
	// Output is json, yaml or empty for text.
	Output string
	// Verbose shows all fields, and what is not compared.
	Verbose bool
	Palette render.Palette
	// At is the moment that the comparison begins with; the zero value is the start of the recording.
	At replay.Moment
}

// Outputs are the values of -o for a comparison.
func Outputs() []string { return []string{"json", "yaml"} }

// Run compares the controllers with the recording, and prints what came out. The error is cli.ErrSilentExit if
// something differs.
func (f *Flags) Run(
	ctx context.Context, streams genericiooptions.IOStreams, recording replay.Recording, view View,
) error {
	if err := cli.CheckOutput(view.Output, Outputs(), "text"); err != nil {
		return err
	}
	selected, err := session.SelectControllers(f.Controllers)
	switch {
	case err != nil:
		return err
	case len(selected) == 0:
		return cli.WithHint(fmt.Errorf("--controller %s names no controller", f.Controllers),
			"`run --list` lists those that there are")
	}
	if err := cli.SetUpKlog(render.Quiet); err != nil {
		return err
	}
	names := make([]string, len(selected))
	for i, c := range selected {
		names[i] = c.Short
	}
	autoscaling, nodeControllers, err := session.Settings(recording.Header())
	if err != nil {
		return fmt.Errorf("reading the options of the recording: %w", err)
	}
	what := "running " + strings.Join(names, ", ") + " on the recording"
	var played, all atomic.Int64
	text := func(context.Context) string {
		return fmt.Sprintf("%s: %d of %d events", what, played.Load(), all.Load())
	}
	result, again, err := runTwice(ctx, streams, text, func() (*compare.Result, error) {
		return compare.Run(ctx, recording, compare.Options{
			Controllers: selected, From: view.At, Autoscaling: autoscaling, NodeControllers: nodeControllers,
			Progress: func(n, of int) { played.Store(int64(n)); all.Store(int64(of)) },
		})
	})
	if err != nil {
		return interruptionOr(ctx, withHints(err, recording))
	}
	return view.print(streams, result, again)
}

// print prints a result. The error is cli.ErrSilentExit if something differs, and another if too little was compared.
func (v *View) print(streams genericiooptions.IOStreams, result *compare.Result, again repeated) error {
	var err error
	if v.Output != "" {
		err = cli.WriteDocument(streams.Out, v.Output, newDocument(result, again))
	} else {
		err = (&text{out: streams.Out, palette: v.Palette, verbose: v.Verbose,
			width: render.TerminalWidth(streams.Out), ascii: render.ASCIIOnly(os.Getenv)}).write(result, again)
	}
	switch {
	case err != nil || result.IsSame():
		return err
	case result.Counts().Different > 0:
		return cli.ErrSilentExit
	}
	return cli.WithHint(fmt.Errorf("%s not compared: too many to call it the same", notComparedText(result)),
		"a longer recording has more to compare, and an audit log names all writers")
}

// repeated is what a second run says of the first.
type repeated struct {
	// ran is true if there was a second run: there is none if all was the same.
	ran bool
	// difference is how its result differs; empty if it does not.
	difference string
}

// runTwice compares, and if something differs does so a second time: what depends on chance may come out otherwise.
func runTwice(
	ctx context.Context, streams genericiooptions.IOStreams, text func(context.Context) string,
	run func() (*compare.Result, error),
) (*compare.Result, repeated, error) {
	progress, _ := cli.WithProgress(streams, true)
	if progress == nil {
		defer tell(ctx, streams.ErrOut, text)()
	}
	defer progress.Show(ctx, text)()
	result, err := run()
	if err != nil || result.IsSame() {
		return result, repeated{}, err
	}
	second, err := run()
	if err != nil {
		return nil, repeated{}, err
	}
	if (result.IsUnsure() || !result.IsEnough()) && second.IsSame() {
		return second, repeated{}, nil // it was chance
	}
	return result, repeated{ran: true, difference: result.Difference(second)}, nil
}

// tellInterval is how often what is under way is said where no progress can be drawn.
const tellInterval = 15 * time.Second

// tell prints a text now and then, until the returned function is called.
func tell(ctx context.Context, out io.Writer, text func(context.Context) string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ticker := time.NewTicker(tellInterval)
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				fmt.Fprintln(out, text(ctx))
			}
		}
	})
	return func() {
		cancel()
		telling.Wait()
		ticker.Stop()
	}
}

// interruptionOr returns the error of a run that the user has ended, in the place of what that led to; else err.
func interruptionOr(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return cli.Interruption(ctx, "before the controllers had run on all of the recording")
}

// withHints adds advice to the errors of a recording that cannot be compared.
func withHints(err error, recording replay.Recording) error {
	switch missing := (*compare.MissingKindsError)(nil); {
	case errors.As(err, &missing):
		kinds := make([]string, len(missing.Resources))
		for i, gr := range missing.Resources {
			kinds[i] = gr.String()
		}
		all := strings.Join(recordedAnd(recording, kinds), ",")
		return cli.WithHint(err, "record them too: `kubectl reconcile record "+all+" -o FILE`")
	case errors.As(err, new(*compare.UncomparableError)):
		return cli.WithHint(err, "`run --record` and `sandbox --record` record who wrote what, and an audit log "+
			"that is given beside FILE says it; without that these can be compared: "+cli.Enumerate(comparedNames()))
	case errors.Is(err, compare.ErrNoEvents):
		return cli.WithHint(err, "`kubectl reconcile replay FILE --summary` shows what was recorded")
	}
	return err
}

// recordedAnd returns the kinds that were recorded, and more.
func recordedAnd(recording replay.Recording, more []string) []string {
	info, err := recording.Info()
	if err != nil {
		return more
	}
	var out []string
	for i := range info.Streams {
		out = cli.AppendUnique(out, info.Streams[i].GroupResource().String())
	}
	for _, kind := range more {
		out = cli.AppendUnique(out, kind)
	}
	return out
}

// comparedNames returns the controllers whose writes are told from those of others without a trace.
func comparedNames() []string {
	var names []string
	for _, c := range controllers.All() {
		if c.Runs() {
			names = append(names, c.Short)
		}
	}
	return compare.Compared(names)
}
