package imports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

const (
	// maxDocument bounds a document. Objects have up to about 1.5 MB in etcd; an audit log has an object twice.
	maxDocument = 16 << 20
	// maxList bounds a list in JSON, which may have all objects of a cluster. YAML takes much more memory to parse, so
	// that its lists have the limit of other documents.
	maxList = 256 << 20
	// maxDepth bounds how deeply a document is nested. Definitions of custom resources, the deepest objects, have less
	// than 100 levels.
	maxDepth = 1000
	// listPrefix is how much of a document may come before the items if it is a list.
	listPrefix = 4096
)

// limits are the limits of documents in bytes, and of what is decompressed to more than maxRatio times its size.
type limits struct{ document, list, decompressed int }

// document is a document of an input.
type document struct {
	// text is JSON. It is not shared.
	text []byte
	// number counts the documents from 1; line, from 1, and offset, from 0, are where it begins.
	number, line int
	offset       int64
	// yaml is set if text was converted from YAML.
	yaml bool
	// compact is set if there are no blanks in text, but in strings.
	compact bool
	// large is set if only a list may be as large.
	large bool
}

// errorf returns an error that begins with where the document is.
func (d *document) errorf(format string, args ...any) error {
	return &DocumentError{Number: d.number, Line: d.line, Offset: d.offset, err: fmt.Errorf(format, args...)}
}

// syntaxError returns the error of a document that is not valid, with the place of the mistake if it is JSON.
func (d *document) syntaxError(err error) error {
	out := &DocumentError{Number: d.number, Line: d.line, Offset: d.offset, err: fmt.Errorf("parsing: %w", err)}
	var syntax *json.SyntaxError
	if !d.yaml && errors.As(json.Unmarshal(d.text, new(json.RawMessage)), &syntax) {
		at := max(0, min(syntax.Offset-1, int64(len(d.text))))
		out.Line += bytes.Count(d.text[:at], []byte("\n"))
		out.Offset += at
		out.err = fmt.Errorf("parsing: %w", syntax)
	}
	return out
}

// DocumentError is an error in a document of an input.
type DocumentError struct {
	// Number counts the documents from 1.
	Number int
	// Line, from 1, and Offset, from 0, are where the mistake is or where the document begins, in the input after it
	// was decompressed.
	Line   int
	Offset int64
	err    error
}

// Error implements error.
func (e *DocumentError) Error() string {
	return fmt.Sprintf("document %d, line %d, offset %d: %v", e.Number, e.Line, e.Offset, e.err)
}

// Unwrap returns the error without the place.
func (e *DocumentError) Unwrap() error { return e.err }

// documentReader finds the documents of an input: JSON texts one after the other, and YAML between lines `---`.
type documentReader struct {
	r      *bufio.Reader
	limits limits
	number int
	line   int
	offset int64
}

// next returns the next document. The error is io.EOF after the last, and a *replay.TornError if the input ends within
// a document of JSON.
func (d *documentReader) next() (*document, error) {
	for {
		first, err := d.skipBlanks()
		if err != nil {
			return nil, err
		}
		d.number++
		doc := &document{number: d.number, line: d.line, offset: d.offset}
		if first == '{' {
			doc.text, err = d.json(doc)
			return doc, err
		}
		doc.yaml = true
		if doc.text, err = d.yaml(doc); err != nil {
			return nil, err
		}
		if doc.text != nil {
			return doc, nil
		}
		d.number--
	}
}

// skipBlanks skips blanks and returns the byte after them, which stays unread.
func (d *documentReader) skipBlanks() (byte, error) {
	for {
		chunk, err := d.chunk()
		if err != nil {
			return 0, err
		}
		rest := bytes.TrimLeft(chunk, " \t\r\n")
		d.skip(chunk[:len(chunk)-len(rest)])
		if len(rest) > 0 {
			return rest[0], nil
		}
	}
}

// chunk returns what is read already, at least one byte. It blocks only if nothing is. The bytes are valid until the
// next call, and stay unread until skip.
func (d *documentReader) chunk() ([]byte, error) {
	if _, err := d.r.Peek(1); err != nil {
		return nil, err
	}
	return d.r.Peek(d.r.Buffered())
}

