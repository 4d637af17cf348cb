package redact

import (
	"encoding/json"
	"fmt"
	"strings"
)

// RedactTrace returns an event of a trace, a line of NDJSON, with placeholders, or line itself if there is nothing to
// redact. It does not change line. Of the fields that the event says have changed, those are redacted that a rule names
// in any kind: an event need not know all names of its kind. What a rule with a pattern matches is redacted in all
// texts, also in those of messages.
func (r *Redactor) RedactTrace(line []byte) ([]byte, error) {
	if len(r.rules) == 0 {
		return line, nil // a trace has no values of Secrets
	}
	var event struct {
		Changed []struct {
			Path string `json:"path"`
		} `json:"changed"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return nil, fmt.Errorf("reading an event of the trace: %w", err)
	}
	p := &plan{}
	for i := range r.rules {
		if pattern := r.rules[i].pattern; pattern != nil {
			p.patterns = append(p.patterns, pattern)
			continue
		}
		for n, change := range event.Changed {
			if meets(r.rules[i].path, fieldsOf(change.Path)) {
				values := Path{{key: "changed"}, {element: true, index: n}}
				p.paths = append(p.paths, append(values[:2:2], step{key: "old"}),
					append(values[:2:2], step{key: "new"}))
			}
		}
	}
	w := newWalk(r, p, line, 0)
	if err := w.value(place{active: p.paths, at: elsewhere}); err != nil {
		return nil, fmt.Errorf("redacting an event of the trace: %w", err)
	}
	return w.edited(), nil
}

// meets reports whether a path of a rule may lead to a field, into it, or to what the field is in. Elements of lists do
// not count: a trace names them by their keys.
func meets(path Path, fields []string) bool {
	switch {
	case len(path) == 0 || len(fields) == 0:
		return true
	case path[0].element:
		return meets(path[1:], fields)
	case path[0].any:
		return meets(path[1:], fields) || meets(path[1:], fields[1:])
	}
	return path[0].matchesKey(fields[0]) && meets(path[1:], fields[1:])
}

// fieldsOf returns the fields and keys of a path as fields.Change has it: metadata.annotations[a.b/c] has three. The
// elements of lists, such as [name=web] and [0], are left out.
func fieldsOf(path string) []string {
	var out []string
	for path != "" {
		end := strings.IndexAny(path, ".[")
		switch {
		case end < 0:
			return append(out, path)
		case end > 0:
			out = append(out, path[:end])
			path = path[end:]
		case path[0] == '.':
			path = path[1:]
		default:
			inner, rest, _ := strings.Cut(path[1:], "]")
			if !isElement(inner) {
				out = append(out, inner)
			}
			path = rest
		}
	}
	return out
}

// isElement reports whether what is in brackets names an element of a list: by a field of it, or by a number.
func isElement(text string) bool {
	return strings.Contains(text, "=") || strings.Trim(text, "0123456789") == ""
}
