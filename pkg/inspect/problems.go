package inspect

import "fmt"

// problem is a field of an object that does not have the type that its API documents.
type problem struct {
	text string
	// unreadable reports that a part of the object's status could not be read because of it.
	unreadable bool
}

// problems collects problems in the order of the object's fields.
type problems []problem

// tolerated adds a problem with a value that could still be read.
func (f *problems) tolerated(format string, args ...any) {
	*f = append(*f, problem{text: fmt.Sprintf(format, args...)})
}

// unreadable adds a problem with a value that could not be read.
func (f *problems) unreadable(format string, args ...any) {
	*f = append(*f, problem{text: fmt.Sprintf(format, args...), unreadable: true})
}

func (f *problems) texts() []string {
	var out []string
	for _, one := range *f {
		out = append(out, one.text)
	}
	return out
}

// unknownIfUnreadable returns s, or Unknown in place of Current if a part of the object could not be read.
func (f *problems) unknownIfUnreadable(s Status) Status {
	for _, one := range *f {
		if one.unreadable && s.Current() {
			s.Status, s.Reason, s.JudgedBy = Unknown, one.text, Generic
		}
	}
	return s
}
