package inspect

import "fmt"

// flaw is something in an object that is not what its kind promises.
type flaw struct {
	text string
	// hides says that something of the object's status could not be read for it.
	hides bool
}

// flaws collects them in the order in which they are met, which is the object's own.
type flaws []flaw

// odd notes what could be read all the same.
func (f *flaws) odd(format string, args ...any) {
	*f = append(*f, flaw{text: fmt.Sprintf(format, args...)})
}

// lost notes what could not be read.
func (f *flaws) lost(format string, args ...any) {
	*f = append(*f, flaw{text: fmt.Sprintf(format, args...), hides: true})
}

func (f *flaws) texts() []string {
	var out []string
	for _, one := range *f {
		out = append(out, one.text)
	}
	return out
}

// doubted takes back that an object is Current if part of what it says could not be read.
func (f *flaws) doubted(s Status) Status {
	for _, one := range *f {
		if one.hides && s.Current() {
			s.Status, s.Reason, s.JudgedBy = Unknown, one.text, Generic
		}
	}
	return s
}

// described names the JSON type of a value that should be of another, and shows short ones.
func described(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case string:
		return fmt.Sprintf("the text %q", shortened(v))
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return fmt.Sprintf("the number %v", v)
}

// shortened keeps foreign text from filling a line.
func shortened(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
