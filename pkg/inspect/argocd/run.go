package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Sizes of the virtual machine: frames of functions, and values on its stack.
const (
	maxFrames    = 100
	initialStack = 256
	maxStack     = 16 << 10
	stackGrowth  = 256
)

// The errors of a run that exceeds one of the limits.
var (
	errTooLarge    = errors.New("the object is too large for the check")
	errTooLong     = errors.New("the check exceeded its limit of steps or time")
	errTooMuchText = errors.New("the check created too much text")
)

// run runs a compiled check on the object, in a virtual machine that is used once: creating one takes a few
// microseconds, and no state is carried over to the next object. It starts no goroutine.
func run(check *lua.FunctionProto, object map[string]any, l limits) (health Health, err error) {
	vm := lua.NewState(lua.Options{
		SkipOpenLibs: true, MinimizeStackMemory: true, CallStackSize: maxFrames,
		RegistrySize: initialStack, RegistryMaxSize: maxStack, RegistryGrowStep: stackGrowth,
	})
	b := newBudget(l)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the check panicked: %v", p)
		}
	}()
	c := converter{state: vm, limits: l}
	value, err := c.table(object, 0)
	if err != nil {
		return Health{}, err
	}
	library(vm, b)
	vm.SetGlobal("obj", value)
	vm.SetContext(b)
	vm.Push(vm.NewFunctionFromProto(check))
	if err := vm.PCall(0, 1, nil); err != nil {
		return Health{}, b.explain(err)
	}
	return healthOf(vm.Get(-1))
}

// healthOf converts what a check returned.
func healthOf(returned lua.LValue) (Health, error) {
	table, ok := returned.(*lua.LTable)
	if !ok {
		return Health{}, fmt.Errorf("the check returned a %s, not a table", returned.Type())
	}
	h := Health{Status: stringOf(table.RawGetString("status")), Message: stringOf(table.RawGetString("message"))}
	switch h.Status {
	case Healthy, Progressing, Degraded, Suspended, Missing, Unknown:
		return h, nil
	}
	return Health{}, fmt.Errorf("the check returned the unknown status %q", h.Status)
}

// stringOf returns a text, or a number as text; "" for any other value, nil included.
func stringOf(v lua.LValue) string {
	if !lua.LVCanConvToString(v) {
		return ""
	}
	return strings.ToValidUTF8(lua.LVAsString(v), "�")
}

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

// converter converts an object to Lua tables, as decodeValue of Argo CD's util/lua/lua.go does. The fields of a map
// are added in the order of their names, in which pairs iterates, so that a check returns the same in every run.
type converter struct {
	state  *lua.LState
	limits limits
	values int
}

// table converts a map at a depth, counted from 0 for the object itself.
func (c *converter) table(m map[string]any, depth int) (*lua.LTable, error) {
	t := c.state.CreateTable(0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if depth == 1 && name == "managedFields" {
			continue // of metadata: large, and irrelevant for the health
		}
		v, err := c.value(m[name], depth+1)
		if err != nil {
			return nil, err
		}
		t.RawSetString(name, v)
	}
	return t, nil
}

// list converts a list. The limit is checked before memory for the entries is allocated.
func (c *converter) list(l []any, depth int) (*lua.LTable, error) {
	if c.values+len(l) > c.limits.values {
		return nil, errTooLarge
	}
	t := c.state.CreateTable(len(l), 0)
	for _, entry := range l {
		v, err := c.value(entry, depth+1)
		if err != nil {
			return nil, err
		}
		t.Append(v)
	}
	return t, nil
}

// value converts the types that JSON decoders and typed converters produce. Any other value becomes nil.
func (c *converter) value(v any, depth int) (lua.LValue, error) {
	if c.values++; c.values > c.limits.values || depth > c.limits.depth {
		return nil, errTooLarge
	}
	switch v := v.(type) {
	case map[string]any:
		return c.table(v, depth)
	case []any:
		return c.list(v, depth)
	case string:
		return lua.LString(v), nil
	case json.Number:
		return lua.LString(v), nil
	case bool:
		return lua.LBool(v), nil
	case int64:
		return lua.LNumber(v), nil
	case int32:
		return lua.LNumber(v), nil
	case int:
		return lua.LNumber(v), nil
	case float64:
		return lua.LNumber(v), nil
	}
	return lua.LNil, nil
}
