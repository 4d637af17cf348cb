package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxLine bounds an event's line in bytes when a stream is read: more is not an event of ours.
const maxLine = 16 << 20

// Writer is a Sink that writes events as NDJSON, one object a line.
type Writer struct {
	enc *json.Encoder

	mu  sync.Mutex
	err error
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &Writer{enc: enc}
}

// Record implements Sink. After an error nothing more is written.
func (w *Writer) Record(e *Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.enc.Encode(e)
	}
}

// Err is the first error of a write, nil if there was none. It may be called at any time.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Reader reads events from NDJSON.
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

// Next returns the next event, or io.EOF after the last. Other errors name the line, and reading may go on after them
// unless the input itself failed.
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
