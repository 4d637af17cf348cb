package timeline

import (
	"bytes"
	"encoding/json"
)

// member is a member of a JSON object that was not decoded.
type member struct {
	key   string
	value []byte
}

// membersOf splits a JSON object into its members; nil if it is none, or not well-formed as far as this needs it. It
// validates no values: that is left to the decoder of those that are used.
func membersOf(raw []byte) []member {
	members, _, _ := splitObject(raw, 0, "")
	return members
}

// splitObject splits the JSON object that begins at i into its members, and one of these, if it is an object, into its
// own; they are nil if there is none. It returns the index after the object; negative if it does not end.
func splitObject(raw []byte, i int, name string) (members, below []member, end int) {
	i = skipBlanks(raw, i)
	if i >= len(raw) || raw[i] != '{' {
		return nil, nil, -1
	}
	out := make([]member, 0, 8)
	i = skipBlanks(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return out, nil, i + 1
	}
	for i < len(raw) && raw[i] == '"' {
		end := skipString(raw, i)
		if end < 0 {
			break
		}
		key, ok := keyText(raw[i:end])
		i = skipBlanks(raw, end)
		if !ok || i >= len(raw) || raw[i] != ':' {
			break
		}
		start := skipBlanks(raw, i+1)
		if name != "" && key == name && start < len(raw) && raw[start] == '{' {
			below, _, end = splitObject(raw, start, "")
		} else {
			end = skipValue(raw, start)
		}
		if end <= start {
			break
		}
		out = append(out, member{key, raw[start:end:end]})
		i = skipBlanks(raw, end)
		switch {
		case i < len(raw) && raw[i] == '}':
			return out, below, i + 1
		case i >= len(raw) || raw[i] != ',':
			return nil, nil, -1
		}
		i = skipBlanks(raw, i+1)
	}
	return nil, nil, -1
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
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(bytes.ToValidUTF8(inner, []byte("\ufffd")))
	}
	var out string
	if json.Unmarshal(raw, &out) != nil {
		return ""
	}
	return out
}

// keyText returns the key of a member, which is a JSON string.
func keyText(raw []byte) (string, bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
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

// skipString returns the index after the JSON string that begins at i; negative if it does not end.
func skipString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}

// skipValue returns the index after the JSON value that begins at i; negative if it does not end. It needs no stack:
// how deeply a value is nested does not matter.
func skipValue(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			if i = skipString(raw, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return -1
			}
		default:
			if depth == 0 {
				return skipLiteral(raw, i)
			}
		}
		i++
	}
	return -1
}

// skipLiteral returns the index after the number, true, false or null that begins at i.
func skipLiteral(raw []byte, i int) int {
	for i < len(raw) && bytes.IndexByte([]byte(",:]}[{ \n\t\r\""), raw[i]) < 0 {
		i++
	}
	return i
}
