package timeline

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// member is a member of a JSON object that was not decoded.
type member struct {
	key   string
	value []byte
}

// membersOf splits a JSON object into its members; nil if it is none, or not well-formed as far as this needs it. It
// validates no values: that is left to the decoder of those that are used.
func membersOf(raw []byte) []member {
	out, _ := splitObject(raw, 0, nil, nil)
	return out
}

// splitObject splits the JSON object that begins at i into its members; nil if there is none. It returns the index
// after the object; negative if it does not end.
//
// like are the members of another version of the object, or nil: where both are the same, that is compared, which is
// much faster than to look for the end of a value. inside, which may be nil, is called with the key of each member and
// where its value begins, and returns where it ends, or 0 to leave that to splitObject.
func splitObject(raw []byte, i int, like []member, inside func(key string, at int) int) (members []member, end int) {
	i = skipBlanks(raw, i)
	if i >= len(raw) || raw[i] != '{' {
		return nil, -1
	}
	out := make([]member, 0, max(8, len(like)))
	i = skipBlanks(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return out, i + 1
	}
	for i < len(raw) && raw[i] == '"' {
		end := skipString(raw, i)
		if end < 0 {
			break
		}
		var other member
		if n := len(out); n < len(like) {
			other = like[n]
		}
		key, ok := keyText(raw[i:end], other.key)
		i = skipBlanks(raw, end)
		if !ok || i >= len(raw) || raw[i] != ':' {
			break
		}
		start := skipBlanks(raw, i+1)
		end = 0
		if inside != nil {
			end = inside(key, start)
		}
		if end == 0 {
			end = skipLike(raw, start, other.value)
		}
		if end <= start {
			break
		}
		out = append(out, member{key, raw[start:end:end]})
		i = skipBlanks(raw, end)
		switch {
		case i < len(raw) && raw[i] == '}':
			return out, i + 1
		case i >= len(raw) || raw[i] != ',':
			return nil, -1
		}
		i = skipBlanks(raw, i+1)
	}
	return nil, -1
}

// elementsOf splits a JSON array into its elements; nil if it is none.
func elementsOf(raw []byte) [][]byte {
	i := skipBlanks(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return nil
	}
	var out [][]byte
	i = skipBlanks(raw, i+1)
	for i < len(raw) && raw[i] != ']' {
		end := skipValue(raw, i)
		if end <= i {
			return nil
		}
		out = append(out, raw[i:end:end])
		if i = skipBlanks(raw, end); i < len(raw) && raw[i] == ',' {
			i = skipBlanks(raw, i+1)
		}
	}
	return out
}

// valueAt returns the value at a path of members, not decoded; nil if there is none. It allocates nothing, and reads no
// further than to the end of the value.
func valueAt(raw []byte, path ...string) []byte {
	for _, name := range path {
		if raw = memberFrom(raw, name); raw == nil {
			return nil
		}
	}
	end := skipValue(raw, 0)
	if end <= 0 {
		return nil
	}
	return raw[:end:end]
}

// valueOf returns the value of the member with that name; nil if there is none.
func valueOf(raw []byte, name string) []byte { return valueAt(raw, name) }

// memberFrom returns the text from the value of the member with that name on; nil if there is none.
func memberFrom(raw []byte, name string) []byte {
	i := skipBlanks(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return nil
	}
	i = skipBlanks(raw, i+1)
	for i < len(raw) && raw[i] == '"' {
		end := skipString(raw, i)
		if end < 0 {
			return nil
		}
		found := string(raw[i+1:end-1]) == name
		i = skipBlanks(raw, end)
		if i >= len(raw) || raw[i] != ':' {
			return nil
		}
		start := skipBlanks(raw, i+1)
		if found {
			return raw[start:]
		}
		end = skipValue(raw, start)
		if end <= start {
			return nil
		}
		i = skipBlanks(raw, end)
		if i >= len(raw) || raw[i] != ',' {
			return nil
		}
		i = skipBlanks(raw, i+1)
	}
	return nil
}

// textOf returns a JSON string as text; "" if it is none.
func textOf(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var out string
	if json.Unmarshal(raw, &out) != nil {
		return ""
	}
	return out
}

// keyText returns the key of a member, which is a JSON string: other, if it is that, so that keys share their memory.
func keyText(raw []byte, other string) (string, bool) {
	inner := raw[1 : len(raw)-1]
	switch isEscaped := bytes.IndexByte(inner, '\\') >= 0; {
	case !isEscaped && string(inner) == other:
		return other, true
	case !isEscaped && utf8.Valid(inner):
		return string(inner), true
	}
	var out string
	err := json.Unmarshal(raw, &out)
	return out, err == nil
}

func skipBlanks(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// shortString is up to which length of a string its bytes are looked at one by one.
const shortString = 16

// skipString returns the index after the JSON string that begins at i; negative if it does not end.
func skipString(raw []byte, i int) int {
	i++
	for near := min(i+shortString, len(raw)); i < near; i++ {
		switch raw[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	for i < len(raw) {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			break
		}
		escapes := 0 // backslashes before the quote: every second one is escaped itself
		for escapes < n && raw[i+n-escapes-1] == '\\' {
			escapes++
		}
		if i += n + 1; escapes%2 == 0 {
			return i
		}
	}
	return -1
}

// skipValue returns the index after the JSON value that begins at i; negative if it does not end. It needs no stack:
// how deeply a value is nested does not matter.
func skipValue(raw []byte, i int) int {
	if i >= len(raw) {
		return -1
	}
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{', '[':
		return skipNested(raw, i)
	case '}', ']', ',', ':', ' ', '\n', '\t', '\r':
		return -1
	}
	return skipLiteral(raw, i)
}

// skipLike is skipValue, if another version of the object may have the same value: an object, array or string that
// begins with the bytes of another one is the same.
func skipLike(raw []byte, i int, other []byte) int {
	if len(other) > 1 && (other[0] == '{' || other[0] == '[' || other[0] == '"') && bytes.HasPrefix(raw[i:], other) {
		return i + len(other)
	}
	return skipValue(raw, i)
}

// skipNested returns the index after the object or array that begins at i.
func skipNested(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			if i = skipString(raw, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// skipLiteral returns the index after the number, true, false or null that begins at i.
func skipLiteral(raw []byte, i int) int {
	for ; i < len(raw); i++ {
		switch raw[i] {
		case ',', ':', ']', '}', '[', '{', ' ', '\n', '\t', '\r', '"':
			return i
		}
	}
	return i
}
