package playback

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// moved returns the JSON of an object with its times moved, the same without Options.ShiftTimes and
// Options.Move.
//
// A time is a string in the form of RFC 3339, as the API writes times, in a field whose name ends with Time, Timestamp
// or At, or is one of timeFields. So it is with all kinds, custom ones included, in their specs too. What people chose
// stays as it is: labels, annotations, and the data of ConfigMaps and Secrets.
func (s *Server) moved(data []byte) []byte {
	switch {
	case s.options.Move != nil:
		return s.options.Move(data)
	case s.shift == 0:
		return data
	}
	return MoveTimes(data, s.shift)
}

// timeFields are names of fields with times that end otherwise.
var timeFields = []string{"time", "timeAdded", "notBefore", "notAfter", "deadline", "expiry", "expires"}

// keptFields are names of fields whose values are chosen by people.
var keptFields = []string{"labels", "annotations", "matchLabels", "data", "stringData", "binaryData", "fieldsV1"}

func isTimeField(name string) bool {
	return strings.HasSuffix(name, "Time") || strings.HasSuffix(name, "Timestamp") || strings.HasSuffix(name, "At") ||
		slices.Contains(timeFields, name)
}

// MoveTimes returns JSON with the times in it moved. It leaves alone what is not valid. It reads bytes, as numbers
// would lose digits and all of an object would be decoded otherwise.
func MoveTimes(data []byte, by time.Duration) []byte {
	var out bytes.Buffer
	copied := 0
	field := ""
	for i := 0; i < len(data); {
		if data[i] != '"' {
			i++
			continue
		}
		end := stringEnd(data, i)
		if end < 0 {
			break
		}
		text := string(data[i+1 : end-1])
		next := skipSpace(data, end)
		if next < len(data) && data[next] == ':' {
			field, i = text, next+1
			if slices.Contains(keptFields, field) {
				i = valueEnd(data, skipSpace(data, i))
			}
			continue
		}
		if isTimeField(field) {
			if moved, ok := moveTime(text, by); ok {
				out.Write(data[copied : i+1])
				out.WriteString(moved)
				copied = end - 1
			}
		}
		i = end
	}
	if copied == 0 {
		return data
	}
	out.Write(data[copied:])
	return out.Bytes()
}

// moveTime returns a time that was moved, in the form that it has; false if it is none.
func moveTime(text string, by time.Duration) (string, bool) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "", false
	}
	layout := time.RFC3339
	if _, fraction, ok := strings.Cut(text, "."); ok {
		digits := len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
		layout = "2006-01-02T15:04:05." + strings.Repeat("0", digits) + "Z07:00"
	}
	return t.Add(by).Format(layout), true
}

// stringEnd returns the index behind the string that begins at i; -1 if it does not end.
func stringEnd(data []byte, i int) int {
	for j := i + 1; j < len(data); j++ {
		switch data[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return -1
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && strings.IndexByte(" \t\r\n", data[i]) >= 0 {
		i++
	}
	return i
}

// valueEnd returns the index behind the object or list that begins at i; i itself for another value.
func valueEnd(data []byte, i int) int {
	depth := 0
	for j := i; j < len(data); j++ {
		switch data[j] {
		case '"':
			end := stringEnd(data, j)
			if end < 0 {
				return len(data)
			}
			j = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			if j == i && data[j] != '{' && data[j] != '[' {
				return i
			}
			return j + 1
		}
	}
	return len(data)
}
