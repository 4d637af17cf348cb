package apijson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
)

// maxEvent bounds a watch event, in bytes. The largest objects that an etcd holds have 1.5 MB.
const maxEvent = 64 << 20

// Event is an event of a watch. Its object is valid until the next one is read.
type Event struct {
	Type string // such as ADDED
	Item
}

// EventReader reads the events of a watch. It is for one goroutine.
type EventReader struct {
	in    *bufio.Reader
	frame []byte
}

// NewEventReader returns a reader of the body of an answer.
func NewEventReader(in io.Reader) *EventReader {
	return &EventReader{in: bufio.NewReaderSize(in, 64<<10)}
}

// Next returns the next event, or io.EOF. API servers write each in a line; one that has several lines is read, too.
func (r *EventReader) Next() (*Event, error) {
	r.frame = r.frame[:0]
	for {
		line, err := r.in.ReadSlice('\n')
		r.frame = append(r.frame, line...)
		switch {
		case len(r.frame) > maxEvent:
			return nil, fmt.Errorf("an event is larger than %d bytes", maxEvent)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(r.frame)) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		if err == nil && len(bytes.TrimSpace(r.frame)) == 0 {
			continue
		}
		e, problem := readEvent(r.frame)
		switch {
		case problem == nil:
			return e, nil
		case err != nil: // nothing more comes
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(problem, rawjson.ErrShort):
			return nil, problem
		}
	}
}

// readEvent reads an event: {"type": …, "object": …}.
func readEvent(frame []byte) (*Event, error) {
	e := &Event{}
	s := rawjson.NewScanner(frame)
	err := s.Object(func(key []byte) (err error) {
		switch {
		case string(key) == "type":
			e.Type, err = s.String()
		case string(key) == "object" && s.Peek() == '{':
			var span rawjson.Span
			span, err = e.Object(s)
			e.JSON = frame[span.Start:span.End]
		default:
			_, err = s.Skip()
		}
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && (e.Type == "" || e.JSON == nil) {
		err = errors.New("it is no watch event")
	}
	return e, err
}
