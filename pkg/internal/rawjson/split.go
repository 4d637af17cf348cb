package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Member is a member of a JSON object. Its value is the bytes of the document, not decoded.
type Member struct {
	Key   string
	Value []byte
}

// Members splits a JSON object into its members; nil if it is none, or not well-formed as far as this needs it. It
// validates no values: that is left to the decoder of those that are used.
func Members(raw []byte) []Member {
	out, _ := Split(raw, 0, nil, nil)
	return out
}

// Split splits the JSON object that begins at i into its members; nil if there is none. It returns the index after the
// object; negative if it does not end.
//
// like are the members of another version of the object, or nil: where both are the same, that is compared, which is
// much faster than to look for the end of a value. inside, which may be nil, is called with the key of each member and
// where its value begins, and returns where it ends, or 0 to leave that to Split.
func Split(raw []byte, i int, like []Member, inside func(key string, at int) int) (members []Member, end int) {
	i = SkipBlanks(raw, i)
	if i >= len(raw) || raw[i] != '{' {
		return nil, -1
	}
	out := make([]Member, 0, max(8, len(like)))
	i = SkipBlanks(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return out, i + 1
	}
	for i < len(raw) && raw[i] == '"' {
		end := SkipString(raw, i)
		if end < 0 {
			break
		}
		var other Member
		if n := len(out); n < len(like) {
			other = like[n]
		}
		key, ok := keyText(raw[i:end], other.Key)
		i = SkipBlanks(raw, end)
		if !ok || i >= len(raw) || raw[i] != ':' {
			break
		}
		start := SkipBlanks(raw, i+1)
		end = 0
		if inside != nil {
			end = inside(key, start)
		}
		if end == 0 {
			end = SkipLike(raw, start, other.Value)
		}
		if end <= start {
			break
		}
		out = append(out, Member{key, raw[start:end:end]})
		i = SkipBlanks(raw, end)
		switch {
		case i < len(raw) && raw[i] == '}':
			return out, i + 1
		case i >= len(raw) || raw[i] != ',':
			return nil, -1
		}
		i = SkipBlanks(raw, i+1)
	}
	return nil, -1
}

// Elements splits a JSON array into its elements; nil if it is none.
func Elements(raw []byte) [][]byte {
	i := SkipBlanks(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return nil
	}
	var out [][]byte
	i = SkipBlanks(raw, i+1)
	for i < len(raw) && raw[i] != ']' {
		end := SkipValue(raw, i)
		if end <= i {
			return nil
		}
		out = append(out, raw[i:end:end])
		if i = SkipBlanks(raw, end); i < len(raw) && raw[i] == ',' {
			i = SkipBlanks(raw, i+1)
		}
	}
	return out
}

// ValueAt returns the value at a path of members, not decoded; nil if there is none. It allocates nothing, and reads no
// further than to the end of the value.
func ValueAt(raw []byte, path ...string) []byte {
	for _, name := range path {
		if raw = memberFrom(raw, name); raw == nil {
			return nil
		}
	}
	end := SkipValue(raw, 0)
	if end <= 0 {
		return nil
	}
	return raw[:end:end]
}

// TextAt returns the string at a path of members; "" if there is none.
func TextAt(raw []byte, path ...string) string { return Text(ValueAt(raw, path...)) }

// memberFrom returns the text from the value of the member with that name on; nil if there is none.
func memberFrom(raw []byte, name string) []byte {
	i := SkipBlanks(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return nil
	}
	i = SkipBlanks(raw, i+1)
	for i < len(raw) && raw[i] == '"' {
		end := SkipString(raw, i)
		if end < 0 {
			return nil
		}
		found := string(raw[i+1:end-1]) == name
		i = SkipBlanks(raw, end)
		if i >= len(raw) || raw[i] != ':' {
			return nil
		}
		start := SkipBlanks(raw, i+1)
		if found {
			return raw[start:]
		}
		end = SkipValue(raw, start)
		if end <= start {
			return nil
		}
		i = SkipBlanks(raw, end)
		if i >= len(raw) || raw[i] != ',' {
			return nil
		}
		i = SkipBlanks(raw, i+1)
	}
	return nil
}

// Text returns a JSON string as text; "" if it is none.
func Text(raw []byte) string {
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
