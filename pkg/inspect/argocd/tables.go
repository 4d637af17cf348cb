package argocd

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (b *budget) tableConcat(m *lua.LState) int {
	t, separator := m.CheckTable(1), m.OptString(2, "")
	first, last := max(m.OptInt(3, 1), 1), min(m.OptInt(4, t.Len()), t.Len())
	b.walk(m, max(last-first, 0))
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
		b.make(m, len(part))
		text.WriteString(part)
	}
	m.Push(lua.LString(text.String()))
	return 1
}

func tableLength(m *lua.LState) int {
	m.Push(lua.LNumber(m.CheckTable(1).Len()))
	return 1
}

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
	b.walk(m, n)
	t.Insert(at, m.CheckAny(3))
	return 0
}

// tableSort orders a list by the function given, or by Lua's <. What compares alike stays in its order.
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
	b.walk(m, n)
	values := make([]lua.LValue, 0, n)
	for i := 1; i <= n; i++ {
		values = append(values, t.RawGetInt(i))
	}
	slices.SortStableFunc(values, func(x, y lua.LValue) int {
		b.walk(m, 1)
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
