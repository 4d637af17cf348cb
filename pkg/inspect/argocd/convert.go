package argocd

import (
	"encoding/json"
	"maps"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// converter makes tables of Lua of an object, as decodeValue of Argo CD's util/lua/lua.go does. The fields of a map
// come in the order of their names, in which pairs goes over them, so that a check finds the same each time.
type converter struct {
	machine *lua.LState
	limits  limits
	values  int
}

func (c *converter) table(m map[string]any, depth int) (*lua.LTable, error) {
	t := c.machine.CreateTable(0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if depth == 1 && name == "managedFields" {
			continue // of metadata: most of what an object has, and nothing that tells its health
		}
		v, err := c.value(m[name], depth+1)
		if err != nil {
			return nil, err
		}
		t.RawSetString(name, v)
	}
	return t, nil
}

func (c *converter) list(l []any, depth int) (*lua.LTable, error) {
	if c.values+len(l) > c.limits.values {
		return nil, errTooLarge
	}
	t := c.machine.CreateTable(len(l), 0)
	for _, entry := range l {
		v, err := c.value(entry, depth+1)
		if err != nil {
			return nil, err
		}
		t.Append(v)
	}
	return t, nil
}

// value converts what JSON decoders leave, typed converters included. Any other value is nil.
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
