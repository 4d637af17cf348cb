package record

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/recorder"
)

// notes writes lines to stderr. Its methods may be called concurrently.
type notes struct {
	mu  sync.Mutex // guards all below
	out io.Writer
	// begun reports whether troubles are written: those of the start are in one line.
	begun bool
	// away are the kinds for which the server does not answer.
	away map[string]bool
}

func newNotes(out io.Writer) *notes { return &notes{out: out, away: map[string]bool{}} }

// line writes a line, safe for a terminal.
func (n *notes) line(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.write(format, args...)
}

func (n *notes) write(format string, args ...any) {
	_, _ = fmt.Fprintln(n.out, cli.Wrap(n.out, render.Escape(fmt.Sprintf(format, args...))))
}

// begin makes troubles be written from now on.
func (n *notes) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.begun = true
}

// trouble writes that something cannot be recorded any more, or can be again: for a server that is away once.
func (n *notes) trouble(t recorder.Trouble) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := t.Resource + "." + t.Group + "/" + t.Namespace
	wasAway := len(n.away)
	isAway := t.Reason == cluster.ReasonUnavailable || t.Reason == cluster.ReasonTimeout
	delete(n.away, name)
	if isAway {
		n.away[name] = true
	}
	shown := strings.TrimSuffix(t.Resource+"."+t.Group, ".")
	switch {
	case !n.begun:
	case isAway && wasAway == 0:
		n.write("warning: the server does not answer: %s; retrying", t.Message)
	case isAway:
	case t.Reason == "" && wasAway > 0 && len(n.away) == 0:
		n.write("the server answers again")
	case t.Reason == "" && wasAway > 0:
	case t.Reason == "":
		n.write("%s can be recorded again", shown)
	case t.Ended:
		n.write("warning: %s cannot be recorded: %s", shown, t.Message)
	default:
		n.write("warning: %s cannot be recorded any more: %s; retrying", shown, t.Message)
	}
}
