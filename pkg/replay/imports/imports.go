package imports

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// ErrEmpty is the error of an input without documents.
var ErrEmpty = errors.New("the input is empty")

// UnrecognizedError is the error of an input of none of the forms.
type UnrecognizedError struct {
	// Content describes what the input begins with, such as "a tar archive".
	Content string
}

// Error implements error.
func (e *UnrecognizedError) Error() string { return "the input is " + e.Content }

// Source is an input as the records of a recording. It has the records that are certain as soon as the input was read
// so far. What it returns stays valid.
type Source struct {
	ctx    context.Context // ends reading
	docs   *documentReader
	read   []*document // documents that were read to recognise the form
	header replay.Header
	form   form

	streams streams
	ready   []*replay.Record
	number  int64
	last    time.Time
	skipped map[replay.SkipReason]int64
	err     error
}

var _ replay.Source = (*Source)(nil)

// form makes records of documents by Source.emit.
type form interface {
	// add adds a document.
	add(*Source, *document) error
	// end is called after the last document. complete is false if an error was the end.
	end(s *Source, complete bool) error
}

// Open recognises the form of an input, which may be compressed by gzip or zstd, and reads it up to the first document;
// a list up to the second. The error is ErrEmpty if there is none, and a *UnrecognizedError if the input is of no form
// that is known. The caller closes r after the last use of the Source. When ctx is done, reading ends between two
// objects.
func Open(ctx context.Context, r io.Reader) (*Source, error) {
	return open(ctx, r, limits{document: maxDocument, list: maxList, decompressed: maxDecompressed})
}

func open(ctx context.Context, r io.Reader, l limits) (*Source, error) {
	buffered, err := decompress(ctx, r, l.decompressed)
	if err != nil {
		return nil, err
	}
	if prefix, _ := buffered.Peek(3); bytes.Equal(prefix, []byte("\xef\xbb\xbf")) {
		_, _ = buffered.Discard(3) // a byte order mark, which editors of Windows write
	}
	if content := foreignContent(buffered); content != "" {
		return nil, &UnrecognizedError{content}
	}
	s := &Source{
		ctx: ctx, docs: &documentReader{r: buffered, limits: l, line: 1}, skipped: map[replay.SkipReason]int64{},
	}
	if err := s.recognize(); err != nil {
		return nil, err
	}
	s.header.Version = replay.FormatVersion
	return s, nil
}

