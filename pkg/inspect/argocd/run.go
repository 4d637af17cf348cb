package argocd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Sizes of the virtual machine: frames of functions, and values on its stack.
const (
	maxFrames    = 100
	initialStack = 256
	maxStack     = 16 << 10
	stackGrowth  = 256
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
