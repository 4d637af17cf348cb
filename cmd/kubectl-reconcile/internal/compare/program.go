package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/serve"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/redact"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/compare"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
)

// ProgramFlags are the flags of `replay --serve -- COMMAND` that choose what is compared.
type ProgramFlags struct {
	managers          []string
	accept            bool
	startup, patience time.Duration
	ignore            []string
}

// AddTo adds the flags to a command.
func (f *ProgramFlags) AddTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.managers, "manager", nil,
		"with --serve -- COMMAND, the field managers as which the controller wrote that was recorded; by default the "+
			"name of COMMAND's file")
	flags.BoolVar(&f.accept, "accept", false,
		"with --serve -- COMMAND, write what COMMAND does to the recording, in the place of what was recorded of it")
	flags.StringArrayVar(&f.ignore, "ignore", nil,
		"with --serve -- COMMAND, the `TYPE:PATH` of a field that is not compared, as it is random, such as "+
			"secrets:data.password; PATH alone is in all types; may be repeated")
	flags.DurationVar(&f.startup, "startup", time.Minute,
		"with --serve -- COMMAND, how long COMMAND may take until it watches something")
	flags.DurationVar(&f.patience, "patience", 10*time.Second,
		"with --serve -- COMMAND, how long to wait for a write that was recorded, beside the time that it took then")
}

// Accepts reports whether the recording is to be written.
func (f *ProgramFlags) Accepts() bool { return f.accept }

// ProgramView is how the program is run, and how the result is printed.
type ProgramView struct {
	View
	// Command is the program with its arguments.
	Command []string
	// Serve has the flags of the server.
	Serve *serve.Flags
	// File is the recording, which is written with --accept.
	File string
}

// Run compares what a program writes with the recording, and prints what came out. The error is cli.ErrSilentExit if
// something differs.
func (f *ProgramFlags) Run(
	ctx context.Context, streams genericiooptions.IOStreams, recording replay.Recording, view ProgramView,
) error {
	if err := cli.CheckOutput(view.Output, Outputs(), "text"); err != nil {
		return err
	}
	if f.startup <= 0 || f.patience <= 0 {
		return errors.New("--startup and --patience must be above 0")
	}
	if err := cli.SetUpKlog(render.Quiet); err != nil {
		return err
	}
	ignored, err := f.ignored()
	if err != nil {
		return err
	}
	managers := f.managers
	if len(managers) == 0 {
		managers = []string{filepath.Base(view.Command[0])}
	}
	log := &tail{}
	printed := streams
	printed.Out, printed.ErrOut = log, log
	if view.Verbose {
		printed.Out, printed.ErrOut = streams.ErrOut, streams.ErrOut // stdout is for the result
	}
	program := compare.Program{
		Name: filepath.Base(view.Command[0]), Writers: managers,
		Run: func(ctx context.Context, server *playback.Server, token string) error {
			return view.Serve.RunCommand(ctx, printed, server, token, view.Command)
		},
	}
	o := compare.ProgramOptions{
		From: view.At, Listen: view.Serve.Address(), Startup: f.startup, Patience: f.patience,
		Ignore: ignored,
	}
	command := strings.Join(view.Command, " ")
	if f.accept {
		progress, _ := cli.WithProgress(streams, true)
		end := progress.Show(ctx, cli.ProgressText("running %s on the recording, to accept what it does", command))
		accepted, err := compare.Accept(ctx, recording, program, o)
		end()
		if err != nil {
			return interruptionOr(ctx, programError(err, log, streams.ErrOut))
		}
		if recording, err = view.accept(streams, recording, accepted); err != nil {
			return err
		}
	}
	progress := cli.ProgressText("running %s on the recording", command)
	result, again, err := runTwice(ctx, streams, progress, func() (*compare.Result, error) {
		return compare.RunProgram(ctx, recording, program, o)
	})
	if err != nil {
		return interruptionOr(ctx, programError(err, log, streams.ErrOut))
	}
	return view.print(streams, result, again)
}

