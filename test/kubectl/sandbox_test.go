package kubectl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// startTimeout is generous: a machine that runs many tests at once takes seconds for what else takes half a one.
	startTimeout = 2 * time.Minute
	// stopTimeout is how long a sandbox may take to end after it is interrupted: then it is killed, which fails the
	// test.
	stopTimeout = 2 * time.Minute
)

// sandbox is a running `kubectl reconcile sandbox`. stop must be called once for each.
type sandbox struct {
	cmd       *exec.Cmd
	interrupt context.CancelFunc
	stdout    *bufio.Reader
	stderr    bytes.Buffer // belongs to cmd until it ended
}

// startSandbox starts `kubectl reconcile sandbox` in dir as a user does, through kubectl, and returns when it serves
// and the kubeconfig is there. It ends when ctx does, if it was not stopped before.
func startSandbox(ctx context.Context, dir string, vars []string, kubectl, kubeconfig string) (*sandbox, error) {
	further, err := furtherArguments(dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	box := &sandbox{interrupt: cancel}
	args := append([]string{"reconcile", "sandbox", "--kubeconfig-out", kubeconfig}, strings.Fields(further)...)
	box.cmd = exec.CommandContext(ctx, kubectl, args...)
	box.cmd.Dir, box.cmd.Env, box.cmd.Stderr = dir, vars, &box.stderr
	box.cmd.Cancel = func() error { return box.cmd.Process.Signal(os.Interrupt) }
	box.cmd.WaitDelay = stopTimeout
	endWithTest(box.cmd)
	stdout, err := box.cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("reading what the sandbox prints: %w", err)
	}
	box.stdout = bufio.NewReader(stdout)
	if err := box.cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	return box, box.waitUntilReady(kubeconfig)
}

// waitUntilReady waits for the line that a sandbox prints when it serves. If none comes, the sandbox is stopped.
func (s *sandbox) waitUntilReady(kubeconfig string) error {
	late := time.AfterFunc(startTimeout, s.interrupt)
	defer late.Stop()
	line, err := s.stdout.ReadString('\n')
	if err == nil && line == "export KUBECONFIG="+kubeconfig+"\n" {
		return nil
	}
	log, stopErr := s.stop()
	return fmt.Errorf("waiting for the export line, got %q: %w\n%s", line, errors.Join(err, stopErr), log)
}

// stop interrupts the sandbox, waits for its end and returns what it wrote to stderr. It is an error if the sandbox had
// to be killed, exits with anything but 0, or wrote to stdout after the export line.
func (s *sandbox) stop() (string, error) {
	s.interrupt()
	rest, readErr := io.ReadAll(s.stdout)
	err := s.cmd.Wait()
	if errors.Is(err, context.Canceled) { // what Wait says of a clean end after an interrupt
		err = nil
	}
	if code := s.cmd.ProcessState.ExitCode(); err == nil && code != 0 {
		err = fmt.Errorf("ending the sandbox: exit code %d", code)
	}
	if len(rest) > 0 {
		err = errors.Join(err, fmt.Errorf("reading stdout of the sandbox: %q after the export line", rest))
	}
	return s.stderr.String(), errors.Join(err, readErr)
}
