package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// commandGrace is how long a command may take to end after it was asked to.
const commandGrace = 10 * time.Second

// runCommand runs a command with the kubeconfig, until it ends. When ctx ends it is asked to end, as by Ctrl-C. Its
// error is that of a command that could not be started, or did not succeed.
func runCommand(
	ctx context.Context, streams genericiooptions.IOStreams, kubeconfig string, command []string,
) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // G204: what the user asks for
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, streams.Out, streams.ErrOut
	cmd.Cancel = func() error {
		err := cmd.Process.Signal(syscall.SIGTERM)
		if err == nil || errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return cmd.Process.Kill() // Windows has no such signal
	}
	cmd.WaitDelay = commandGrace
	err := cmd.Run()
	var exited *exec.ExitError
	switch {
	case err == nil, ctx.Err() != nil && errors.As(err, &exited):
		return nil // what ends when it is asked to has done what it should
	case errors.As(err, &exited):
		return fmt.Errorf("running %q: %w", command[0], err)
	case errors.Is(err, exec.ErrNotFound):
		return cli.WithHint(fmt.Errorf("starting %q: %w", command[0], err),
			"name it with its path, such as ./my-controller")
	default:
		return fmt.Errorf("starting %q: %w", command[0], err)
	}
}
