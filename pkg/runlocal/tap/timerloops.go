package tap

import (
	"context"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TimerLoops returns a context for the Run of a controller that does work by timer, without a queue: what one turn of a loop of
// apimachinery's wait.UntilWithContext does becomes a reconcile, with an empty key. It begins with the first request or
// line that is told, and so a turn without any is not told. A turn in which an error is logged fails; a line at the level
// of errors, without one, is none.
//
// It works by the loop's looking at its context before and after each turn, on the goroutine that does the work. A loop
// that waits for keys of an observed queue is a worker's, and makes no turns.
func (c *Controller) TimerLoops(ctx context.Context) context.Context {
	if !c.tap.on() {
		return ctx
	}
	return &turning{ctx, c}
}

// turning is the context of Turns.
type turning struct {
	context.Context
	c *Controller
}

// Done implements context.Context.
func (t *turning) Done() <-chan struct{} {
	if inLoop() {
		t.c.turn(t.Err() == nil)
	}
	return t.Context.Done()
}

// loop is the function of apimachinery to which all its loops of turns come down.
const loop = "k8s.io/apimachinery/pkg/util/wait.BackoffUntilWithContext"

// inLoop reports whether the loop called the caller.
func inLoop() bool {
	var pcs [1]uintptr
	if runtime.Callers(3, pcs[:]) == 0 {
		return false
	}
	f, _ := runtime.CallersFrames(pcs[:]).Next()
	return f.Function == loop
}

// turn is one that is under way.
type turn struct {
	c      *Controller
	began  time.Time
	labels labelled

	mu        sync.Mutex // guards the rest
	reconcile *reconcile // nil until something is told
	over      bool       // nothing is told any more
}

var turnLabels = pprof.Labels("kubectl-reconcile", "turn")

// turn ends the turn of the calling goroutine, or begins one if there is none and goesOn.
func (c *Controller) turn(goesOn bool) {
	if t := current().turn; t != nil {
		t.labels.leave()
		t.end()
		return
	}
	if goesOn {
		t := &turn{c: c, began: c.tap.clock.Now()}
		t.labels = (&scope{controller: c, turn: t}).enter(turnLabels)
	}
}

// tell returns the reconcile of the turn, which it begins; nil after the end.
func (t *turn) tell() *reconcile {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.reconcile != nil {
		return t.reconcile
	}
	rec := t.c.tap.rec
	t.reconcile = &reconcile{c: t.c, id: rec.NextReconcile(), start: t.began, turn: true}
	t.c.held.Add(1)
	rec.Emit(t.c.name, t.reconcile.id, "", &trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer}}})
	return t.reconcile
}

// told is the reconcile of the turn if it has begun, nil otherwise.
func (t *turn) told() *reconcile {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reconcile
}

// end ends the turn. It may be called more than once.
func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.reconcile; r != nil {
		r.failIfReported()
		end, _ := r.end(t.c.tap.clock.Now(), false)
		t.c.tap.rec.Emit(t.c.name, r.id, "", end)
		t.c.held.Add(-1)
	}
	t.reconcile, t.over = nil, true
}

// working is the reconcile that what the goroutine does is told of; nil if there is none. That of a turn begins with it.
func (s *scope) working() *reconcile {
	if s.reconcile == nil && s.turn != nil {
		return s.turn.tell()
	}
	return s.reconcile
}
