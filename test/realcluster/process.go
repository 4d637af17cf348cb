package realcluster

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
)

// process is a program that runs.
type process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	done   chan struct{} // closed when it has ended
	err    error         // once done
	killed atomic.Bool
}

func (p *process) wait() {
	p.err = p.cmd.Wait()
	close(p.done)
}

// kill ends it at once, and returns when it has ended. Nothing that it has to say matters any more.
func (p *process) kill() {
	p.killed.Store(true)
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// interrupt asks it to end.
func (p *process) interrupt() error {
	p.killed.Store(true)
	return p.cmd.Process.Signal(os.Interrupt)
}

// ended says why it has ended by itself, with the last that it printed; nil if it has not.
func (p *process) ended() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.killed.Load() {
		return nil
	}
	return fmt.Errorf("%s has ended (%v); its last lines:\n%s", p.name, p.cmd.ProcessState, p.tail())
}

// mostTail is how many lines of a log are worth showing.
const mostTail = 15

func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-mostTail):], "\n")
}