// foreignContent describes an input that is neither JSON nor YAML; empty if it may be. It reads no more than it needs:
// the input may be a pipe in which there is little yet.
func foreignContent(r *bufio.Reader) string {
	start, _ := r.Peek(1)
	if len(start) == 0 || start[0] == '{' {
		return ""
	}
	start, _ = r.Peek(2)
	if bytes.Equal(start, []byte("\xff\xfe")) || bytes.Equal(start, []byte("\xfe\xff")) {
		return "text in UTF-16"
	}
	start, _ = r.Peek(r.Buffered())
	switch {
	case len(start) > 262 && string(start[257:262]) == "ustar":
		return "a tar archive"
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return "a zip archive"
	case bytes.HasPrefix(start, []byte("BZh")), bytes.HasPrefix(start, []byte("\xfd7zXZ\x00")):
		return "compressed by bzip2 or xz"
	case bytes.HasPrefix(start, []byte("age-encryption.org/")), bytes.HasPrefix(start, []byte("-----BEGIN AGE")):
		return "encrypted by age"
	case isTable(start):
		return "a table of kubectl"
	case bytes.HasPrefix(start, []byte("\x7fELF")):
		return "a program"
	case bytes.ContainsFunc(start, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n\f", r) }):
		return "binary data"
	}
	return ""
}

// isTable reports whether an input begins as the tables that kubectl prints.
func isTable(start []byte) bool {
	heading, _, _ := bytes.Cut(start, []byte("\n"))
	fields := bytes.Fields(heading)
	return len(fields) > 1 && slices.Contains([]string{"EVENT", "LAST", "NAME", "NAMESPACE"}, string(fields[0])) &&
		bytes.Equal(heading, bytes.ToUpper(heading)) && !bytes.Contains(heading, []byte(":"))
}

// recognize reads the first document, and what else it takes, and sets the form and the header.
func (s *Source) recognize() error {
	first, err := s.peek()
	switch {
	case errors.Is(err, io.EOF):
		return ErrEmpty
	case err != nil:
		return err
	case first.text[0] != '{':
		return &UnrecognizedError{"of no known form: it begins with something else than an object"}
	}
	e, err := parseEnvelope(first)
	if err != nil {
		return err
	}
	switch {
	case e.isWatchEvent():
		s.header.Imported, s.form = replay.ImportedWatchEvents, &watchEvents{}
	case e.isAudit():
		s.header.Imported, s.form = replay.ImportedAudit, newAudit()
	case e.APIVersion == "" || e.Kind == "":
		return &UnrecognizedError{"of no known form: its first document has no apiVersion and kind"}
	case e.isList():
		return s.recognizeAfterList()
	case e.Metadata.ResourceVersion != "":
		s.header.Imported, s.form = replay.ImportedObjects, newObjects()
	default:
		s.header.Imported, s.form = replay.ImportedManifests, newManifests()
	}
	return nil
}

// recognizeAfterList sets the form of an input whose first document is a list: objects if objects follow that have
// resource versions, as they do where kubectl prints a list before changes.
func (s *Source) recognizeAfterList() error {
	s.header.Imported, s.form = replay.ImportedManifests, newManifests()
	second, err := s.peek()
	if err != nil {
		return nil //nolint:nilerr // it is returned when the documents before it were used
	}
	if e, err := parseEnvelope(second); err == nil && !e.isList() && e.Metadata.ResourceVersion != "" {
		s.header.Imported, s.form = replay.ImportedObjects, newObjects()
	}
	return nil
}

// peek reads a document that is used later. An error is kept for later, too.
func (s *Source) peek() (*document, error) {
	doc, err := s.docs.next()
	if err != nil {
		s.err = err
		return nil, err
	}
	s.read = append(s.read, doc)
	return doc, nil
}

// Header implements replay.Source.
func (s *Source) Header() replay.Header { return s.header }

// Skipped returns what was skipped so far, in the order of the reasons.
func (s *Source) Skipped() []replay.Skipped {
	var out []replay.Skipped
	for reason, count := range s.skipped {
		out = append(out, replay.Skipped{Reason: reason, Count: count})
	}
	slices.SortFunc(out, func(a, b replay.Skipped) int { return strings.Compare(string(a.Reason), string(b.Reason)) })
	return out
}

// Next implements replay.Source. It blocks while the input does.
func (s *Source) Next() (*replay.Record, error) {
	for len(s.ready) == 0 {
		if s.form == nil {
			return nil, s.err
		}
		if err := s.advance(); err != nil {
			s.end(err)
		}
	}
	r := s.ready[0]
	s.ready = s.ready[1:]
	return r, nil
}

// end ends the form, after err.
func (s *Source) end(err error) {
	ended := s.form.end(s, errors.Is(err, io.EOF))
	if s.err = err; errors.Is(err, io.EOF) && ended != nil {
		s.err = ended
	}
	var (
		torn     *replay.TornError
		document *DocumentError
	)
	switch {
	case errors.As(err, &torn):
		torn.Records, torn.Last = s.number, s.last
	case errors.As(err, &document) && s.number > 0: // what is before a mistake is used as what is before an end
		s.err = &replay.TornError{Records: s.number, Last: s.last, Offset: document.Offset, Err: err}
	}
	s.form = nil
}

// advance adds the next document to the form.
func (s *Source) advance() error {
	var doc *document
	switch {
	case len(s.read) > 0:
		doc, s.read = s.read[0], s.read[1:]
	case s.err != nil:
		return s.err
	default:
		var err error
		if doc, err = s.docs.next(); err != nil {
			return err
		}
	}
	return s.form.add(s, doc)
}

// emit adds a record to those that Next returns, and numbers it.
func (s *Source) emit(r *replay.Record) {
	s.number++
	r.Number = s.number
	if r.Time.After(s.last) {
		s.last = r.Time
	} else if !r.Time.IsZero() {
		r.Time = s.last
	}
	s.ready = append(s.ready, r)
}

// envelope is what tells documents apart. Fields that have another type than expected are empty: objects of some kind
// may have fields of these names.
type envelope struct {
	APIVersion, Kind string
	Metadata         objectMeta
	// HasStatus reports whether it has a status that is not empty.
	HasStatus bool
	// Type, Object and Items are JSON texts; nil if the document does not have them. Content is what Object has.
	Type, Object, Items []byte
	Content             *envelope
}

// objectMeta are the fields of metadata that records need.
type objectMeta struct {
	Name, Namespace, UID, ResourceVersion string
}

// parseEnvelope parses a document.
func parseEnvelope(doc *document) (*envelope, error) {
	e := &envelope{}
	s := rawjson.NewScanner(doc.text)
	err := e.read(s, doc.text, true)
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return nil, doc.syntaxError(err)
	}
	if doc.large && !e.isList() {
		return nil, doc.errorf("it has %d MB and is no list", len(doc.text)>>20)
	}
	return e, nil
}

