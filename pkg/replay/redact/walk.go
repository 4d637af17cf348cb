package redact

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
)

// plan is what is to be redacted in the objects of a kind.
type plan struct {
	secret   bool
	paths    []Path
	patterns []*regexp.Regexp
}

// place is where in an object a value is, as far as that matters.
type place struct {
	// active are the rest of the paths that may lead to values in it. An empty one names the value itself.
	active []Path
	// at is how the value was reached from the root, as long as that leads to metadata or annotations.
	at landmark
	// all means that everything in it is redacted, bytes that it is base64.
	all, bytes bool
	// identity means that the value names the object, and cannot be replaced.
	identity bool
	// annotation is the key of an annotation; empty for other values.
	annotation string
}

// landmark is a place that has rules of its own.
type landmark int

const (
	atRoot landmark = iota
	atMetadata
	atAnnotations
	elsewhere
)

// maxCopies bounds how deep copies of an object in annotations of copies are followed.
const maxCopies = 2

// walk goes through an object once and collects what to replace.
type walk struct {
	redactor *Redactor
	plan     *plan
	scanner  *rawjson.Scanner
	object   []byte
	depth    int // of copies in annotations
	edits    []edit
}

// edit replaces a part of the object. Edits are in order and do not overlap.
type edit struct {
	rawjson.Span
	with []byte
}

func newWalk(r *Redactor, p *plan, object []byte, depth int) *walk {
	return &walk{redactor: r, plan: p, scanner: rawjson.NewScanner(object), object: object, depth: depth}
}

// edited returns the object with the edits; itself if there are none.
func (w *walk) edited() []byte {
	if len(w.edits) == 0 {
		return w.object
	}
	out := make([]byte, 0, len(w.object))
	from := 0
	for _, e := range w.edits {
		out = append(append(out, w.object[from:e.Start]...), e.with...)
		from = e.End
	}
	return append(out, w.object[from:]...)
}

// value reads the next value.
func (w *walk) value(p place) error {
	for _, path := range p.active {
		p.all = p.all || len(path) == 0
	}
	interesting := p.all || len(p.active) > 0 || len(w.plan.patterns) > 0 || p.at != elsewhere || p.annotation != ""
	if !interesting {
		_, err := w.scanner.Skip()
		return err
	}
	switch w.scanner.Peek() {
	case '{':
		return w.scanner.Object(func(key []byte) error { return w.value(w.member(p, string(key))) })
	case '[':
		return w.scanner.Array(func(i int) error { return w.value(w.element(p, i)) })
	case '"':
		return w.text(p)
	case 'n':
		_, err := w.scanner.Skip()
		return err
	case 't', 'f':
		return w.scalar(p, "false")
	default:
		return w.scalar(p, "0")
	}
}

// isBytesKey reports whether a key is that of a field of built-in kinds that rules may name and that holds bytes.
func isBytesKey(key string) bool { return key == "binaryData" || key == "caBundle" }

// member returns the place of a member of an object.
func (w *walk) member(p place, key string) place {
	out := place{all: p.all, bytes: p.bytes || isBytesKey(key), at: elsewhere}
	for _, path := range p.active {
		if len(path) > 0 && path[0].matchesKey(key) {
			out.active = append(out.active, path[1:])
		}
	}
	switch p.at {
	case atRoot:
		if key == "metadata" {
			out.at = atMetadata
		}
		out.identity = key == "apiVersion" || key == "kind"
		out.bytes = out.bytes || w.plan.secret && strings.EqualFold(key, "data")
	case atMetadata:
		if key == "annotations" {
			out.at = atAnnotations
		}
		out.identity = key == "name" || key == "namespace" || key == "uid" || key == "resourceVersion"
	case atAnnotations:
		out.annotation = key
		// Other tools than kubectl keep a copy of the object, too, in forms of their own.
		out.all = out.all || w.plan.secret && key != lastApplied && strings.Contains(strings.ToLower(key), "applied")
	case elsewhere:
	}
	return out
}

// element returns the place of an element of a list. A path that names no element goes on in each of them.
func (w *walk) element(p place, index int) place {
	out := place{all: p.all, bytes: p.bytes, at: elsewhere}
	for _, path := range p.active {
		switch {
		case len(path) == 0:
		case !path[0].element && !path[0].any:
			out.active = append(out.active, path)
		case path[0].matchesIndex(index):
			out.active = append(out.active, path[1:])
		}
	}
	return out
}

// scalar reads a number or true or false.
func (w *walk) scalar(p place, with string) error {
	span, err := w.scanner.Skip()
	if err == nil && p.all {
		w.edits = append(w.edits, edit{span, []byte(with)})
	}
	return err
}

// text reads a string.
func (w *walk) text(p place) error {
	start := *w.scanner
	span, err := w.scanner.Skip()
	if err != nil {
		return err
	}
	value, err := start.String()
	if err != nil {
		return err
	}
	text := value
	switch {
	case p.all && p.identity:
		return errIdentity
	case p.all && p.bytes:
		text = w.redactor.bytesPlaceholder(value)
	case p.all:
		text = w.redactor.placeholder([]byte(value))
	default:
		if p.annotation == lastApplied {
			text = w.copied(value)
		}
		if text, err = w.replaced(p, text); err != nil {
			return err
		}
	}
	if text == value {
		return nil
	}
	with, err := quoted(text)
	if err != nil {
		return err
	}
	w.edits = append(w.edits, edit{span, with})
	return nil
}

// errIdentity is the error of an object whose name, or what else identifies it, would have to be redacted.
var errIdentity = fmt.Errorf("what is to be redacted is in the name of the object")

// replaced replaces what the patterns match in a text.
func (w *walk) replaced(p place, text string) (string, error) {
	for _, pattern := range w.plan.patterns {
		if !pattern.MatchString(text) {
			continue
		}
		if p.identity {
			return "", errIdentity
		}
		text = pattern.ReplaceAllStringFunc(text, func(match string) string {
			return w.redactor.placeholder([]byte(match))
		})
	}
	return text, nil
}

// copied redacts the copy of the object that kubectl keeps. If it cannot be read, all of it is redacted.
func (w *walk) copied(value string) string {
	if w.depth < maxCopies {
		out, err := w.redactor.redact(w.plan, []byte(value), w.depth+1)
		if err == nil {
			return string(out)
		}
	}
	return w.redactor.placeholder([]byte(value))
}
