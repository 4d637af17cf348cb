//go:build unix

// Command timed runs a program and tells what it took, as JSON in a file: timed FILE PROGRAM ARGS. The program has its
// standard streams, and timed ends with its exit code.
//
// It is a separate program because it is small: Linux counts as the peak memory of a process what the process that
// started it had, if that is more.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Taken is what the file holds.
type Taken struct {
	Wall time.Duration `json:"wall"` // from start to end, in nanoseconds
	CPU  time.Duration `json:"cpu"`  // of all threads, in user mode and in the kernel, in nanoseconds
	Peak int64         `json:"peak"` // bytes that were resident at most, as Linux counts
}

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(125)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) < 2 {
		return 0, errors.New("a file and a program are needed")
	}
	cmd := exec.Command(args[1], args[2:]...) //nolint:gosec // G204: running it is what this is for
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	began := time.Now()
	err := cmd.Run()
	taken := Taken{Wall: time.Since(began)}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("running %s: %w", args[1], err)
	}
	taken.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		taken.Peak = usage.Maxrss << 10
	}
	data, err := json.Marshal(taken)
	if err != nil {
		return 0, fmt.Errorf("encoding what it took: %w", err)
	}
	err = os.WriteFile(args[0], data, 0o600) //nolint:gosec // G703: where the caller wants it
	return cmd.ProcessState.ExitCode(), err
}
