package argocd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// limits bound a run of a check.
type limits struct {
	values int           // that the object may have: maps, lists, texts, numbers
	depth  int           // of maps and lists in one another
	steps  int           // instructions, and as many values or bytes that a function goes over
	bytes  int           // of the texts that are made
	time   time.Duration // for what the others do not foresee
}

// usual are the limits of Health. The checks that Argo CD ships need less than a thousandth of the steps on the objects
// that it tests them with. The number of steps ends a run at the same point on each machine; the time is so long that
// it is not met before, unless the machine stands still.
var usual = limits{values: 100_000, depth: 100, steps: 1_000_000, bytes: 1 << 20, time: 5 * time.Second}

// Sizes of the virtual machine: frames of functions, and values on its stack.
const (
	mostFrames   = 100
	firstStack   = 256
	mostStack    = 16 << 10
	growsStackBy = 256
)

var (
	errTooLarge = errors.New("the object is too large for it")
	errTooLong  = errors.New("it went on for too long")
	errTooMuch  = errors.New("it made too much text")
)

// run runs a compiled check on the object, in a machine that is made for it and left to the garbage collector: that
// takes a few microseconds, and nothing of one object can stay for the next. No goroutine is started.
func run(check *lua.FunctionProto, object map[string]any, l limits) (health Health, err error) {
	machine := lua.NewState(lua.Options{
		SkipOpenLibs: true, MinimizeStackMemory: true, CallStackSize: mostFrames,
		RegistrySize: firstStack, RegistryMaxSize: mostStack, RegistryGrowStep: growsStackBy,
	})
	spent := newBudget(l)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	given := converter{machine: machine, limits: l}
	value, err := given.table(object, 0)
	if err != nil {
		return Health{}, err
	}
	library(machine, spent)
	machine.SetGlobal("obj", value)
	machine.SetContext(spent)
	machine.Push(machine.NewFunctionFromProto(check))
	if err := machine.PCall(0, 1, nil); err != nil {
		return Health{}, spent.explain(err)
	}
	return healthOf(machine.Get(-1))
}

// healthOf reads what a check returned.
func healthOf(returned lua.LValue) (Health, error) {
	table, ok := returned.(*lua.LTable)
	if !ok {
		return Health{}, fmt.Errorf("it returned a %s, not a table", returned.Type())
	}
	h := Health{Status: textOf(table.RawGetString("status")), Message: textOf(table.RawGetString("message"))}
	switch h.Status {
	case Healthy, Progressing, Degraded, Suspended, Missing, Unknown:
		return h, nil
	}
	return Health{}, fmt.Errorf("it returned the status %q", h.Status)
}

// textOf is a text, or a number as text; what else a check returns, nil included, is an empty one.
func textOf(v lua.LValue) string {
	if !lua.LVCanConvToString(v) {
		return ""
	}
	return strings.ToValidUTF8(lua.LVAsString(v), "�")
}

// budget is what a run may still spend. It is the context of the machine, which asks Done before each instruction. It
// is used by one goroutine.
type budget struct {
	steps, bytes int
	deadline     time.Time
	done         chan struct{}
	err          error // once done is closed
}

var _ context.Context = (*budget)(nil)

func newBudget(l limits) *budget {
	return &budget{steps: l.steps, bytes: l.bytes, deadline: time.Now().Add(l.time), done: make(chan struct{})}
}

// Done implements context.Context. Each call is a step.
func (b *budget) Done() <-chan struct{} {
	const often = 1024 // steps between two looks at the clock
	b.steps--
	if b.steps < 0 || b.steps%often == 0 && time.Now().After(b.deadline) {
		b.end(errTooLong)
	}
	return b.done
}

// Err implements context.Context.
func (b *budget) Err() error { return b.err }

// Deadline implements context.Context.
func (b *budget) Deadline() (time.Time, bool) { return b.deadline, true }

// Value implements context.Context: there are none.
func (b *budget) Value(any) any { return nil }

func (b *budget) end(err error) {
	if b.err == nil {
		b.err = err
		close(b.done)
	}
}

// walk spends the steps of a function that goes over so many values. The function must not go on if it raises an error.
func (b *budget) walk(machine *lua.LState, values int) {
	if b.steps -= values; b.steps < 0 {
		b.end(errTooLong)
		machine.RaiseError("%s", errTooLong)
	}
}

// make spends the bytes of a text before it is made.
func (b *budget) make(machine *lua.LState, bytes int) {
	if b.bytes -= bytes; b.bytes < 0 {
		b.end(errTooMuch)
		machine.RaiseError("%s", errTooMuch)
	}
}

// explain is the error of a run: that the budget is spent, or what Lua says without its stack.
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
