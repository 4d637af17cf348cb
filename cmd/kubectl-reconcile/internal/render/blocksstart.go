package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// folded counts what BlocksOptions.Starting folds into one line.
type folded struct{ reconciles, failed, writes int }

// folds reports whether what happened then is part of the start. b.mu must be held.
func (b *Blocks) folds(at time.Time) bool {
	return b.o.Starting != "" && b.brief() && (b.startAt.IsZero() || at.Before(b.startAt))
}

// foldReconcile counts a reconcile that has ended.
func (b *Blocks) foldReconcile(end *trace.End) {
	b.start.reconciles++
	b.start.writes += end.Writes
	if end.Outcome != trace.Done && end.PutOff == "" {
		b.start.failed++
	}
}

// foldLone counts what belongs to no reconcile.
func (b *Blocks) foldLone(e *trace.Event) {
	if r, ok := e.Detail.(*trace.Request); ok && r.IsWrite() && r.Recorded == nil && !r.Failed() {
		b.start.writes++
	}
}

// startLine tells of the start, once it is over; empty if there is nothing to tell.
func (b *Blocks) startLine() string {
	if b.start == (folded{}) || b.startAt.IsZero() {
		return ""
	}
	parts := []string{count(b.start.reconciles, "reconcile")}
	if b.start.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", b.start.failed))
	}
	parts = append(parts, count(b.start.writes, "write"))
	b.start = folded{}
	line := fmt.Sprintf("%s started: %s; -v shows them", b.o.Starting, strings.Join(parts, ", "))
	return "\n" + Wrap(line, b.o.Width, indent) + "\n"
}
