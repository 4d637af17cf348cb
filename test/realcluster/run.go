package realcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Run is a `kubectl reconcile run` on a control plane. Its methods may be called concurrently.
type Run struct {
	home    *home
	process *process
	out     string
}

// StartRun builds the plugin and has it run controllers on the control plane, as a user who may do everything, with the
// keys that kube-controller-manager would have. It does not wait until they do: Await does. The process ends by itself,
// by Interrupt, or with the cluster.
func (c *Cluster) StartRun(ctx context.Context, args ...string) (*Run, error) {
	program, err := BuildPlugin(ctx)
	if err != nil {
		return nil, err
	}
	out, err := os.CreateTemp(c.home.dir, "run-*.out")
	if err != nil {
		return nil, fmt.Errorf("making the file of the run's stdout: %w", err)
	}
	defer out.Close() //nolint:errcheck // the process has it
	args = append([]string{"run", "--kubeconfig", c.Kubeconfig()}, args...)
	p, err := c.home.start("kubectl-reconcile", out, program, args...)
	if err != nil {
		return nil, err
	}
	return &Run{c.home, p, out.Name()}, nil
}

// Keys are the flags by which controllers that sign find what to sign with, named as kube-controller-manager's.
func (c *Cluster) Keys() []string {
	dir := c.home.dir
	return []string{
		"--service-account-private-key-file", filepath.Join(dir, "sa.key"),
		"--root-ca-file", filepath.Join(dir, "ca.crt"),
		"--cluster-signing-cert-file", filepath.Join(dir, "ca.crt"),
		"--cluster-signing-key-file", filepath.Join(dir, "ca.key"),
	}
}

// Await returns the first match of a pattern, with its groups, in what the run has printed to stdout.
func (r *Run) Await(ctx context.Context, what string, pattern *regexp.Regexp) ([]string, error) {
	var match []string
	err := r.home.await(ctx, what, func(context.Context) (bool, error) {
		printed, err := r.Output()
		match = pattern.FindStringSubmatch(printed)
		return match != nil, err
	})
	return match, err
}

// AwaitFile returns when a file that the run writes has a match of the pattern.
func (r *Run) AwaitFile(ctx context.Context, path string, pattern *regexp.Regexp) error {
	return r.home.await(ctx, "the run to write "+filepath.Base(path), func(context.Context) (bool, error) {
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return pattern.Match(data), err
	})
}

// Output is what it has printed to stdout.
func (r *Run) Output() (string, error) {
	data, err := os.ReadFile(r.out)
	if err != nil {
		return "", fmt.Errorf("reading what the run printed: %w", err)
	}
	return string(data), nil
}

// Complaints is what it has printed to stderr.
func (r *Run) Complaints() (string, error) {
	data, err := os.ReadFile(r.process.log)
	if err != nil {
		return "", fmt.Errorf("reading what the run complained of: %w", err)
	}
	return string(data), nil
}

// PID is the number of its process.
func (r *Run) PID() int { return r.process.cmd.Process.Pid }

// Ended waits until it has ended by itself, and returns its exit code.
func (r *Run) Ended(ctx context.Context) (int, error) {
	select {
	case <-r.process.done:
		r.process.kill() // it has ended, and that is not to be told
		return r.process.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return -1, fmt.Errorf("waiting for the run to end: %w", ctx.Err())
	}
}

// Interrupt ends it as Ctrl-C does, and returns its exit code when it has ended.
func (r *Run) Interrupt() (int, error) {
	if err := r.process.interrupt(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return -1, fmt.Errorf("interrupting the run: %w", err)
	}
	select {
	case <-r.process.done:
		return r.process.cmd.ProcessState.ExitCode(), nil
	case <-time.After(stopTimeout):
		return -1, fmt.Errorf("the run has not ended %s after an interrupt; its last lines:\n%s",
			stopTimeout, r.process.tail())
	}
}
