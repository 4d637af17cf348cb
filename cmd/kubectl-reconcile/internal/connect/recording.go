package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Recording is a moment of a recording that takes the place of a cluster.
type Recording struct {
	// Config is how to read what was known at the moment. It is served in this process.
	Config *rest.Config
	// Name is what errors call the recording: its files.
	Name string
	// Moment is the moment in words, without times if there are none.
	Moment string
	// Time is that of the moment: ages are as of then.
	Time time.Time
	// Namespace is the one that a command reads without -n and -A.
	Namespace string
	// Notes are lines about what is not in the recording.
	Notes []string
	// Recorded are the kinds that were recorded, for hints.
	Recorded []string
	// Usual are kinds that a cluster has in any case. Requests for those that were not recorded are answered with
	// cluster.ReasonNotRecorded.
	Usual []cluster.Kind
	// Close ends what serves it. It must be called once.
	Close func() error
}

// RecordingFlags are --from and --at.
type RecordingFlags struct {
	Files []string
	At    string

	open   RecordingOpener
	source RecordingSource // for completion; may be nil
}

// RecordingOpener opens recordings at a moment; - is stdin.
type RecordingOpener func(
	ctx context.Context, streams genericiooptions.IOStreams, files []string, at string,
) (*Recording, error)

// AddRecordingFlags adds --from and --at to the command, which must have the other flags already. With --from, Connect
// calls open, and completion calls source.
func (f *Flags) AddRecordingFlags(cmd *cobra.Command, open RecordingOpener, source RecordingSource) {
	f.Recording.open, f.Recording.source = open, source
	flags := cmd.Flags()
	flags.StringArrayVar(&f.Recording.Files, "from", nil,
		"read this `file` in the place of a cluster: a recording of the command record, or what kubectl has printed; "+
			"- is stdin")
	cli.RefuseEmpty(flags, "from")
	f.Recording.AddAt(flags)
	cli.CompleteFiles(cmd, "from")
	cli.CompleteInOrder(cmd, "at", f.OfferMoments())
}

// CompleteFrom makes completion read recordings for a command that defines --from and --at itself: given returns their
// values.
func (f *Flags) CompleteFrom(given func() (files []string, at string), source RecordingSource) {
	f.completeFrom, f.Recording.source = given, source
}

// AddAt adds --at to flags.
func (f *RecordingFlags) AddAt(flags *pflag.FlagSet) {
	flags.StringVar(&f.At, "at", "",
		"with --from, the `moment` to show: a time, +90s after the beginning, -2m before the end, "+
			"#n for record n, a resourceVersion, start or end; by default end")
}

// Given reports whether a recording takes the place of a cluster.
func (f *RecordingFlags) Given() bool { return len(f.Files) > 0 }

// Args returns the flags as they are to be given to another command, each with a blank before it. The result is empty
// without a recording.
func (f *RecordingFlags) Args() string {
	var out strings.Builder
	for _, file := range f.Files {
		out.WriteString(" --from " + cli.ShellQuoted(file))
	}
	if f.At != "" {
		out.WriteString(" --at " + cli.ShellQuoted(f.At))
	}
	return out.String()
}

// validateRecording returns an error if the flags do not fit with each other, or with those of a cluster.
func (f *Flags) validateRecording() error {
	if !f.Recording.Given() {
		if f.Recording.At != "" {
			return cli.WithHint(errors.New("--at is a moment of a recording: it needs --from"),
				"--from FILE names the recording")
		}
		return nil
	}
	for _, name := range clusterFlags {
		if flag := f.Cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			return cli.WithHint(fmt.Errorf("--from and --%s exclude each other", name),
				"a recording takes the place of a cluster")
		}
	}
	return nil
}

// RefuseWatch returns the error of --watch with a recording, in which nothing changes; nil without a recording or
// without --watch.
func (f *Flags) RefuseWatch(watch bool) error {
	if !watch || !f.Recording.Given() {
		return nil
	}
	return cli.WithHint(errors.New("--from and --watch exclude each other: nothing changes at a moment"),
		fmt.Sprintf("`%s replay %s --follow` shows what changed, one after the other", f.Cmd.Root().DisplayName(),
			shellQuotedAll(f.Recording.Files)))
}

func shellQuotedAll(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = cli.ShellQuoted(word)
	}
	return strings.Join(quoted, " ")
}

// connectRecording is Connect for a recording. What it does not have is written to streams.ErrOut.
func (f *Flags) connectRecording(streams genericiooptions.IOStreams) (*Connection, error) {
	opened, err := f.Recording.open(f.Cmd.Context(), streams, f.Recording.Files, f.Recording.At)
	if err != nil {
		return nil, err
	}
	c := &Connection{
		Config: opened.Config, Program: f.Cmd.Root().DisplayName(), Recording: opened,
		Namespace: *f.Config.Namespace, namespaceGiven: *f.Config.Namespace != "", recordingArgs: f.Recording.Args(),
	}
	c.Namespace = cmp.Or(c.Namespace, opened.Namespace)
	c.Config.UserAgent = "kubectl-reconcile/" + cli.Version()
	c.Config.WarningHandler = rest.NoWarnings{} // what was deprecated then is of no use to know
	c.Config.QPS = -1
	fmt.Fprintln(streams.ErrOut, cli.OneLine(opened.Moment))
	for _, note := range opened.Notes {
		fmt.Fprintln(streams.ErrOut, cli.OneLine(note))
	}
	return c, nil
}

// Close ends what serves a recording; it does nothing for a cluster.
func (c *Connection) Close() error {
	if c == nil || c.Recording == nil {
		return nil
	}
	return c.Recording.Close()
}

// Clock returns the clock by which ages are told: one that stands at the moment of a recording, else the real one.
func (c *Connection) Clock() clock.WithTicker {
	if c.Recording == nil {
		return clock.RealClock{}
	}
	return standingClock{now: c.Recording.Time}
}

// RecordingArgs returns --from and --at as they were given, each with a blank before it; empty for a cluster.
func (c *Connection) RecordingArgs() string { return c.recordingArgs }

// standingClock is a clock that always shows the same time. Timers and tickers are real.
type standingClock struct {
	clock.RealClock
	now time.Time
}

var _ clock.WithTicker = standingClock{}

// Now implements clock.PassiveClock.
func (c standingClock) Now() time.Time { return c.now }

// Since implements clock.PassiveClock.
func (c standingClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// notRecordedError is ForbiddenError for a recording. names are the resources of the targets.
func (c *Connection) notRecordedError(targets []Target, names []string, where string) error {
	if t := targets[0]; len(targets) == 1 && t.Name != "" && slices.Contains(c.Recording.Recorded, names[0]) {
		return cli.WithHint(fmt.Errorf("%s %q%s is not in %s", t.Kind, t.Name, where, c.Recording.Name),
			fmt.Sprintf("it may have existed: not all %s were recorded", names[0]))
	}
	return cli.WithHint(fmt.Errorf("%s%s were not recorded", cli.Enumerate(names), where), c.notRecorded())
}

// notRecorded returns the hint which kinds a recording has.
func (c *Connection) notRecorded() string {
	return "recorded are " + cli.Enumerate(c.Recording.Recorded)
}