// skip skips what chunk returned, or the beginning of it.
func (d *documentReader) skip(chunk []byte) {
	d.line += bytes.Count(chunk, []byte("\n"))
	d.offset += int64(len(chunk))
	_, _ = d.r.Discard(len(chunk)) // never fails: the bytes are buffered
}

// json reads a JSON object. It is not validated, except that its brackets match in number.
func (d *documentReader) json(doc *document) ([]byte, error) {
	var text []byte
	var s scanner
	for {
		chunk, err := d.chunk()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, tornError(doc)
		case err != nil:
			return nil, err
		}
		n, ended := s.scan(chunk)
		text = append(text, chunk[:n]...)
		d.skip(chunk[:n])
		switch {
		case s.deepest > maxDepth:
			return nil, doc.errorf("it is nested more than %d levels deep", maxDepth)
		case len(text) > d.limits.document && !startsList(text), len(text) > d.limits.list:
			return nil, doc.errorf("it has more than %d MB", min(len(text), d.limits.list)>>20)
		case ended:
			doc.compact = !s.blanks
			doc.large = len(text) > d.limits.document
			return text, nil
		}
	}
}

// tornError returns the error that an input, or its compressed form, ends within a document.
func tornError(doc *document) error {
	return &replay.TornError{Offset: doc.offset, Err: doc.errorf("%w", io.ErrUnexpectedEOF)}
}

// startsList reports whether a document has a field items near its beginning. Where such a document is no list, it is
// refused later.
func startsList(text []byte) bool {
	return bytes.Contains(text[:min(len(text), listPrefix)], []byte(`"items"`))
}

// scanner finds the end of a JSON text in pieces of it. The zero value is before the text.
type scanner struct {
	depth, deepest  int
	quoted, escaped bool
	blanks          bool // there are some outside of strings
}

// scan scans a piece. It returns how many bytes of it belong to the text, and whether the text ends with them.
func (s *scanner) scan(piece []byte) (int, bool) {
	for i, c := range piece {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped = c == '\\'
			s.quoted = c != '"'
		case c == '"':
			s.quoted = true
		case c == '{' || c == '[':
			s.depth++
			s.deepest = max(s.deepest, s.depth)
		case c == '}' || c == ']':
			s.depth--
			if s.depth <= 0 {
				return i + 1, true
			}
		case c <= ' ':
			s.blanks = true
		}
	}
	return len(piece), false
}

// yaml reads a document of YAML, up to a line `---` or the end, and returns it as JSON; nil if it is empty.
func (d *documentReader) yaml(doc *document) ([]byte, error) {
	var text []byte
	for begins := true; ; {
		line, err := d.r.ReadSlice('\n')
		d.line += bytes.Count(line, []byte("\n"))
		d.offset += int64(len(line))
		separates := begins && isSeparator(line)
		if separates && len(text) == 0 && len(bytes.TrimSpace(line)) > 3 {
			line, separates = line[3:], false // a document may begin after the dashes: "--- {a: b}"
		}
		begins = err == nil
		if !separates {
			text = append(text, line...)
		}
		switch {
		case len(text) > d.limits.document:
			return nil, doc.errorf("it has more than %d MB; lists in JSON may have up to %d MB",
				d.limits.document>>20, d.limits.list>>20)
		case errors.Is(err, io.EOF), separates:
			return d.convert(doc, text, err != nil)
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// isSeparator reports whether a line separates documents of YAML.
func isSeparator(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n"))
}

// convert returns a document of YAML as JSON, nil if it is empty. atEnd is set if the input ends with it.
func (d *documentReader) convert(doc *document, text []byte, atEnd bool) ([]byte, error) {
	out, err := yaml.YAMLToJSON(text)
	switch {
	case err != nil && atEnd && doc.number > 1 && !bytes.HasSuffix(text, []byte("\n")):
		return nil, tornError(doc)
	case err != nil:
		return nil, doc.errorf("parsing as YAML: %w", err)
	case bytes.Equal(out, []byte("null")):
		return nil, nil
	}
	var s scanner
	if _, _ = s.scan(out); s.deepest > maxDepth {
		return nil, doc.errorf("it is nested more than %d levels deep", maxDepth)
	}
	return out, nil
}
