package diff

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/moment"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// recorded reports whether the files of --from are read as recordings: if a moment of them is named, or if they are
// some by their content. The streams it returns are to be used from then on: the beginning of stdin was read.
func (f *Flags) recorded(streams genericiooptions.IOStreams) (bool, genericiooptions.IOStreams, error) {
	given := f.at != "" || f.to != ""
	if len(f.from) == 0 && given {
		return false, streams, cli.WithHint(errors.New("--at and --to are moments of a recording: they need --from"),
			"--from FILE names the recording")
	}
	var recordings, others []string
	for _, name := range f.from {
		var is bool
		if name == "-" {
			buffered := bufio.NewReader(streams.In)
			begin, _ := buffered.Peek(recordingBegin) // fewer are no recording
			is, streams.In = replay.IsRecording(begin), buffered
		} else {
			is = beginsRecording(name)
		}
		if is {
			recordings = append(recordings, name)
		} else {
			others = append(others, name)
		}
	}
	if !given && len(recordings) > 0 && len(others) > 0 {
		return false, streams, cli.WithHint(fmt.Errorf("--from names a recording, %s, and other files: %s",
			cli.Enumerate(recordings), cli.Enumerate(others)), "-f FILE names what would be applied")
	}
	return given || len(recordings) > 0, streams, nil
}

// recordingBegin is how many bytes tell whether a file is a recording: see replay.IsRecording.
const recordingBegin = 64

// beginsRecording reports whether a file is a recording; false if it cannot be read, which is said later.
func beginsRecording(name string) bool {
	file, err := os.Open(name) //nolint:gosec // the user names it
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return false // a pipe cannot be read twice
	}
	begin := make([]byte, recordingBegin)
	n, err := io.ReadFull(file, begin)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	return replay.IsRecording(begin[:n])
}

// planOnly are the flags of plans, which a comparison of two moments does not take.
var planOnly = []string{
	"sandbox", "max-objects", "assume", "filename", "kustomize", "recursive", "server-side", "force-conflicts",
	"field-manager", "prune", "prune-allowlist", "until", "steps", "wait", "timeout", "nodes",
}

// validateComparison returns an error for flags that do not fit with --to.
func (f *Flags) validateComparison() error {
	if f.to == "" {
		return nil
	}
	for _, name := range planOnly {
		if f.cluster.Cmd.Flags().Changed(name) {
			return cli.WithHint(fmt.Errorf("--to and --%s exclude each other", name),
				"--to compares what was recorded; without it, --at is the moment that a plan begins with")
		}
	}
	return nil
}

// recordingOptions sets what options of a recording are: with --to the comparison of two moments, else the state that a
// plan begins with.
func (f *Flags) recordingOptions(o *Options) error {
	if f.to == "" {
		o.readFrom = func(ctx context.Context) (objects plan.Objects, err error) {
			objects, o.at, err = readMoment(ctx, o.streams, f.from, f.at)
			return objects, err
		}
		return nil
	}
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return badSelector(f.selector, err)
	}
	from := f.at
	if from == "" {
		from = "start"
	}
	o.shown.status = true
	o.comparison = &comparison{options: o, files: f.from, from: from, to: f.to, selector: selector}
	return nil
}

// badSelector returns the error of -l.
func badSelector(text string, err error) error {
	return cli.WithHint(fmt.Errorf("the label selector %q is not valid: %w", text, err),
		"for example app=web,tier!=test or 'app in (a,b)'")
}

// readMoment returns the objects that a recording has at a moment, and its time, zero if that is not known. What the
// recording does not have is written to stderr.
func readMoment(ctx context.Context, streams genericiooptions.IOStreams, files []string, at string) (
	objects plan.Objects, then time.Time, err error) {
	opened, err := moment.OpenFiles(ctx, streams, files)
	if err != nil {
		return nil, then, err
	}
	defer func() {
		if closed := opened.Close(); closed != nil {
			err = errors.Join(err, closed)
		}
	}()
	m, state, err := opened.At(at)
	if err != nil {
		return nil, then, err
	}
	info, err := opened.Info()
	if err != nil {
		return nil, then, fmt.Errorf("reading %s: %w", opened.Name, err)
	}
	recorded := moment.Objects(state)
	for i := range recorded {
		if seed.NeverRead(recorded[i].Key().Resource) {
			continue
		}
		obj, err := recorded[i].Decode()
		if err != nil {
			return nil, then, err
		}
		objects = append(objects, runlocal.Manifest{Source: opened.Name, Object: obj})
	}
	if len(objects) == 0 {
		return nil, then, fmt.Errorf("%s has no objects at record %d", opened.Name, state.Number)
	}
	fmt.Fprintln(streams.ErrOut, cli.OneLine("as of "+moment.Text(opened.Name, &info, m, state)))
	for _, note := range moment.Notes(&info, m, state) {
		fmt.Fprintln(streams.ErrOut, cli.OneLine(note))
	}
	then, _ = moment.TimeOf(state, m)
	return objects, then, nil
}
