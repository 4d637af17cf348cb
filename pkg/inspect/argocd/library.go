package argocd

import (
	"math"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// mostKey is the highest index at which a check may write to a table: the machine fills it with nil up to there.
const mostKey = 1 << 14

// library gives the machine what checks use of Lua's library. Functions that load code, read files or the clock, start
// coroutines, change how tables behave or catch errors are not there. What goes over many values spends the budget for
// them.
func library(machine *lua.LState, spent *budget) {
	globals := map[string]lua.LGFunction{
		concatName: spent.concat, keyName: key, "tostring": toString, "tonumber": toNumber, "type": typeName,
	}
	for name, f := range globals {
		machine.SetGlobal(name, machine.NewFunction(f))
	}
	next := machine.NewFunction(nextField)
	machine.SetGlobal("next", next)
	machine.SetGlobal("pairs", iterates(machine, next, lua.LNil))
	machine.SetGlobal("ipairs", iterates(machine, machine.NewFunction(nextIndex), lua.LNumber(0)))
	for name, functions := range map[string]map[string]lua.LGFunction{
		"table": {
			"concat": spent.tableConcat, "getn": tableLength, "insert": spent.tableInsert, "sort": spent.tableSort,
		},
		"string": {
			"find": spent.find, "match": spent.match, "format": spent.format, "sub": sub, "len": textLength, "gsub": spent.gsub,
			"lower": spent.mapped(strings.ToLower), "upper": spent.mapped(strings.ToUpper),
		},
		"os":   {"time": unixTime},
		"math": {},
	} {
		module := machine.CreateTable(0, len(functions))
		for name, f := range functions {
			module.RawSetString(name, machine.NewFunction(f))
		}
		switch name {
		case "math":
			module.RawSetString("huge", lua.LNumber(math.Inf(1)))
		case "string": // these are also the methods of texts
			methods := machine.NewTable()
			methods.RawSetString("__index", module)
			machine.SetMetatable(lua.LString(""), methods)
		}
		machine.SetGlobal(name, module)
	}
}

// concat is the operator a..b.
func (b *budget) concat(m *lua.LState) int {
	left, right := m.Get(1), m.Get(2)
	if !lua.LVCanConvToString(left) || !lua.LVCanConvToString(right) {
		m.RaiseError("attempt to concatenate a %s and a %s", left.Type(), right.Type())
	}
	l, r := lua.LVAsString(left), lua.LVAsString(right)
	b.make(m, len(l)+len(r))
	m.Push(lua.LString(l + r))
	return 1
}

// key is the key that a check writes to, if the table need not be filled far up to there.
func key(m *lua.LState) int {
	k := m.Get(1)
	if n, ok := k.(lua.LNumber); ok && n > mostKey {
		m.RaiseError("the key %v is too large", n)
	}
	m.Push(k)
	return 1
}

// iterates is pairs or ipairs, of which the function given is the step.
func iterates(machine *lua.LState, step *lua.LFunction, first lua.LValue) *lua.LFunction {
	return machine.NewFunction(func(m *lua.LState) int {
		t := m.CheckTable(1)
		m.Push(step)
		m.Push(t)
		m.Push(first)
		return 3
	})
}

// nextIndex is the step of ipairs.
func nextIndex(m *lua.LState) int {
	i := m.CheckInt(2) + 1
	v := m.CheckTable(1).RawGetInt(i)
	if v == lua.LNil {
		m.Push(lua.LNil)
		return 1
	}
	m.Push(lua.LNumber(i))
	m.Push(v)
	return 2
}

// nextField is Lua's next, and the step of pairs.
func nextField(m *lua.LState) int {
	k, v := m.CheckTable(1).Next(m.Get(2))
	m.Push(k)
	m.Push(v)
	return 2
}

// toString is Lua's tostring, but that a table or function has no address, which would be another each time.
func toString(m *lua.LState) int {
	v := m.CheckAny(1)
	text := v.Type().String()
	switch v.(type) {
	case lua.LString, lua.LNumber, lua.LBool, *lua.LNilType:
		text = v.String()
	}
	m.Push(lua.LString(text))
	return 1
}

// toNumber is Lua's tonumber, without a base.
func toNumber(m *lua.LState) int {
	result := lua.LNil
	switch v := m.CheckAny(1).(type) {
	case lua.LNumber:
		result = v
	case lua.LString:
		if n, err := strconv.ParseFloat(strings.TrimSpace(string(v)), 64); err == nil {
			result = lua.LNumber(n)
		}
	}
	m.Push(result)
	return 1
}

func typeName(m *lua.LState) int {
	m.Push(lua.LString(m.CheckAny(1).Type().String()))
	return 1
}

// unixTime is os.time of a table, in UTC. Without one it is an error: a check is not to ask the clock, so that the
// health of an object changes only if the object does.
func unixTime(m *lua.LState) int {
	t := m.CheckTable(1)
	field := func(name string, otherwise int) int {
		if v := t.RawGetString(name); v != lua.LNil {
			return int(lua.LVAsNumber(v))
		}
		return otherwise
	}
	when := time.Date(field("year", 1970), time.Month(field("month", 1)), field("day", 1),
		field("hour", 12), field("min", 0), field("sec", 0), 0, time.UTC)
	m.Push(lua.LNumber(when.Unix()))
	return 1
}
