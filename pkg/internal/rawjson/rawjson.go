// Package rawjson reads JSON in place: it finds where values are in the bytes of a document, in one pass, and decodes
// only the strings that its callers ask for. There are two ways to read, for two kinds of callers:
//
//   - A [Scanner] checks what it reads: what it accepts is valid JSON, nested no deeper than MaxDepth. It is for what
//     comes from outside, and for what must not be missed. rawjson.go has it, and meta.go reads the metadata of an
//     object with it.
//   - The functions of split.go and skip.go look only for where values end, several times faster, and take whatever
//     bytes they are given without a panic. They are for objects that are valid, or are decoded afterwards.
//
// The functions are safe for concurrent use.
package rawjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// MaxDepth bounds how deep values may be nested. Objects of an API are far below.
const MaxDepth = 1000

// Scanner reads one document. Its methods must not be called again after one has returned an error, and not
// concurrently.
type Scanner struct {
	data  []byte
	at    int
	depth int
}

// Span is where a value is in the document: data[Start:End].
type Span struct{ Start, End int }

// NewScanner returns a Scanner at the beginning of data, which it does not change.
func NewScanner(data []byte) *Scanner { return &Scanner{data: data} }

// ErrShort is the error of a document that ends before its value does.
var ErrShort = errors.New("JSON ends too early")

// errTooDeep is the error of a document that is nested deeper than MaxDepth.
var errTooDeep = fmt.Errorf("JSON is nested deeper than %d levels", MaxDepth)

// errSyntax is the error of what is not JSON.
func (s *Scanner) errSyntax() error {
	if s.at >= len(s.data) {
		return ErrShort
	}
	return fmt.Errorf("not JSON at byte %d", s.at)
}

// blanks skips white space.
func (s *Scanner) blanks() { s.at = SkipBlanks(s.data, s.at) }

// Peek returns the first byte of the next value, which tells what it is: '{', '[', '"', 't', 'f', 'n', or else a
// number; 0 at the end of the document.
func (s *Scanner) Peek() byte {
	s.blanks()
	if s.at >= len(s.data) {
		return 0
	}
	return s.data[s.at]
}

// Offset returns where in the document the next value begins, or after one was read where the value ended.
func (s *Scanner) Offset() int { return s.at }

// End returns an error unless nothing but white space is left.
func (s *Scanner) End() error {
	if s.Peek(); s.at < len(s.data) {
		return s.errSyntax()
	}
	return nil
}

// Skip reads a value of any type.
func (s *Scanner) Skip() (Span, error) {
	first := s.Peek()
	start := s.at
	var err error
	switch first {
	case '{':
		err = s.Object(func([]byte) error { return s.skip() })
	case '[':
		err = s.Array(func(int) error { return s.skip() })
	case '"':
		_, err = s.rawString()
	case 't':
		err = s.word("true")
	case 'f':
		err = s.word("false")
	case 'n':
		err = s.word("null")
	default:
		err = s.number()
	}
	return Span{start, s.at}, err
}

func (s *Scanner) skip() error {
	_, err := s.Skip()
	return err
}

// Object reads an object. It calls each with the key of each member, decoded and valid until each returns; each must
// read the value, by one call of the Scanner.
func (s *Scanner) Object(each func(key []byte) error) error {
	return s.sequence('{', '}', func(int) error {
		raw, err := s.rawString()
		if err != nil {
			return err
		}
		key, err := decoded(raw)
		if err != nil {
			return err
		}
		if s.Peek() != ':' {
			return s.errSyntax()
		}
		s.at++
		return each(key)
	})
}

// Array reads an array. It calls each with the index of each element; each must read the element, by one call of the
// Scanner.
func (s *Scanner) Array(each func(index int) error) error { return s.sequence('[', ']', each) }

// sequence reads what is between two brackets, separated by commas.
func (s *Scanner) sequence(from, to byte, each func(int) error) error {
	if s.Peek() != from {
		return s.errSyntax()
	}
	if s.depth++; s.depth > MaxDepth {
		return errTooDeep
	}
	s.at++
	if s.Peek() == to {
		s.at++
		s.depth--
		return nil
	}
	for i := 0; ; i++ {
		s.blanks()
		if err := each(i); err != nil {
			return err
		}
		switch s.Peek() {
		case ',':
			s.at++
		case to:
			s.at++
			s.depth--
			return nil
		default:
			return s.errSyntax()
		}
	}
}

// String reads a string and returns it decoded. It is an error if the next value is of another type.
func (s *Scanner) String() (string, error) {
	if s.Peek() != '"' {
		return "", s.errSyntax()
	}
	raw, err := s.rawString()
	if err != nil {
		return "", err
	}
	text, err := decoded(raw)
	return string(text), err
}

// rawString reads a string and returns it with its quotes, undecoded. s.at must be at the first quote.
func (s *Scanner) rawString() ([]byte, error) {
	if s.at >= len(s.data) || s.data[s.at] != '"' {
		return nil, s.errSyntax()
	}
	start := s.at
	for s.at++; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return s.data[start:s.at], nil
		case c < ' ':
			return nil, s.errSyntax()
		case c == '\\':
			if err := s.escape(); err != nil {
				return nil, err
			}
		}
	}
	return nil, s.errSyntax()
}

// escape reads an escape sequence up to its last byte.
func (s *Scanner) escape() error {
	s.at++
	if s.at >= len(s.data) {
		return s.errSyntax()
	}
	switch s.data[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
	default:
		return s.errSyntax()
	}
	for range 4 {
		s.at++
		if s.at >= len(s.data) || !isHex(s.data[s.at]) {
			return s.errSyntax()
		}
	}
	return nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// decoded returns what a string with its quotes stands for. It shares the memory of raw if raw has no escapes.
func decoded(raw []byte) ([]byte, error) {
	if slices.Contains(raw, '\\') {
		var text string
		err := json.Unmarshal(raw, &text)
		return []byte(text), err
	}
	return raw[1 : len(raw)-1], nil
}

// word reads true, false or null.
func (s *Scanner) word(word string) error {
	if len(s.data)-s.at < len(word) || string(s.data[s.at:s.at+len(word)]) != word {
		return s.errSyntax()
	}
	s.at += len(word)
	return nil
}

// number reads a number: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *Scanner) number() error {
	if s.at < len(s.data) && s.data[s.at] == '-' {
		s.at++
	}
	switch {
	case s.at < len(s.data) && s.data[s.at] == '0':
		s.at++
	case s.digits() == 0:
		return s.errSyntax()
	}
	if s.at < len(s.data) && s.data[s.at] == '.' {
		s.at++
		if s.digits() == 0 {
			return s.errSyntax()
		}
	}
	if s.at < len(s.data) && (s.data[s.at] == 'e' || s.data[s.at] == 'E') {
		s.at++
		if s.at < len(s.data) && (s.data[s.at] == '+' || s.data[s.at] == '-') {
			s.at++
		}
		if s.digits() == 0 {
			return s.errSyntax()
		}
	}
	return nil
}

// digits reads digits and returns how many.
func (s *Scanner) digits() int {
	from := s.at
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
		s.at++
	}
	return s.at - from
}
