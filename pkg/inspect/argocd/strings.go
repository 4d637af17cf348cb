package argocd

import (
	"fmt"
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// textLength is Lua's string.len, in bytes.
func textLength(m *lua.LState) int {
	m.Push(lua.LNumber(len(m.CheckString(1))))
	return 1
}

// mapped returns string.lower or string.upper.
func (b *budget) mapped(of func(string) string) lua.LGFunction {
	return func(m *lua.LState) int {
		text := m.CheckString(1)
		b.spendBytes(m, len(text))
		m.Push(lua.LString(of(text)))
		return 1
	}
}

// sub is Lua's string.sub: indices count from 1, negative ones from the end.
func sub(m *lua.LState) int {
	text := m.CheckString(1)
	index := func(i int) int {
		if i < 0 {
			return len(text) + i + 1
		}
		return i
	}
	from, to := max(index(m.CheckInt(2)), 1), min(index(m.OptInt(3, -1)), len(text))
	if from > to {
		text, from, to = "", 1, 0
	}
	m.Push(lua.LString(text[from-1 : to]))
	return 1
}

// format is Lua's string.format with the verbs d, i, x, f, g, s and %.
func (b *budget) format(m *lua.LState) int {
	layout := m.CheckString(1)
	var out strings.Builder
	for argument := 1; ; {
		plain, rest, found := strings.Cut(layout, "%")
		b.spendBytes(m, len(plain))
		out.WriteString(plain)
		if !found {
			break
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "-+ #0123456789."))
		if digits == len(rest) || digits > 4 { // no width of more than four digits
			m.RaiseError("invalid format %%%s", rest)
		}
		verb, text := rest[:digits+1], ""
		layout = rest[digits+1:]
		argument++
		switch verb[digits] {
		case '%':
			text = "%"
			argument--
		case 'd', 'i', 'x':
			text = fmt.Sprintf("%"+strings.Replace(verb, "i", "d", 1), int64(m.CheckNumber(argument)))
		case 'f', 'g':
			text = fmt.Sprintf("%"+verb, float64(m.CheckNumber(argument)))
		case 's':
			text = fmt.Sprintf("%"+verb, m.CheckString(argument))
		default:
			m.RaiseError("invalid format %%%s", verb)
		}
		b.spendBytes(m, len(text))
		out.WriteString(text)
	}
	m.Push(lua.LString(out.String()))
	return 1
}

// match is Lua's string.match without a start index: it returns the captures, or the whole match if the pattern has
// none.
func (b *budget) match(m *lua.LState) int {
	text := m.CheckString(1)
	found := b.expression(m, text, m.CheckString(2)).FindStringSubmatchIndex(text)
	if found == nil {
		m.Push(lua.LNil)
		return 1
	}
	if len(found) > 2 {
		found = found[2:]
	}
	return pushCaptures(m, text, found)
}

// find is Lua's string.find: it returns where the pattern, or a plain text, begins and ends, and the captures.
func (b *budget) find(m *lua.LState) int {
	text, pattern := m.CheckString(1), m.CheckString(2)
	skipped := min(max(m.OptInt(3, 1), 1)-1, len(text))
	rest := text[skipped:]
	var found []int
	if m.OptBool(4, false) {
		b.spendSteps(m, len(rest))
		if i := strings.Index(rest, pattern); i >= 0 {
			found = []int{i, i + len(pattern)}
		}
	} else {
		found = b.expression(m, rest, pattern).FindStringSubmatchIndex(rest)
	}
	if found == nil {
		m.Push(lua.LNil)
		return 1
	}
	m.Push(lua.LNumber(skipped + found[0] + 1))
	m.Push(lua.LNumber(skipped + found[1]))
	return 2 + pushCaptures(m, rest, found[2:])
}

