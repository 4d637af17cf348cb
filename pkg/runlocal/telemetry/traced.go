package telemetry

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// patience is how long one write to a reader of the trace may take.
const patience = 10 * time.Second

// traced serves the trace from the moment of the request on, until the reader goes, the session ends, or the reader is too
// slow: then the connection is cut, so that it does not look like the end.
func traced(o Options) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		controllers := wanted(r)
		if err := known(o, controllers); err != nil {
			text(w, http.StatusBadRequest, err.Error()+"\n")
			return
		}
		sub, err := o.Stream.subscribe(controllers)
		if err != nil {
			text(w, http.StatusServiceUnavailable, err.Error()+"\n")
			return
		}
		defer o.Stream.unsubscribe(sub)
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Cache-Control", "no-store")
		out := newLines(w)
		if out.flush() == nil && out.copy(sub, r.Context().Done()) == nil && !sub.slow {
			return
		}
		panic(http.ErrAbortHandler)
	}
}

// wanted are the controllers of ?controller=, which may be given as a comma list, or several times.
func wanted(r *http.Request) []string {
	var out []string
	for _, list := range r.URL.Query()["controller"] {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// known refuses a name that no controller here has: nothing would ever come.
func known(o Options, asked []string) error {
	session := o.Session()
	if session == nil {
		return nil
	}
	var names []string
	for _, c := range session.State().Controllers {
		names = append(names, c.Name)
	}
	for _, name := range asked {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no controller %q runs here; these do: %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// lines writes events to a reader who may be slow.
type lines struct {
	*bufio.Writer
	trace *trace.Writer
	http  *http.ResponseController
}

func newLines(w http.ResponseWriter) *lines {
	buffered := bufio.NewWriterSize(w, 1<<16)
	return &lines{buffered, trace.NewWriter(buffered), http.NewResponseController(w)}
}

// copy writes what comes, and sends it on whenever there is a pause. It ends with nil when nothing more comes.
func (l *lines) copy(sub *subscription, gone <-chan struct{}) error {
	for {
		select {
		case e, more := <-sub.events:
			if !more {
				return l.flush()
			}
			l.extend()
			l.trace.Record(e)
			if err := l.trace.Err(); err != nil {
				return err
			}
			if len(sub.events) == 0 {
				if err := l.flush(); err != nil {
					return err
				}
			}
		case <-gone:
			return nil
		}
	}
}

// extend gives the next write its time. Only tests have writers without deadlines.
func (l *lines) extend() { _ = l.http.SetWriteDeadline(time.Now().Add(patience)) }

func (l *lines) flush() error {
	l.extend()
	return errors.Join(l.Flush(), l.http.Flush())
}
