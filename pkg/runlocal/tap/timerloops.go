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
	return &timerLoopContext{Context: ctx, c: c}
}

// HeldTimerLoops is TimerLoops for loops whose iterations, after the first of each, are held as Tap.HoldKeys holds
// keys: those that wait are one held key, which is empty, of a queue with the name LoopQueue. For loops with a short
// period: one that does not wait yet counts as running.
func (c *Controller) HeldTimerLoops(ctx context.Context) context.Context {
	if !c.tap.recording() {
		return ctx
	}
	gate := &loopGate{tap: c.tap, opened: make(chan struct{})}
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.queues = append(c.queues, gate)
	return &timerLoopContext{ctx, c, gate}
}

// timerLoopContext is the context that TimerLoops returns.
type timerLoopContext struct {
	context.Context
	c    *Controller
	gate *loopGate // nil if iterations are not held
}

// Done implements context.Context.
func (t *timerLoopContext) Done() <-chan struct{} {
	if calledByTimerLoop() {
		t.nextIteration()
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
// has ended. The goroutine of a loop that is held keeps the labels of its last iteration until the next.
func (t *timerLoopContext) nextIteration() {
	if last := currentActivity().iteration; last != nil {
		ended := last.end()
		if t.gate == nil || t.Err() != nil {
			last.labels.end()
			return
		}
		if ended {
			return
		}
		t.gate.wait(t.Context)
		last.labels.end()
	}
	if t.Err() == nil {
		one := &iteration{c: t.c, began: t.c.tap.clock.Now()}
		one.labels = (&activity{controller: t.c, iteration: one}).enter(timerLoopLabels)
	}
}

// LoopQueue is the name of the queue of HeldTimerLoops.
const LoopQueue = "timer loops"

// loopGate holds the iterations of a controller's timer loops. It acts as a queue with one key.
type loopGate struct {
	tap *Tap

	mu      sync.Mutex    // guards the rest; no other lock is taken under it
	opened  chan struct{} // closed to let those go on that wait
	waiting int           // loops
	running int           // loops that were let go on, and have not come back
}

var _ observedQueue = (*loopGate)(nil)

// wait returns when the next iteration may begin, or when ctx has ended.
func (g *loopGate) wait(ctx context.Context) {
	g.mu.Lock()
	g.running = max(g.running-1, 0)
	if !g.tap.holding.Load() {
		g.mu.Unlock()
		return
	}
	g.waiting++
	opened := g.opened
	g.mu.Unlock()
	select {
	case <-opened:
	case <-ctx.Done():
	}
}

// state implements observedQueue.
func (g *loopGate) state(time.Time) QueueState {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := QueueState{Queue: LoopQueue, Running: g.running}
	if g.waiting > 0 {
		s.Queued, s.Held = 1, []HeldKey{{}}
	}
	return s
}

// queueName is the name of the queue in the state.
func (*loopGate) queueName() string { return LoopQueue }

// release implements observedQueue.
func (g *loopGate) release(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if key != "" || g.waiting == 0 {
		return false
	}
	close(g.opened)
	g.opened, g.running, g.waiting = make(chan struct{}), g.running+g.waiting, 0
	return true
}

// releaseAll implements observedQueue.
func (g *loopGate) releaseAll() { g.release("") }

// drain implements observedQueue: loops end with their context.
func (*loopGate) drain() {}

// gateOpened implements observedQueue: loops are not gated.
func (*loopGate) gateOpened() {}

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

// end ends the iteration and its reconcile, and reports whether it had not ended. It may be called more than once.
func (t *iteration) end() (ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ended = !t.over
	if r := t.reconcile; r != nil {
		r.failIfReported()
		end, _ := r.end(t.c.tap.clock.Now(), false)
		t.c.tap.rec.Emit(t.c.name, r.id, "", end)
		t.c.asyncWork.Add(-1)
	}
	t.reconcile, t.over = nil, true
	return ended
}

// workingReconcile returns the reconcile that the goroutine works for; nil if there is none. In a timer loop it begins
// it.
func (a *activity) workingReconcile() *reconcile {
	if a.reconcile == nil && a.iteration != nil {
		return a.iteration.beginReconcile()
	}
	return a.reconcile
}
