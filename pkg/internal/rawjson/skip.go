package rawjson

import "bytes"

// SkipBlanks returns the index after the white space that begins at i, which is i if there is none.
func SkipBlanks(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// shortString is up to which length of a string its bytes are looked at one by one.
const shortString = 16

// SkipString returns the index after the JSON string that begins at i; negative if it does not end.
func SkipString(raw []byte, i int) int {
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

// SkipValue returns the index after the JSON value that begins at i; negative if it does not end. It needs no stack:
// how deeply a value is nested does not matter.
func SkipValue(raw []byte, i int) int {
	if i >= len(raw) {
		return -1
	}
	switch raw[i] {
	case '"':
		return SkipString(raw, i)
	case '{', '[':
		return skipNested(raw, i)
	case '}', ']', ',', ':', ' ', '\n', '\t', '\r':
		return -1
	}
	return skipLiteral(raw, i)
}

// SkipLike is SkipValue, if another version of the object may have the same value: an object, array or string that
// begins with the bytes of another one is the same.
func SkipLike(raw []byte, i int, other []byte) int {
	if len(other) > 1 && (other[0] == '{' || other[0] == '[' || other[0] == '"') && bytes.HasPrefix(raw[i:], other) {
		return i + len(other)
	}
	return SkipValue(raw, i)
}

// skipNested returns the index after the object or array that begins at i.
func skipNested(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			if i = SkipString(raw, i); i < 0 {
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
