// Package redact replaces what must not be in a recording by placeholders: the values of Secrets, and what rules name.
// It edits the JSON of objects in place: all other bytes stay as the server wrote them. [New] makes a [Redactor] of
// rules that [ParseRule] has read; a recorder takes it as an option.
//
// It does not look for secrets elsewhere: what must be hidden and is in no Secret needs a rule.
//
// A placeholder is redacted-XXXXXXXX, with eight hexadecimal digits of a keyed hash of the value: equal values have
// equal placeholders, so that a change is still seen as one, and without the key, which is random and never stored, the
// value cannot be guessed and tried. Where the API has bytes, which are base64 in JSON, the placeholder is that text in
// base64.
//
// redact.go has the Redactor, walk.go how it finds values in JSON, rule.go the rules.
package redact

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Redactor redacts objects. It may be used concurrently.
type Redactor struct {
	key   []byte
	rules []Rule
}

// keySize is that of the key of the hash, in bytes.
const keySize = 32

// New returns a Redactor that redacts Secrets, and what the rules name. Its key is read from random, which must be
// cryptographically secure.
func New(random io.Reader, rules []Rule) (*Redactor, error) {
	r := &Redactor{key: make([]byte, keySize), rules: rules}
	if _, err := io.ReadFull(random, r.key); err != nil {
		return nil, fmt.Errorf("making a key to redact with: %w", err)
	}
	return r, nil
}

// Redact returns the object, of a stream, with placeholders, or object itself if there is nothing to redact. It does
// not change object. An error means that it cannot be sure to have found all: the object must not be recorded.
func (r *Redactor) Redact(stream *replay.Stream, object []byte) ([]byte, error) {
	p := r.plan(stream)
	if len(p.paths) == 0 && len(p.patterns) == 0 {
		return object, nil
	}
	return r.redact(p, object, 0)
}

// secretKind and lastApplied are what is redacted without a rule. The annotation is kubectl's copy of all fields.
const (
	secretKind  = "Secret"
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// plan returns what is to be redacted in the objects of a stream.
func (r *Redactor) plan(stream *replay.Stream) *plan {
	p := &plan{secret: stream.Group == "" && stream.Kind == secretKind}
	if p.secret {
		p.paths = append(p.paths, Path{{key: "data"}}, Path{{key: "stringData"}})
	}
	for i := range r.rules {
		rule := &r.rules[i]
		switch {
		case rule.pattern != nil:
			p.patterns = append(p.patterns, rule.pattern)
		case rule.Matches(stream):
			p.paths = append(p.paths, rule.path)
		}
	}
	return p
}

// errNotObject is the error of what is no object of an API.
var errNotObject = errors.New("it is no JSON object")

// redact redacts an object, or depth times the copy of one in an annotation.
func (r *Redactor) redact(p *plan, object []byte, depth int) ([]byte, error) {
	w := newWalk(r, p, object, depth)
	if w.scanner.Peek() != '{' {
		return nil, errNotObject
	}
	if err := w.value(place{active: p.paths}); err != nil {
		return nil, err
	}
	if err := w.scanner.End(); err != nil {
		return nil, err
	}
	return w.edited(), nil
}

// placeholder returns what stands for a value.
func (r *Redactor) placeholder(value []byte) string {
	h := hmac.New(sha256.New, r.key)
	h.Write(value)
	const digits = 8
	return "redacted-" + hex.EncodeToString(h.Sum(nil))[:digits]
}

// bytesPlaceholder returns what stands for bytes, which are base64 in JSON: that of the same value as text, in base64.
func (r *Redactor) bytesPlaceholder(value string) string {
	decoded, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		decoded = []byte(value)
	}
	return base64.StdEncoding.EncodeToString([]byte(r.placeholder(decoded)))
}

// quoted returns a string in JSON, without the escapes for HTML.
func quoted(text string) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
