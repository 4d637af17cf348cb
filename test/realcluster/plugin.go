package realcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// SandboxOptions say how `kubectl reconcile sandbox` is run.
type SandboxOptions struct {
	// Args are further arguments, such as --controller.
	Args []string
}

// Sandbox is a `kubectl reconcile sandbox` that runs. Its methods may be called concurrently.
type Sandbox struct {
	home    *home
	process *process
}

// pluginVariable names a file that is the plugin under test, instead of what the checkout makes: a release, for
// instance.
const pluginVariable = "KUBECTL_RECONCILE"

// BuildPlugin builds the plugin of this checkout and returns its file. It does nothing if nothing has changed, or if
// the environment variable KUBECTL_RECONCILE names the file.
func BuildPlugin(ctx context.Context) (string, error) {
	if program := os.Getenv(pluginVariable); program != "" {
		return program, nil
	}
	module, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	checkout := filepath.Join(module, "..", "..")
	program := filepath.Join(checkout, "bin", "test", "kubectl-reconcile")
	unlock, err := lock(filepath.Join(checkout, "bin", "test", ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	_, err = output(ctx, checkout, "go", "build", "-o", program, "./cmd/kubectl-reconcile")
	return program, err
}

// BuildTest builds the tests of a package of the plugin, named by its folder in the checkout, and returns the program
// and that folder, in which it must run. They are not imported: what the plugin depends on is not what this module
// depends on.
func BuildTest(ctx context.Context, pkg string) (program, dir string, err error) {
	module, err := moduleRoot(ctx)
	if err != nil {
		return "", "", err
	}
	checkout := filepath.Join(module, "..", "..")
	program = filepath.Join(checkout, "bin", "test", filepath.Base(pkg)+".test")
	unlock, err := lock(filepath.Join(checkout, "bin", "test", ".lock"))
	if err != nil {
		return "", "", err
	}
	defer unlock()
	_, err = output(ctx, checkout, "go", "test", "-c", "-o", program, "./"+pkg)
	return program, filepath.Join(checkout, pkg), err
}

// StartSandbox builds the plugin, runs its sandbox and returns when it serves. It ends with Stop, with ctx, and however
// this process ends: no process, port or folder stays.
func StartSandbox(ctx context.Context, o SandboxOptions) (*Sandbox, error) {
	program, err := BuildPlugin(ctx)
	if err != nil {
		return nil, err
	}
	home, err := newHome("sandbox")
	if err != nil {
		return nil, err
	}
	home.closeWith(ctx)
	s := &Sandbox{home: home}
	if err := s.start(ctx, program, o.Args); err != nil {
		return nil, errors.Join(home.ended(), err, home.close())
	}
	return s, nil
}

func (s *Sandbox) start(ctx context.Context, program string, args []string) error {
	serving, err := os.Create(filepath.Join(s.home.dir, "serving"))
	if err != nil {
		return fmt.Errorf("making the file of the sandbox's stdout: %w", err)
	}
	defer serving.Close() //nolint:errcheck // the process has it
	args = append([]string{"sandbox", "--kubeconfig-out", s.Kubeconfig(), "--trace-file", s.Trace()}, args...)
	if s.process, err = s.home.start("sandbox", serving, program, args...); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return s.home.await(limited, "the sandbox to serve", func(context.Context) (bool, error) {
		printed, err := os.Stat(serving.Name()) // it prints one line, when it serves
		if err != nil {
			return false, fmt.Errorf("looking at the sandbox's stdout: %w", err)
		}
		return printed.Size() > 0, nil
	})
}

// Stop ends the sandbox and removes its folder. The error reports a sandbox that had ended before or would not end.
func (s *Sandbox) Stop() error { return errors.Join(s.Interrupt(), s.home.close()) }

// stopTimeout is how long a sandbox may take to end when it is asked to.
const stopTimeout = 30 * time.Second

// Interrupt ends the sandbox as Ctrl-C does: then its trace is complete. The folder stays until Stop.
func (s *Sandbox) Interrupt() error {
	if s.process.killed.Load() {
		return nil
	}
	if err := s.process.ended(); err != nil {
		return err
	}
	err := s.process.interrupt()
	if err != nil && !errors.Is(err, os.ErrProcessDone) { // the end of its context may have killed it meanwhile
		return fmt.Errorf("interrupting the sandbox: %w", err)
	}
	select {
	case <-s.process.done:
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("the sandbox has not ended %s after an interrupt; its last lines:\n%s",
			stopTimeout, s.process.tail())
	}
}

// Remarks are what it has printed to stderr: what it has found, among others.
func (s *Sandbox) Remarks() (string, error) {
	data, err := os.ReadFile(s.process.log)
	if err != nil {
		return "", fmt.Errorf("reading the remarks of the sandbox: %w", err)
	}
	return string(data), nil
}

// Config is for a user who may do everything, and is not throttled. The caller owns it.
func (s *Sandbox) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the sandbox's kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// Dir is the sandbox's own folder, removed with it; a test may put its own files there.
func (s *Sandbox) Dir() string { return s.home.dir }

// Kubeconfig is a file for kubectl, of a user who may do everything.
func (s *Sandbox) Kubeconfig() string { return filepath.Join(s.home.dir, "kubeconfig") }

// Trace is the file that the sandbox writes what happens to, as docs/trace.md tells. It grows while the sandbox runs,
// and its last line may be written at this moment.
func (s *Sandbox) Trace() string { return filepath.Join(s.home.dir, "trace.ndjson") }

// Processes are the numbers of the processes that run, by the program's name.
func (s *Sandbox) Processes() map[string]int { return s.home.numbers() }
