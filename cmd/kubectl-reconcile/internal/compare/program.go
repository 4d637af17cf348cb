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

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/serve"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/compare"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

// ProgramFlags are the flags of `replay --serve -- COMMAND` that choose what is compared.
type ProgramFlags struct {
	managers []string
	accept   bool
}

// AddTo adds the flags to a command.
func (f *ProgramFlags) AddTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.managers, "manager", nil,
		"with --serve -- COMMAND, the field managers as which the controller wrote that was recorded; by default the "+
			"name of COMMAND's file")
	flags.BoolVar(&f.accept, "accept", false,
		"with --serve -- COMMAND, write what COMMAND does to the recording, in the place of what was recorded of it")
}

// Names are the names of the flags.
func (f *ProgramFlags) Names() []string { return []string{"manager", "accept"} }

// Accepts reports whether the recording is to be written.
func (f *ProgramFlags) Accepts() bool { return f.accept }

// ProgramView is how the program is run, and how the result is printed.
type ProgramView struct {
	View
	// Command is the program with its arguments.
	Command []string
	// Serve has the flags of the server.
	Serve *serve.Flags
}

// Run compares what a program writes with the recording, and prints what came out. The error is cli.ErrSilentExit if
// something differs.
func (f *ProgramFlags) Run(
	ctx context.Context, streams genericiooptions.IOStreams, recording replay.Recording, view ProgramView,
) error {
	if err := cli.CheckOutput(view.Output, Outputs(), "text"); err != nil {
		return err
	}
	if err := cli.SetUpKlog(render.Quiet); err != nil {
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
	o := compare.ProgramOptions{From: view.At, Listen: view.Serve.Address()}
	result, again, err := runTwice(ctx, streams, strings.Join(view.Command, " "), func() (*compare.Result, error) {
		return compare.RunProgram(ctx, recording, program, o)
	})
	if err != nil {
		return errors.Join(programError(err, log), interruption(ctx))
	}
	return view.print(streams, result, again)
}

// programError adds advice to the error of a program that could not be compared, and what it printed last.
func programError(err error, log *tail) error {
	none := (*compare.NoWritesError)(nil)
	switch {
	case errors.As(err, &none):
		return cli.WithHint(fmt.Errorf("the recording has no write of field manager %s", strings.Join(none.Writers, ", ")),
			noWritesHint(none))
	case errors.As(err, new(*compare.ProgramError)), errors.Is(err, compare.ErrNotStarted):
		if text := log.text(); text != "" {
			return cli.WithHint(err, "it printed last:\n"+text)
		}
		return cli.WithHint(err, "-v shows what it prints")
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