// gsub is Lua's string.gsub with a replacement of plain text.
func (b *budget) gsub(m *lua.LState) int {
	text, by := m.CheckString(1), m.CheckString(3)
	if strings.Contains(by, "%") {
		m.RaiseError("a replacement with captures")
	}
	const most = 10_000 // matches: each takes many times the bytes of one character
	found := b.expression(m, text, m.CheckString(2)).FindAllStringIndex(text, most+1)
	if len(found) > most {
		m.RaiseError("the pattern matches too often")
	}
	b.spendBytes(m, len(text)+len(found)*len(by))
	var out strings.Builder
	end := 0
	for _, at := range found {
		out.WriteString(text[end:at[0]])
		out.WriteString(by)
		end = at[1]
	}
	out.WriteString(text[end:])
	m.Push(lua.LString(out.String()))
	m.Push(lua.LNumber(len(found)))
	return 2
}

// pushCaptures returns captures to Lua, of which at has the begin and end indices, and their number.
func pushCaptures(m *lua.LState, text string, at []int) int {
	for i := 0; i < len(at); i += 2 {
		m.Push(lua.LString(text[at[i]:at[i+1]]))
	}
	return len(at) / 2
}

// expression returns a Lua pattern as a regular expression, which takes linear time: Lua's own matcher backtracks. It
// spends the steps for one pass over the text.
func (b *budget) expression(m *lua.LState, text, pattern string) *regexp.Regexp {
	const mostPattern = 100 // bytes; checks have short constant patterns
	if len(pattern) > mostPattern {
		m.RaiseError("the pattern is too long")
	}
	expression, err := regexp.Compile(toRegexp(pattern))
	if err != nil {
		m.RaiseError("malformed pattern %q", pattern)
	}
	b.spendSteps(m, len(text))
	return expression
}

// toRegexp returns the regular expression for a Lua pattern. It cannot be compiled if the pattern uses what regular
// expressions do not have: %b, %f, references to captures.
func toRegexp(pattern string) string {
	var out strings.Builder
	out.WriteString("(?s)")
	repeatable := false // the previous item is one character: only that may be repeated
	for i := 0; i < len(pattern); i++ {
		next, was := pattern[i:i+1], repeatable
		repeatable = true
		switch {
		case next == "%" && i+1 < len(pattern):
			i++
			next = characterClass(pattern[i], false)
		case next == "[":
			next, i = characterSet(pattern, i)
		case next == "^" && i == 0:
			next, repeatable = `\A`, false
		case next == "$" && i == len(pattern)-1:
			next = `\z`
		case next == "-" && was:
			next, repeatable = "*?", false
		case (next == "*" || next == "+" || next == "?") && was, next == "(", next == ")":
			repeatable = false
		case next != ".":
			next = regexp.QuoteMeta(next)
		}
		out.WriteString(next)
	}
	return out.String()
}

// characterSet returns the character set that begins at an index of the pattern, and the index of its end.
func characterSet(pattern string, begin int) (set string, end int) {
	set, i := "[", begin+1
	if i < len(pattern) && pattern[i] == '^' {
		set += "^"
		i++
	}
	for first := i; i < len(pattern) && (pattern[i] != ']' || i == first); i++ {
		switch c := pattern[i]; {
		case c == '%' && i+1 < len(pattern):
			i++
			set += characterClass(pattern[i], true)
		case c == '-':
			set += "-"
		default:
			set += regexp.QuoteMeta(pattern[i : i+1])
		}
	}
	return set + "]", i
}

// characterClass returns the regular expression for what follows a % in a pattern: a class of characters, or a
// literal character.
func characterClass(c byte, inSet bool) string {
	classes := map[byte]string{
		'a': "[:alpha:]", 'c': "[:cntrl:]", 'd': "[:digit:]", 'l': "[:lower:]", 'p': "[:punct:]", 's': "[:space:]",
		'u': "[:upper:]", 'w': "[:alnum:]", 'x': "[:xdigit:]",
	}
	name, negated := classes[c], false
	if name == "" && c >= 'A' && c <= 'Z' {
		name, negated = classes[c+'a'-'A'], true
	}
	switch {
	case name == "" && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
		return `\y` // no escape of regular expressions
	case name == "":
		return regexp.QuoteMeta(string(rune(c)))
	case negated:
		name = "[:^" + name[2:]
	}
	if inSet {
		return name
	}
	return "[" + name + "]"
}
