package realcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// home is a folder with processes that live in it. However this process ends, they end and the folder goes: a keeper, a
// separate process, sees the end of a pipe that only this process holds open. Its methods may be called concurrently.
type home struct {
	dir    string
	keeper *exec.Cmd
	toKeep *os.File // what the keeper reads: a line for each process

	mu        sync.Mutex
	processes []*process
	closed    bool
	failed    error // what closing it found
}

// keep reads the numbers of processes until no process can write any more, kills them, waits until they are gone and
// removes the folder. After a line "-", no process is left to be killed.
const keep = `
trap '' INT TERM HUP
pids=
while read -r pid; do
	if [ "$pid" = - ]; then pids=; else pids="$pids $pid"; fi
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
for pid in $pids; do
	tries=0
	while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
done
rm -rf "$1"
`

// tell gives the keeper its own number before it becomes the program, so that there is no moment at which it runs
// unknown.
const tell = `echo $$ >&3 && exec "$0" "$@" 3>&-`

// newHome makes a folder below the folder for temporary files.
func newHome(name string) (*home, error) {
	dir, err := os.MkdirTemp("", name+"-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for %s: %w", name, err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the keeper's pipe: %w", err), os.RemoveAll(dir))
	}
	h := &home{dir: dir, toKeep: write, keeper: exec.Command("sh", "-c", keep, "keeper", dir)}
	h.keeper.Stdin = read
	h.keeper.Dir = "/"
	h.keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends this process must not end its keeper
	err = h.keeper.Start()
	_ = read.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the keeper: %w", err), write.Close(), os.RemoveAll(dir))
	}
	return h, nil
}

// start runs a program in the folder. What it prints goes to the file NAME.log there, its stdout too unless out is
// given.
func (h *home) start(name string, out io.Writer, program string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(h.dir, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("making the log of %s: %w", name, err)
	}
	defer log.Close() //nolint:errcheck // the process has it
	p := &process{name: name, log: log.Name(), done: make(chan struct{})}
	p.cmd = exec.Command("sh", append([]string{"-c", tell, program}, args...)...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = h.dir, log, log
	if out != nil {
		p.cmd.Stdout = out
	}
	p.cmd.ExtraFiles = []*os.File{h.toKeep}
	// Ctrl-C is for this process, which ends them in its own way.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fmt.Errorf("starting %s: stopped", name)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	h.processes = append(h.processes, p)
	go p.wait()
	return p, nil
}

// ended is the error of the first process that has ended by itself.
func (h *home) ended() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.processes {
		if err := p.ended(); err != nil {
			return err
		}
	}
	return nil
}

// numbers are those of the processes, by name.
func (h *home) numbers() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	numbers := map[string]int{}
	for _, p := range h.processes {
		numbers[p.name] = p.cmd.Process.Pid
	}
	return numbers
}

// close ends the processes, the youngest first, and removes the folder. The error is of a process that had ended
// before. Only the first call does anything; the others tell what it found, as it may be the end of a context, where no
// caller gets it.
func (h *home) close() error {
	failed := h.ended()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return h.failed
	}
	h.closed = true
	for _, p := range slices.Backward(h.processes) {
		p.kill()
	}
	_, err := io.WriteString(h.toKeep, "-\n")
	h.failed = errors.Join(failed, err, h.toKeep.Close(), h.keeper.Wait())
	return h.failed
}

// closeWith closes when ctx ends, too.
func (h *home) closeWith(ctx context.Context) {
	context.AfterFunc(ctx, func() { _ = h.close() })
}
