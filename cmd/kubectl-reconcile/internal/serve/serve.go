package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/input"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

// Flags are the flags of `replay` that serve a recording.
type Flags struct {
	serve, paused, writable bool
	noCompare               bool
	at                      string
	speed                   float64
	listen                  string
	kubeconfigOut           string
	cmd                     *cobra.Command
}

// AddTo adds the flags to a command. It adds --speed and --at only if the command does not have them.
func (f *Flags) AddTo(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.BoolVar(&f.serve, "serve", false,
		"serve the recording to kubectl and other programs, as an API server that has what the cluster had; with "+
			"-- COMMAND ARGS run that controller on it, and compare what it writes with what was recorded")
	if flags.Lookup("at") == nil {
		flags.StringVar(&f.at, "at", "",
			"with --serve, the moment to serve: a time, #n, a resourceVersion, start or end")
	}
	if flags.Lookup("speed") == nil {
		flags.Float64Var(&f.speed, "speed", 1, "with --serve, let time run, so many times faster than it was")
	}
	flags.BoolVar(&f.paused, "paused", false, "with --serve and --speed, begin paused")
	flags.BoolVar(&f.writable, "writable", false,
		"with --serve, let clients write to the copy; the first write ends what is played. All times in objects are "+
			"moved, so that the moment is now")
	flags.BoolVar(&f.noCompare, "no-compare", false,
		"with --serve -- COMMAND, run COMMAND without comparing what it writes")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0",
		"with --serve, the loopback address to serve on; port 0 picks a free one")
	flags.StringVar(&f.kubeconfigOut, "kubeconfig-out", "",
		"with --serve, write the kubeconfig to this file, and leave it there at the end; by default to a temporary one")
	cli.CompleteFiles(cmd, "kubeconfig-out")
}

// Given reports whether the flags ask to serve.
func (f *Flags) Given() bool { return f.serve }

// Compares reports whether what a command writes is compared: not if it is to see time run, or to change a copy.
func (f *Flags) Compares(command []string) bool {
	return f.serve && len(command) > 0 && !f.noCompare && !f.writable && !f.cmd.Flags().Changed("speed")
}

// Address returns the address to serve on.
func (f *Flags) Address() string { return f.listen }

// RunCommand runs a command with a kubeconfig for a server that others have started, as the user of the token.
func (f *Flags) RunCommand(
	ctx context.Context, streams genericiooptions.IOStreams, server *playback.Server, token string, command []string,
) error {
	path, remove, err := f.export(server, token)
	if err == nil {
		err = runCommand(ctx, streams, path, command)
	}
	return errors.Join(err, remove())
}

// Validate returns an error for flags that have no meaning without --serve, or not together.
func (f *Flags) Validate(command []string) error {
	flags := f.cmd.Flags()
	if !f.serve {
		for _, name := range []string{"paused", "writable", "no-compare", "listen", "kubeconfig-out"} {
			if flags.Changed(name) {
				return fmt.Errorf("--%s needs --serve", name)
			}
		}
		if len(command) > 0 {
			return cli.WithHint(errors.New("a command after -- needs --serve"),
				"kubectl reconcile replay FILE --serve -- COMMAND ARGS")
		}
		return nil
	}
	if f.paused && !flags.Changed("speed") {
		return cli.WithHint(errors.New("--paused needs --speed"), "without it time stands still in any case")
	}
	return nil
}

// Run serves a recording until ctx ends, which is no error, or with a command until that has ended, as whose user it
// is served alone.
func (f *Flags) Run(
	ctx context.Context, streams genericiooptions.IOStreams, recording replay.Recording, command []string,
) error {
	if err := f.Validate(command); err != nil {
		return err
	}
	if err := cli.SetUpKlog(render.Quiet); err != nil {
		return err
	}
	o, err := f.toOptions(recording)
	if err != nil {
		return err
	}
	runs := f.cmd.Flags().Changed("speed")
	server, err := playback.Start(ctx, recording, o)
	if err != nil {
		return listenHint(input.MomentError(err))
	}
	if err = describe(streams.ErrOut, server, recording.Header()); err == nil {
		err = f.serveWith(ctx, streams, server, runs, command)
	}
	return errors.Join(err, server.Stop())
}

// toOptions returns the options of the playback.
func (f *Flags) toOptions(recording replay.Recording) (playback.Options, error) {
	info, err := recording.Info()
	if err != nil {
		return playback.Options{}, fmt.Errorf("reading the recording: %w", err)
	}
	flags := f.cmd.Flags()
	at, runs := flags.Lookup("at").Value.String(), flags.Changed("speed")
	if at == "" && runs {
		at = "start"
	}
	moment, err := input.Moment(at, info)
	return playback.Options{
		At: moment, Listen: f.listen, Writable: f.writable, Clock: clock.RealClock{},
		ReadOnly: "this is a recording, served read-only; --writable lets clients write to the copy",
		Users:    []api.RecordedUser{{Name: commandUser, Token: api.NewToken()}},
	}, err
}

// serveWith says how the server is reached, lets time run if asked to, and waits for the end.
func (f *Flags) serveWith(
	ctx context.Context, streams genericiooptions.IOStreams, server *playback.Server, runs bool, command []string,
) error {
	path, remove, err := f.export(server, server.Token(commandUser))
	if err != nil {
		return errors.Join(err, remove())
	}
	if runs {
		speed, _ := f.cmd.Flags().GetFloat64("speed") // there is such a flag
		if err := server.SetSpeed(speed); err != nil {
			return errors.Join(err, remove())
		}
		if !f.paused {
			// What is at its end already is served as it is.
			if err := server.Play(); err != nil && !errors.Is(err, playback.ErrEnd) {
				return errors.Join(err, remove())
			}
		}
	}
	if len(command) > 0 {
		return errors.Join(runCommand(ctx, streams, path, command), remove())
	}
	_, err = fmt.Fprintf(streams.Out, "export KUBECONFIG=%s\n", cli.ShellQuoted(path))
	if err == nil {
		wait(ctx, streams, server)
	}
	return errors.Join(err, remove())
}

// export writes the kubeconfig for a token to the path that was asked for, or to a temporary file that the returned
// function removes.
func (f *Flags) export(server *playback.Server, token string) (path string, remove func() error, err error) {
	path, remove = f.kubeconfigOut, func() error { return nil }
	if path == "" {
		dir, err := os.MkdirTemp("", "kubectl-reconcile-")
		if err != nil {
			return "", remove, fmt.Errorf("making a folder for the kubeconfig: %w", err)
		}
		path, remove = filepath.Join(dir, "kubeconfig"), func() error { return os.RemoveAll(dir) }
	}
	o := api.KubeconfigOptions{
		Name: "reconcile-replay", Namespace: server.Namespace(), Token: token,
	}
	if err := server.API().WriteKubeconfigWith(path, o); err != nil {
		return path, remove, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path, remove, fmt.Errorf("naming the kubeconfig %s: %w", path, err)
	}
	return absolute, remove, nil
}

// commandUser is the user of the kubeconfig.
const commandUser = "replay"

// listenHint adds advice to the error of an address that is not of this machine.
func listenHint(err error) error {
	if errors.Is(err, api.ErrRemoteListen) {
		return cli.WithHint(err, "a recording is served on loopback addresses only, such as 127.0.0.1:8443")
	}
	return err
}
