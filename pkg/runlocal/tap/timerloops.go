package tap

import (
	"context"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TimerLoops returns a context for the Run of a controller that works in loops by timer, without a queue: each
// iteration of a loop of apimachinery's wait.UntilWithContext becomes a reconcile with an empty key. The reconcile
// begins with the first request or log line of the iteration; an iteration without any is not recorded. It fails if an
// error is logged; a line that is logged at the level of errors without an error does not count as one.
//
// The context observes the loop, which calls Done before and after each iteration, on the goroutine that does the work.
// A loop in which a worker takes keys of an observed queue is not a timer loop: its iterations end when Get waits.
func (c *Controller) TimerLoops(ctx context.Context) context.Context {
	if !c.tap.recording() {
		return ctx
	}
	return &timerLoopContext{ctx, c}
}

// timerLoopContext is the context that TimerLoops returns.
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

// timerLoopFunction is the function of apimachinery that all its loops call.
const timerLoopFunction = "k8s.io/apimachinery/pkg/util/wait.BackoffUntilWithContext"

// calledByTimerLoop reports whether the loop called the caller of this function.
func calledByTimerLoop() bool {
	var pcs [1]uintptr
	if runtime.Callers(3, pcs[:]) == 0 {
		return false
	}
	f, _ := runtime.CallersFrames(pcs[:]).Next()
	return f.Function == timerLoopFunction
}

// iteration is one pass of a timer loop. Its goroutine begins and ends it; goroutines that this starts may work in it.
type iteration struct {
	c      *Controller
	began  time.Time
	labels labelChange

	mu        sync.Mutex // guards the rest
	reconcile *reconcile // nil until something is recorded
	over      bool       // nothing more is recorded
}

// timerLoopLabels show the goroutines of timer loops in a profile.
var timerLoopLabels = pprof.Labels("kubectl-reconcile", "timer loop")

// nextIteration ends the iteration of the calling goroutine; if there is none it begins one, unless the loop's context
// has ended.
func (c *Controller) nextIteration(running bool) {
	if t := currentActivity().iteration; t != nil {
		t.labels.end()
		t.end()
		return
	}
	if running {
		t := &iteration{c: c, began: c.tap.clock.Now()}
		t.labels = (&activity{controller: c, iteration: t}).enter(timerLoopLabels)
	}
}

// beginReconcile returns the reconcile of the iteration, and begins it if it has not begun; nil after the end.
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

// begunReconcile returns the reconcile of the iteration if it has begun, nil otherwise.
func (t *iteration) begunReconcile() *reconcile {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reconcile
}

// end ends the iteration and its reconcile. It may be called more than once.
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

// workingReconcile returns the reconcile that the goroutine works for; nil if there is none. In a timer loop it begins
// it.
func (a *activity) workingReconcile() *reconcile {
	if a.reconcile == nil && a.iteration != nil {
		return a.iteration.beginReconcile()
	}
	return a.reconcile
}
