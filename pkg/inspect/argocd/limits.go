package argocd

import (
	"context"
	"errors"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// limits bound a run of a check.
type limits struct {
	values int           // in the object: maps, lists, texts, numbers
	depth  int           // of maps and lists in one another
	steps  int           // instructions, and values or bytes that library functions process
	bytes  int           // of the texts that are created
	time   time.Duration // wall clock, in case the others do not end the run
}

// defaultLimits are the limits of Health. The checks that Argo CD ships need less than a thousandth of the steps on
// the objects that it tests them with. The number of steps ends a run at the same point on every computer; the time
// is so long that it is reached first only if the process hardly gets any CPU.
var defaultLimits = limits{values: 100_000, depth: 100, steps: 1_000_000, bytes: 1 << 20, time: 5 * time.Second}

// The errors of a run that exceeds one of the limits.
var (
	errTooLarge    = errors.New("the object is too large for the check")
	errTooLong     = errors.New("the check exceeded its limit of steps or time")
	errTooMuchText = errors.New("the check created too much text")
)

// budget is what remains of the limits of a run. It is the context of the virtual machine, which calls Done before
// each instruction. It must not be used concurrently.
type budget struct {
	steps, bytes int
	deadline     time.Time
	done         chan struct{}
	err          error // once done is closed
}

var _ context.Context = (*budget)(nil)

// newBudget returns the budget of a run that starts now.
func newBudget(l limits) *budget {
	return &budget{steps: l.steps, bytes: l.bytes, deadline: time.Now().Add(l.time), done: make(chan struct{})}
}

// Done implements context.Context. Each call spends a step.
func (b *budget) Done() <-chan struct{} {
	const often = 1024 // steps between two readings of the clock
	b.steps--
	if b.steps < 0 || b.steps%often == 0 && time.Now().After(b.deadline) {
		b.exhaust(errTooLong)
	}
	return b.done
}

// Err implements context.Context.
func (b *budget) Err() error { return b.err }

// Deadline implements context.Context.
func (b *budget) Deadline() (time.Time, bool) { return b.deadline, true }

// Value implements context.Context; it returns nil.
func (b *budget) Value(any) any { return nil }

// exhaust ends the run with err: the virtual machine stops before its next instruction. Only the first err counts.
func (b *budget) exhaust(err error) {
	if b.err == nil {
		b.err = err
		close(b.done)
	}
}

// spendSteps spends the steps of a library function that processes that many values. It does not return if they
// exceed the budget: RaiseError panics.
func (b *budget) spendSteps(vm *lua.LState, values int) {
	if b.steps -= values; b.steps < 0 {
		b.exhaust(errTooLong)
		vm.RaiseError("%s", errTooLong)
	}
}

// spendBytes spends the bytes of a text before it is created. It does not return if they exceed the budget.
func (b *budget) spendBytes(vm *lua.LState, bytes int) {
	if b.bytes -= bytes; b.bytes < 0 {
		b.exhaust(errTooMuchText)
		vm.RaiseError("%s", errTooMuchText)
	}
}

// explain returns the error of a run: which limit was exceeded, or Lua's error without its stack trace.
func (b *budget) explain(err error) error {
	if b.err != nil {
		return b.err
	}
	var raised *lua.ApiError
	if errors.As(err, &raised) && raised.Object != nil {
		return errors.New(raised.Object.String())
	}
	return err
}
