// Package record is the command `record`: it writes what a cluster's API says about objects of many kinds into a file,
// until it is interrupted. Recording itself is in pkg/replay/recorder, the format in pkg/replay, and redaction in
// pkg/replay/redact.
//
// record.go has flags and options, run.go runs the recording to its end, kinds.go chooses what is recorded, output.go
// writes files, one after the other with --rotate. text.go has the lines that are printed, and notes.go prints them and
// reports what cannot be recorded any more.
package record

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/recordfile"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

const example = `  # Everything that workloads consist of and depend on, in the namespace, until Ctrl-C
  kubectl reconcile record -o incident.rec

  # All namespaces for ten minutes, custom resources included
  kubectl reconcile record -A -o incident.rec --for 10m

  # Some kinds, and one object
  kubectl reconcile record -o web.rec deployments,replicasets,pods configmaps/settings

  # A flight recorder: files of 100 MiB, at most 1 GiB of them
  kubectl reconcile record -A -o flight.rec --rotate 100Mi --max-size 1Gi

  # To another machine, encrypted, with one more thing redacted
  kubectl reconcile record -A -o - --redact 'configmaps:data.password' | age -r RECIPIENT | ssh HOST 'cat >x.rec.age'`

// Flags are the flags of `record`.
type Flags struct {
	cluster       *connect.Flags
	output        string
	allNamespaces bool
	labels        string
	fields        string
	duration      time.Duration
	maxSize       string
	rotate        string
	redact        recordfile.RedactFlags
	force         bool
}

// NewCommand makes the command.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &Flags{cluster: connect.NewFlags()}
	cmd := &cobra.Command{
		Use:   "record -o FILE [TYPE[,TYPE…] | TYPE/NAME | all]…",
		Short: "Record what the API of a cluster says, to look at it later and to run controllers on it again",
		Long: `Record what the API of a cluster says about objects, every version of each as the server sent it, into
a file that ` + "`replay`" + ` shows, searches, serves, and runs controllers on. The cluster is only read.

Without types it records what workloads consist of and depend on, Events, and custom resources with
their definitions; all records every kind that can be listed and watched. It goes on until Ctrl-C,
across restarts of the API server and sleeps of this machine, which are recorded too.

The values of Secrets are replaced by placeholders before they are written.`,
		Example: example,
		RunE:    cli.RunE(streams, f.toOptions),
	}
	f.addTo(cmd)
	return cmd
}

func (f *Flags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "the file to write, which must not exist yet; - is stdout")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "record the objects of all namespaces")
	flags.StringVarP(&f.labels, "selector", "l", "",
		"only objects with these labels; without types, Events and cluster-scoped objects are recorded in any case")
	flags.StringVar(&f.fields, "field-selector", "", "only objects with these fields; each kind has its own")
	flags.DurationVar(&f.duration, "for", 0, "end after this time, such as 10m; 0 is until Ctrl-C")
	flags.StringVar(&f.maxSize, "max-size", "",
		"end when this much is written, such as 500Mi; with --rotate, delete the oldest files instead")
	flags.StringVar(&f.rotate, "rotate", "",
		"go on in another file after this much, such as 100Mi: FILE.1, FILE.2 and so on, each a whole recording")
	f.redact.AddTo(flags, "")
	flags.BoolVar(&f.force, "force", false, "replace the file if it exists")
	f.cluster.AddTo(cmd)
	cmd.ValidArgsFunction = cli.Completion(f.cluster.OfferSelections(everything))
	cli.CompleteFiles(cmd, "output")
}

// Options are what `record` needs to run.
type Options struct {
	connection *connect.Connection
	what       request
	output     outputOptions
	duration   time.Duration // 0 is until it is interrupted
	redaction  recordfile.Redaction
	// given are the flags that chose what to record, for the header.
	given []string

	streams  genericiooptions.IOStreams
	terminal bool // stderr is one
	clock    clock.WithTickerAndDelayedExecution
}

