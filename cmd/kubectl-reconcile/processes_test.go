package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience bounds how long a script waits for what must come: a machine that runs many tests at once is slow.
const patience = 2 * time.Minute

// process is a program that a script started and does not wait for.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has, and its output is complete
	// delayed reports whether the kubeconfig that it has written was changed by delayAnswers.
	delayed bool
}

// processes are those of a script, by the names that it gave them.
type processes map[string]*process

type processesKey struct{}

// killAll ends what the script has left running, and waits for it.
func (p processes) killAll() {
	for _, one := range p {
		_ = one.cmd.Process.Kill() // one that has ended cannot be killed
		<-one.ended
	}
}

func processNamed(ts *testscript.TestScript, name string) *process {
	p := ts.Value(processesKey{}).(processes)[name]
	if p == nil {
		ts.Fatalf("no process %q was started", name)
	}
	return p
}

// start is `start NAME STDOUT PROGRAM ARGUMENT...`: it runs the program with stderr in the file NAME.err. STDOUT is a
// file, or "closed" for a pipe whose reading end is closed, or "stalled" for one that is full, and whose reader has
// fallen asleep.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: start NAME STDOUT PROGRAM [ARGUMENT...]")
	}
	name := args[0]
	program, err := exec.LookPath(args[2])
	ts.Check(err)
	cmd := exec.Command(program, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "TMPDIR="+ts.Getenv("TMPDIR"))
	stdout := openStdout(ts, args[1])
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ts.Check(cmd.Start())
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	ts.Value(processesKey{}).(processes)[name] = p
}

// openStdout opens what start calls STDOUT, to be written to.
func openStdout(ts *testscript.TestScript, name string) *os.File {
	if name != "closed" && name != "stalled" {
		file, err := os.OpenFile(ts.MkAbs(name), os.O_CREATE|os.O_WRONLY, 0o600)
		ts.Check(err)
		return file
	}
	reader, writer, err := os.Pipe()
	ts.Check(err)
	if name == "closed" {
		ts.Check(reader.Close())
		return writer
	}
	ts.Defer(func() { _ = reader.Close() })
	for n := 0; n == 0; { // a deadline may be over before anything was written
		ts.Check(writer.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)))
		n, err = writer.Write(make([]byte, 4<<20))
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			ts.Fatalf("filling the pipe: %v", err)
		}
	}
	return writer
}

// interrupt is `interrupt NAME`: Ctrl-C for a process. `interrupt -again NAME` presses it until the process has ended.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	again := len(args) == 2 && args[0] == "-again"
	if neg || len(args) != 1 && !again {
		ts.Fatalf("usage: interrupt [-again] NAME")
	}
	p := processNamed(ts, args[len(args)-1])
	ts.Check(p.cmd.Process.Signal(os.Interrupt))
	if !again {
		return
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for late := time.After(patience); ; {
		select {
		case <-p.ended:
			return
		case <-late:
			ts.Fatalf("%s still runs", args[1])
		case <-ticker.C:
			_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended just then
		}
	}
}

// ends is `ends NAME CODE[|CODE…]`: the process ends by itself, with one of these exit codes (-1: by a signal).
func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ends NAME CODE[|CODE…]")
	}
	p := processNamed(ts, args[0])
	select {
	case <-p.ended:
	case <-time.After(patience):
		ts.Fatalf("%s still runs %s later", args[0], patience)
	}
	if got := p.cmd.ProcessState.ExitCode(); !slices.Contains(strings.Split(args[1], "|"), strconv.Itoa(got)) {
		ts.Fatalf("%s ended with %d, not %s: %s\n%s", args[0], got, args[1], p.cmd.ProcessState, ts.ReadFile(args[0]+".err"))
	}
}

// await is `await FILE PATTERN`: it waits until the file has a match of the regular expression.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	var text []byte
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-ticker.C {
		text, err = os.ReadFile(ts.MkAbs(args[0]))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			ts.Fatalf("%v", err)
		}
		if pattern.Match(text) {
			delayAnswers(ts)
			return
		}
	}
	ts.Fatalf("%s has no match of %q after %s:\n%s", args[0], args[1], patience, bytes.TrimSpace(text))
}

// mode is `mode FILE OCTAL`: the file, or what the pattern of a file matches, has exactly these permissions.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode FILE OCTAL")
	}
	want, err := strconv.ParseUint(args[1], 8, 32)
	ts.Check(err)
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no file %s", args[0])
	}
	for _, file := range files {
		info, err := os.Stat(file)
		ts.Check(err)
		if info.Mode().Perm() != os.FileMode(want) {
			ts.Fatalf("%s has the mode %04o, not %04o", file, info.Mode().Perm(), want)
		}
	}
}