// read reads a document, which is the next value of text, or an object within one.
func (e *envelope) read(s *rawjson.Scanner, text []byte, outer bool) error {
	return s.Object(func(key []byte) error {
		switch string(key) {
		case "apiVersion":
			return readString(s, &e.APIVersion)
		case "kind":
			return readString(s, &e.Kind)
		case "metadata":
			return e.Metadata.read(s)
		case "type":
			return readValue(s, text, &e.Type)
		case "status":
			span, err := s.Skip()
			e.HasStatus = err == nil && text[span.Start] == '{' && span.End-span.Start > len("{}")
			return err
		case "items":
			return readValue(s, text, &e.Items)
		case "object":
			if !outer || s.Peek() != '{' {
				return skip(s)
			}
			begin := s.Offset()
			e.Content = &envelope{}
			err := e.Content.read(s, text, false)
			e.Object = text[begin:s.Offset()]
			return err
		}
		return skip(s)
	})
}

func (m *objectMeta) read(s *rawjson.Scanner) error {
	if s.Peek() != '{' {
		return skip(s)
	}
	return s.Object(func(key []byte) error {
		switch string(key) {
		case "name":
			return readString(s, &m.Name)
		case "namespace":
			return readString(s, &m.Namespace)
		case "uid":
			return readString(s, &m.UID)
		case "resourceVersion":
			return readString(s, &m.ResourceVersion)
		}
		return skip(s)
	})
}

func skip(s *rawjson.Scanner) error {
	_, err := s.Skip()
	return err
}

// readString reads a string; a value of another type is skipped.
func readString(s *rawjson.Scanner, to *string) error {
	if s.Peek() != '"' {
		return skip(s)
	}
	var err error
	*to, err = s.String()
	return err
}

// readValue reads a value of any type, as a part of text.
func readValue(s *rawjson.Scanner, text []byte, to *[]byte) error {
	span, err := s.Skip()
	if err == nil {
		*to = text[span.Start:span.End]
	}
	return err
}

// isWatchEvent reports whether a document is a watch event. Secrets and Events have a type, too, but a kind besides.
func (e *envelope) isWatchEvent() bool { return e.Kind == "" && e.Type != nil && e.Object != nil }

// isAudit reports whether a document is an entry of an audit log, or a list of entries as webhooks get them.
func (e *envelope) isAudit() bool {
	return strings.HasPrefix(e.APIVersion, "audit.k8s.io/") && (e.Kind == "Event" || e.Kind == "EventList")
}

// isList reports whether a document is a list of objects. An object whose kind ends like one has a name.
func (e *envelope) isList() bool {
	return strings.HasSuffix(e.Kind, "List") && e.APIVersion != "" && e.Metadata.Name == ""
}

// items returns the items of a list, as parts of its text.
func (e *envelope) items() ([][]byte, error) {
	if e.Items == nil || string(e.Items) == "null" {
		return nil, nil
	}
	var items [][]byte
	s := rawjson.NewScanner(e.Items)
	err := s.Array(func(int) error {
		var item []byte
		err := readValue(s, e.Items, &item)
		items = append(items, item)
		return err
	})
	return items, err
}