// ignored returns the rules of --ignore.
func (f *ProgramFlags) ignored() ([]redact.Rule, error) {
	var out []redact.Rule
	for _, text := range f.ignore {
		qualified := text
		if !strings.Contains(text, ":") {
			qualified = "*:" + text
		}
		rule, err := redact.ParseRule(qualified)
		if err == nil && strings.HasPrefix(text, "/") {
			err = errors.New("a pattern names no field")
		}
		if err != nil {
			return nil, cli.WithHint(fmt.Errorf("--ignore %q: %w", text, err),
				`for example secrets:data.password, or "deployments:metadata.annotations['example.com/started']"`)
		}
		out = append(out, rule)
	}
	return out, nil
}

// accept writes the recording with what was accepted, and returns the new one, which the caller need not close. If
// there is nothing to change it is the old one.
func (v *ProgramView) accept(
	streams genericiooptions.IOStreams, recording replay.Recording, accepted *compare.Accepted,
) (replay.Recording, error) {
	if accepted.IsEmpty() {
		_, err := fmt.Fprintf(streams.ErrOut, "%s: nothing to accept\n", v.File)
		return recording, err
	}
	data, err := encode(recording, accepted)
	if err == nil {
		err = serving.WritePrivate(v.File, data)
	}
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", v.File, err)
	}
	if _, err := fmt.Fprintf(streams.ErrOut, "%s: %d changed, %d added, %d removed\n", v.File, accepted.Changed,
		accepted.Added, accepted.Removed); err != nil {
		return nil, err
	}
	return replay.Open(bytes.NewReader(data), int64(len(data)), replay.ReaderOptions{})
}

// encode returns the file of a recording with what was accepted.
func encode(recording replay.Recording, accepted *compare.Accepted) ([]byte, error) {
	var out bytes.Buffer
	w, err := replay.NewWriter(&out, recording.Header(), replay.WriterOptions{})
	if err != nil {
		return nil, err
	}
	if err := accepted.Write(recording, w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// programError adds advice to the error of a program that could not be compared, and prints what it printed last.
func programError(err error, log *tail, errOut io.Writer) error {
	none := (*compare.NoWritesError)(nil)
	switch {
	case errors.As(err, &none):
		err := fmt.Errorf("the recording has no write of field manager %s", strings.Join(none.Writers, ", "))
		return cli.WithHint(err, noWritesHint(none))
	case errors.As(err, new(*compare.ProgramError)), errors.Is(err, compare.ErrNotStarted):
		if text := log.text(); text != "" {
			_, writeErr := fmt.Fprintf(errOut, "the last that it printed:\n%s\n", text)
			return errors.Join(err, writeErr)
		}
	}
	return err
}

// maxWriters bounds the writers that are named.
const maxWriters = 6

func noWritesHint(none *compare.NoWritesError) string {
	if len(none.Others) == 0 {
		return "it names no one who wrote; --no-compare runs the command without comparing"
	}
	var names []string
	for i, one := range none.Others {
		if i == maxWriters {
			names = append(names, fmt.Sprintf("%d more", len(none.Others)-i))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", one.Writer, cli.Plural(one.Writes, "write")))
	}
	return "--manager names the controller that was recorded: it has " + cli.Enumerate(names) +
		"; --no-compare runs the command without comparing"
}

// tail keeps the end of what is written to it. Its methods may be called concurrently.
type tail struct {
	mu   sync.Mutex
	data []byte
}

var _ io.Writer = (*tail)(nil)

// The last lines of a program that are shown, and the bytes that are kept for that.
const (
	tailLines = 10
	tailBytes = 16 << 10
)

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - tailBytes; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// text returns the last lines, escaped; empty if there are none.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.data), []byte("\n"))
	lines = lines[max(len(lines)-tailLines, 0):]
	var out []string
	for _, line := range lines {
		if len(line) > 0 {
			out = append(out, "  "+render.Escape(string(line)))
		}
	}
	return strings.Join(out, "\n")
}
