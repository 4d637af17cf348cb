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
	if !c.tap.recording() {
		return ctx
	}
	return &timerLoopContext{ctx, c}
}

// timerLoopContext is the context of Turns.
type timerLoopContext struct {
	context.Context
	c *Controller
}

// Done implements context.Context.
func (t *timerLoopContext) Done() <-chan struct{} {
	if calledByTimerLoop() {
		t.c.nextIteration(t.Err() == nil)
	}
	return t.Context.Done()
}

// timerLoopFunction is the function of apimachinery to which all its loops of turns come down.
const timerLoopFunction = "k8s.io/apimachinery/pkg/util/wait.BackoffUntilWithContext"

// calledByTimerLoop reports whether the loop called the caller.
func calledByTimerLoop() bool {
	var pcs [1]uintptr
	if runtime.Callers(3, pcs[:]) == 0 {
		return false
	}
	f, _ := runtime.CallersFrames(pcs[:]).Next()
	return f.Function == timerLoopFunction
}

// nextIteration is one that is under way.
type iteration struct {
	c      *Controller
	began  time.Time
	labels labelChange

	mu        sync.Mutex // guards the rest
	reconcile *reconcile // nil until something is told
	over      bool       // nothing is told any more
}

var timerLoopLabels = pprof.Labels("kubectl-reconcile", "turn")

// nextIteration ends the turn of the calling goroutine, or begins one if there is none and goesOn.
func (c *Controller) nextIteration(goesOn bool) {
	if t := currentActivity().iteration; t != nil {
		t.labels.end()
		t.end()
		return
	}
	if goesOn {
		t := &iteration{c: c, began: c.tap.clock.Now()}
		t.labels = (&activity{controller: c, iteration: t}).enter(timerLoopLabels)
	}
}

// emit returns the reconcile of the turn, which it begins; nil after the end.
func (t *iteration) beginReconcile() *reconcile {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.reconcile != nil {
		return t.reconcile
	}
	rec := t.c.tap.rec
	t.reconcile = &reconcile{c: t.c, id: rec.NextReconcile(), start: t.began, timerLoop: true}
	t.c.asyncWork.Add(1)
	rec.Emit(t.c.name, t.reconcile.id, "", &trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer}}})
	return t.reconcile
}

// begunReconcile is the reconcile of the turn if it has begun, nil otherwise.
func (t *iteration) begunReconcile() *reconcile {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reconcile
}

// end ends the turn. It may be called more than once.
func (t *iteration) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.reconcile; r != nil {
		r.failIfReported()
		end, _ := r.end(t.c.tap.clock.Now(), false)
		t.c.tap.rec.Emit(t.c.name, r.id, "", end)
		t.c.asyncWork.Add(-1)
	}
	t.reconcile, t.over = nil, true
}

// workingReconcile is the reconcile that what the goroutine does is told of; nil if there is none. That of a turn begins with it.
func (s *activity) workingReconcile() *reconcile {
	if s.reconcile == nil && s.iteration != nil {
		return s.iteration.beginReconcile()
	}
	return s.reconcile
}
