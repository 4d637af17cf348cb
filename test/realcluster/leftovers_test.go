package realcluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestNothingIsLeft ends processes that have a home, a cluster or a sandbox in ways that let them do nothing about it.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	tests := []struct {
		what, end, reason string
		signal            syscall.Signal
	}{
		{what: "home", signal: syscall.SIGKILL, reason: "as a machine short of memory does it"},
		{what: "home", signal: syscall.SIGINT, reason: "as Ctrl-C does it"},
		{what: "home", signal: syscall.SIGTERM, reason: "as a supervisor does it"},
		{what: "home", end: "panic", reason: "a test that panics"},
		{what: "home", end: "return", reason: "a test that forgets to stop it"},
		{what: "sandbox", signal: syscall.SIGKILL, reason: "the plugin would end by itself, but cannot know"},
		{what: "cluster", signal: syscall.SIGKILL, reason: "all programs, and the port of the API"},
	}
	for _, tt := range tests {
		t.Run(tt.what+"/"+tt.end+tt.signal.String(), func(t *testing.T) {
			t.Parallel()
			victim, stdin, made := startVictim(t, tt.what)
			for name, pid := range made.Processes {
				if !runs(pid) {
					t.Fatalf("%s does not run at the beginning", name)
				}
			}
			if tt.end != "" {
				if _, err := fmt.Fprintln(stdin, tt.end); err != nil {
					t.Fatal(err)
				}
			} else if err := victim.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			_ = victim.Wait()
			gone(t, made)
		})
	}
}

// startVictim runs this test binary again and reads what it has made.
func startVictim(t *testing.T, what string) (*exec.Cmd, io.Writer, left) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimVariable+"="+what)
	cmd.Stderr = io.Discard // a panic is as long as it is wanted
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the victim did not say what it has made: %v", errors.Join(err, cmd.Wait()))
	}
	var made left
	if err := json.Unmarshal(line, &made); err != nil {
		t.Fatal(err)
	}
	return cmd, stdin, made
}

// gone waits until nothing of it is there.
func gone(t *testing.T, made left) {
	t.Helper()
	for name, pid := range made.Processes {
		eventually(t, name+" to end", func() bool { return !runs(pid) })
	}
	eventually(t, "the folder "+made.Dir+" to go", func() bool {
		_, err := os.Stat(made.Dir)
		return errors.Is(err, os.ErrNotExist)
	})
	if made.Address == "" {
		return
	}
	eventually(t, "the port to be free", func() bool {
		listener, err := net.Listen("tcp", made.Address)
		return err == nil && listener.Close() == nil
	})
}

// runs reports whether there is such a process. One that has ended and that no process waits for does not run.
func runs(pid int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		return syscall.Kill(pid, 0) == nil && !hasProc()
	}
	var number int
	var name, letter string
	_, scanErr := fmt.Sscanf(string(state), "%d %s %s", &number, &name, &letter)
	return err == nil && scanErr == nil && letter != "Z"
}

func hasProc() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(startTimeout); !ask(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited %s for %s", startTimeout, what)
		}
	}
}
