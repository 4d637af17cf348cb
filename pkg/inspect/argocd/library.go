package argocd

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// maxKey is the highest index at which a check may write to a table: the virtual machine fills the table with nil up
// to there.
const maxKey = 1 << 14

// library registers the functions of Lua's library that checks use. Functions that load code, read files or the
// clock, start coroutines, change how tables behave or catch errors are not registered. Functions whose work depends
// on the size of a value spend the budget for it.
func library(vm *lua.LState, b *budget) {
	globals := map[string]lua.LGFunction{
		concatName: b.concat, keyName: key, "tostring": toString, "tonumber": toNumber, "type": typeName,
	}
	for name, f := range globals {
		vm.SetGlobal(name, vm.NewFunction(f))
	}
	next := vm.NewFunction(nextField)
	vm.SetGlobal("next", next)
	vm.SetGlobal("pairs", iterates(vm, next, lua.LNil))
	vm.SetGlobal("ipairs", iterates(vm, vm.NewFunction(nextIndex), lua.LNumber(0)))
	for name, functions := range map[string]map[string]lua.LGFunction{
		"table": {
			"concat": b.tableConcat, "getn": tableLength, "insert": b.tableInsert, "sort": b.tableSort,
		},
		"string": {
			"find": b.find, "match": b.match, "format": b.format, "sub": sub, "len": textLength, "gsub": b.gsub,
			"lower": b.mapped(strings.ToLower), "upper": b.mapped(strings.ToUpper),
		},
		"os":   {"time": unixTime},
		"math": {},
	} {
		module := vm.CreateTable(0, len(functions))
		for name, f := range functions {
			module.RawSetString(name, vm.NewFunction(f))
		}
		switch name {
		case "math":
			module.RawSetString("huge", lua.LNumber(math.Inf(1)))
		case "string": // these are also the methods of texts
			methods := vm.NewTable()
			methods.RawSetString("__index", module)
			vm.SetMetatable(lua.LString(""), methods)
		}
		vm.SetGlobal(name, module)
	}
}

// concat implements the operator a..b.
func (b *budget) concat(m *lua.LState) int {
	left, right := m.Get(1), m.Get(2)
	if !lua.LVCanConvToString(left) || !lua.LVCanConvToString(right) {
		m.RaiseError("attempt to concatenate a %s and a %s", left.Type(), right.Type())
	}
	l, r := lua.LVAsString(left), lua.LVAsString(right)
	b.spendBytes(m, len(l)+len(r))
	m.Push(lua.LString(l + r))
	return 1
}

// key returns the key that a check writes to, or raises an error if it is above maxKey.
func key(m *lua.LState) int {
	k := m.Get(1)
	if n, ok := k.(lua.LNumber); ok && n > maxKey {
		m.RaiseError("the key %v is too large", n)
	}
	m.Push(k)
	return 1
}

// iterates returns pairs or ipairs, whose iterator is the function step.
func iterates(vm *lua.LState, step *lua.LFunction, first lua.LValue) *lua.LFunction {
	return vm.NewFunction(func(m *lua.LState) int {
		t := m.CheckTable(1)
		m.Push(step)
		m.Push(t)
		m.Push(first)
		return 3
	})
}

// nextIndex is the iterator of ipairs.
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

// nextField is Lua's next, and the iterator of pairs.
func nextField(m *lua.LState) int {
	k, v := m.CheckTable(1).Next(m.Get(2))
	m.Push(k)
	m.Push(v)
	return 2
}

// toString is Lua's tostring, but without the address of a table or function, which would differ in every run.
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

// typeName is Lua's type.
func typeName(m *lua.LState) int {
	m.Push(lua.LString(m.CheckAny(1).Type().String()))
	return 1
}

// unixTime is os.time of a table, in UTC. Without a table it raises an error: a check must not read the clock, so
// that the health of an object changes only if the object does.
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

// tableConcat is Lua's table.concat. It spends a step for each entry and the bytes of the result.
func (b *budget) tableConcat(m *lua.LState) int {
	t, separator := m.CheckTable(1), m.OptString(2, "")
	first, last := max(m.OptInt(3, 1), 1), min(m.OptInt(4, t.Len()), t.Len())
	b.spendSteps(m, max(last-first, 0))
	var text strings.Builder
	for i := first; i <= last; i++ {
		v := t.RawGetInt(i)
		if !lua.LVCanConvToString(v) {
			m.RaiseError("invalid value (%s) at index %d in table for concat", v.Type(), i)
		}
		part := lua.LVAsString(v)
		if i != first {
			part = separator + part
		}
		b.spendBytes(m, len(part))
		text.WriteString(part)
	}
	m.Push(lua.LString(text.String()))
	return 1
}

// tableLength is table.getn, which Lua 5.1 still has.
func tableLength(m *lua.LState) int {
	m.Push(lua.LNumber(m.CheckTable(1).Len()))
	return 1
}

// tableInsert is Lua's table.insert. An insertion before the end spends a step for each entry, as the others are
// moved; an index outside the table is an error, as gopher-lua would fill the table with nil up to there.
func (b *budget) tableInsert(m *lua.LState) int {
	t := m.CheckTable(1)
	if m.GetTop() == 2 {
		t.Append(m.Get(2))
		return 0
	}
	at, n := m.CheckInt(2), t.Len()
	if at < 1 || at > n+1 {
		m.RaiseError("position %d is out of bounds", at)
	}
	b.spendSteps(m, n)
	t.Insert(at, m.CheckAny(3))
	return 0
}

// tableSort sorts a list by the given function, or by Lua's <. The sort is stable.
func (b *budget) tableSort(m *lua.LState) int {
	t := m.CheckTable(1)
	less := m.LessThan
	if m.GetTop() > 1 {
		f := m.CheckFunction(2)
		less = func(x, y lua.LValue) bool {
			m.Push(f)
			m.Push(x)
			m.Push(y)
			m.Call(2, 1)
			defer m.Pop(1)
			return lua.LVAsBool(m.Get(-1))
		}
	}
	n := t.Len()
	b.spendSteps(m, n)
	values := make([]lua.LValue, 0, n)
	for i := 1; i <= n; i++ {
		values = append(values, t.RawGetInt(i))
	}
	slices.SortStableFunc(values, func(x, y lua.LValue) int {
		b.spendSteps(m, 1)
		switch {
		case less(x, y):
			return -1
		case less(y, x):
			return 1
		}
		return 0
	})
	for i, v := range values {
		t.RawSetInt(i+1, v)
	}
	return 0
}