func (f *Flags) toOptions(streams genericiooptions.IOStreams, args []string) (*Options, error) {
	o := &Options{
		duration: f.duration, streams: streams, clock: clock.RealClock{},
		terminal: render.IsTerminal(streams.ErrOut),
	}
	var err error
	if o.output, err = f.outputOptions(streams); err != nil {
		return nil, err
	}
	if o.what, err = f.request(args); err != nil {
		return nil, err
	}
	if f.duration < 0 {
		return nil, fmt.Errorf("--for %s is negative", f.duration)
	}
	if o.redaction, err = f.redact.ToRedaction(); err != nil {
		return nil, err
	}
	if o.connection, err = f.cluster.Connect(streams); err != nil {
		return nil, err
	}
	o.connection.Progress = render.NewPlainProgress(streams.ErrOut, o.clock)
	if o.terminal {
		o.connection.Progress = render.NewProgress(streams.ErrOut, o.clock)
	}
	o.connection.Config.WarningHandler = rest.NoWarnings{} // see recording.run
	if !f.allNamespaces {
		o.what.namespace = o.connection.Namespace
	}
	o.given = f.given(args, &o.redaction)
	return o, nil
}

// outputOptions returns where to write, or an error for flags that make no sense.
func (f *Flags) outputOptions(streams genericiooptions.IOStreams) (outputOptions, error) {
	out := outputOptions{path: f.output, force: f.force}
	var err error
	if out.maxSize, err = size("max-size", f.maxSize); err != nil {
		return out, err
	}
	if out.rotate, err = size("rotate", f.rotate); err != nil {
		return out, err
	}
	switch {
	case f.output == "":
		return out, cli.WithHint(errors.New("record needs -o FILE, the file to write"),
			"for example -o incident.rec; -o - writes to a pipe")
	case f.output == "-" && render.IsTerminal(streams.Out):
		return out, cli.WithHint(errors.New("a recording is no text: it is not written to a terminal"),
			"-o FILE writes a file; -o - is for a pipe, such as to age or ssh")
	case f.output == "-" && out.rotate > 0:
		return out, errors.New("--rotate needs a file: -o - is one stream")
	case f.output == "-":
		out.stdout = streams.Out
	case out.rotate > 0 && out.maxSize > 0 && out.maxSize < 2*out.rotate:
		return out, cli.WithHint(fmt.Errorf("--max-size %s is less than two files of --rotate %s", f.maxSize, f.rotate),
			"with --rotate it is the size of all files, of which the oldest are deleted")
	}
	return out, nil
}

// minSize is the least value of --max-size and --rotate, in bytes.
const minSize = 4 << 10

// size parses a number of bytes; 0 if it is empty.
func size(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, cli.WithHint(fmt.Errorf("--%s %q is no size", flag, text), "for example 500Mi or 2Gi")
	}
	if quantity.Value() < minSize {
		return 0, fmt.Errorf("--%s %s is less than 4Ki", flag, text)
	}
	return quantity.Value(), nil
}

// request returns what is to be recorded, but for its namespace.
func (f *Flags) request(args []string) (request, error) {
	out := request{labels: f.labels, fields: f.fields}
	if _, err := labels.Parse(f.labels); err != nil {
		return out, cli.WithHint(fmt.Errorf("the label selector %q is not valid: %w", f.labels, err),
			"for example app=web,tier!=test or 'app in (a,b)'")
	}
	if _, err := fields.ParseSelector(f.fields); err != nil {
		return out, cli.WithHint(fmt.Errorf("the field selector %q is not valid: %w", f.fields, err),
			"for example metadata.name=web,status.phase!=Running")
	}
	for _, arg := range args {
		for word := range strings.SplitSeq(arg, ",") {
			one, err := parseNamed(word)
			if err != nil {
				return out, err
			}
			out.named = cli.AppendUnique(out.named, one)
		}
	}
	return out, out.validate(f.allNamespaces)
}

// given returns the flags that chose what is recorded, and how, in the order of their names, and then the arguments.
func (f *Flags) given(args []string, redaction *recordfile.Redaction) []string {
	connection := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	connect.NewFlags().Config.AddFlags(connection)
	var out []string
	f.cluster.Cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch {
		case flag.Name == "output" || flag.Name == "color" || flag.Name == "force":
		case flag.Name == "redact":
			out = append(out, redaction.Options()...)
		case flag.Name == "namespace" || connection.Lookup(flag.Name) == nil:
			out = append(out, "--"+flag.Name+"="+flag.Value.String())
		}
	})
	return append(out, args...)
}

// exists reports whether there is anything at a path, a symbolic link to nothing included.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
