package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// encode is json.Marshal without escapes for HTML: a handler is "addPod > enqueueRS".
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Duration is a time.Duration that is a string in JSON: "511µs".
type Duration time.Duration

// String returns the duration as time.Duration.String does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// Values are logged keys and values in the order in which they were logged; in JSON they are one object.
type Values []Value

// MarshalJSON writes an object whose keys are in order. A key that occurs twice is written twice, as it was logged.
func (v Values) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, kv := range v {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, s := range []string{kv.Key, kv.Value} {
			if j > 0 {
				b.WriteByte(':')
			}
			text, err := encode(s)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object of strings in its order.
func (v *Values) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("reading logged values: not an object")
	}
	*v = nil
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fmt.Errorf("reading logged values: %w", err)
		}
		var value string
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("reading logged value %q: %w", key, err)
		}
		*v = append(*v, Value{Key: fmt.Sprint(key), Value: value})
	}
	return nil
}

// MarshalJSON writes how the manager wrote beside its name.
func (w Watch) MarshalJSON() ([]byte, error) {
	type plain Watch // without this method
	by := w.Manager.Writer()
	w.ManagerOperation, w.ManagerSubresource = by.Operation, by.Subresource
	return encode(plain(w))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (w *Watch) UnmarshalJSON(b []byte) error {
	type plain Watch
	if err := json.Unmarshal(b, (*plain)(w)); err != nil {
		return err
	}
	if by := (fields.Writer{
		Manager: w.Manager.Name(), Operation: w.ManagerOperation, Subresource: w.ManagerSubresource,
	}); by.Manager != "" {
		w.Manager = ManagerFrom(func() fields.Writer { return by })
	}
	w.ManagerOperation, w.ManagerSubresource = "", ""
	return nil
}

// MarshalJSON omits the change in the watch event, which the event of that Seq has.
func (c Cause) MarshalJSON() ([]byte, error) {
	type plain Cause // without this method
	if c.Watch != nil && c.Watch.Change != nil {
		watch := *c.Watch
		watch.Change = nil
		c.Watch = &watch
	}
	return encode(plain(c))
}

// header is the part of an event's JSON that all types share. No Detail has fields of these names.
type header struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Seq        uint64      `json:"seq"`
	Time       time.Time   `json:"time"`
	Type       Type        `json:"type"`
	Controller string      `json:"controller,omitempty"`
	Reconcile  ReconcileID `json:"reconcile,omitempty"`
	Key        string      `json:"key,omitempty"`
}

// MarshalJSON writes the event as one flat object: the common fields, then those of its Detail.
func (e *Event) MarshalJSON() ([]byte, error) {
	if e.Detail == nil {
		return nil, fmt.Errorf("writing trace event %d: it has no detail", e.Seq)
	}
	head, err := encode(header{APIVersion, Kind, e.Seq, e.Time, e.Type(), e.Controller, e.Reconcile, e.Key})
	if err != nil {
		return nil, err
	}
	detail, err := encode(e.Detail)
	if err != nil {
		return nil, err
	}
	if len(detail) <= len("{}") {
		return head, nil
	}
	head[len(head)-1] = ','
	return append(head, detail[1:]...), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. An unknown apiVersion, kind or type is an error; unknown fields are not.
func (e *Event) UnmarshalJSON(b []byte) error {
	var h header
	if err := json.Unmarshal(b, &h); err != nil {
		return err
	}
	if h.APIVersion != APIVersion || h.Kind != Kind {
		return fmt.Errorf("not a %s of %s, but a %q of %q", Kind, APIVersion, h.Kind, h.APIVersion)
	}
	detail := newDetail(h.Type)
	if detail == nil {
		return fmt.Errorf("unknown type of trace event %q", h.Type)
	}
	if err := json.Unmarshal(b, detail); err != nil {
		return err
	}
	*e = Event{h.Seq, h.Time, h.Controller, h.Reconcile, h.Key, detail}
	return nil
}

func newDetail(t Type) Detail {
	switch t {
	case TypeWatch:
		return &Watch{}
	case TypeEnqueue:
		return &Enqueue{}
	case TypeStart:
		return &Start{}
	case TypeLog:
		return &Log{}
	case TypeRequest:
		return &Request{}
	case TypeEnd:
		return &End{}
	case TypeDropped:
		return &Dropped{}
	case TypeClientRequest:
		return &ClientRequest{}
	}
	return nil
}

// maxLine bounds the line of an event that a Reader accepts, in bytes.
const maxLine = 16 << 20

// Writer is a Sink that writes events as NDJSON, one object a line. All its methods may be called concurrently.
type Writer struct {
	enc *json.Encoder

	mu  sync.Mutex // guards enc and err
	err error
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &Writer{enc: enc}
}

// Record implements Sink. After an error it writes nothing.
func (w *Writer) Record(e *Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.enc.Encode(e)
	}
}

// Err returns the first error of a write, nil if there was none.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Reader reads events from NDJSON. Its methods must not be called concurrently.
type Reader struct {
	lines *bufio.Scanner
	line  int
}

// NewReader returns a Reader of what a Writer wrote.
func NewReader(r io.Reader) *Reader {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	return &Reader{lines: lines}
}

// Next returns the next event, or io.EOF after the last. Other errors contain the number of the line; Next may be
// called again after them, unless reading the input itself failed.
func (r *Reader) Next() (*Event, error) {
	for r.lines.Scan() {
		r.line++
		if len(r.lines.Bytes()) == 0 {
			continue
		}
		e := &Event{}
		if err := json.Unmarshal(r.lines.Bytes(), e); err != nil {
			return nil, fmt.Errorf("reading trace line %d: %w", r.line, err)
		}
		return e, nil
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("reading trace line %d: longer than %d bytes", r.line+1, maxLine)
	case err != nil:
		return nil, fmt.Errorf("reading trace line %d: %w", r.line+1, err)
	}
	return nil, io.EOF
}
