package tap

import (
	"slices"

	"github.com/go-logr/logr"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// errorLevel is the highest level at which upstream's controllers tell why a reconcile failed: such lines are read, for
// trace.End's sake, even if they are not recorded.
const errorLevel = 2

// sink turns the lines of a controller's logger into events. It is immutable; loggers share it.
type sink struct {
	c      *Controller
	values []any // of WithValues
}

var _ logr.LogSink = (*sink)(nil)

// Init implements logr.LogSink.
func (*sink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (s *sink) Enabled(level int) bool {
	return s.c.tap.on() && level <= max(s.c.tap.verbosity, errorLevel, s.c.traits.ErrorLevel)
}

// Info implements logr.LogSink. An error among the values is the reason for a failure, should one follow.
func (s *sink) Info(level int, message string, keysAndValues ...any) {
	if begins := s.c.traits.Begins; begins != nil {
		if key := begins(message, keysAndValues); key != "" {
			s.c.handed.begin(key)
		}
	}
	r := s.reconcile(level <= s.c.tap.verbosity)
	if r != nil {
		for i := 1; i < len(keysAndValues); i += 2 {
			if err, ok := keysAndValues[i].(error); ok && err != nil {
				r.reported(s.c.errorText(err), "")
			}
		}
	}
	if level <= s.c.tap.verbosity {
		s.record(r, &trace.Log{Level: level, Message: message}, keysAndValues)
	}
}

// Error implements logr.LogSink. The level of an error is 0.
func (s *sink) Error(err error, message string, keysAndValues ...any) {
	if !s.c.tap.on() {
		return
	}
	text := s.c.errorText(err)
	r := s.reconcile(true)
	if r != nil && (text != "" || !r.turn) {
		r.reported(orElse(text, message), s.c.tap.stacks.reporter())
	}
	s.record(r, &trace.Log{Message: message, Error: text}, keysAndValues)
}

// reconcile is the one of this controller that the calling goroutine works on, nil if it works on none. That of a turn
// begins if a line is told of it.
func (s *sink) reconcile(told bool) *reconcile {
	scope := current()
	r := scope.reconcile
	if told {
		r = scope.working()
	}
	if r == nil || r.c != s.c {
		return nil
	}
	return r
}

func (s *sink) record(r *reconcile, l *trace.Log, keysAndValues []any) {
	l.Values = values(s.c.traits.Value, s.values, keysAndValues)
	s.c.emit(r, l)
}

// WithValues implements logr.LogSink.
func (s *sink) WithValues(keysAndValues ...any) logr.LogSink {
	return &sink{c: s.c, values: append(slices.Clip(s.values), keysAndValues...)}
}

// WithName implements logr.LogSink. Names are left out: the controller is the event's.
func (s *sink) WithName(string) logr.LogSink { return s }

// emit emits an event of the controller that belongs to r, or to no reconcile if r is nil.
func (c *Controller) emit(r *reconcile, d trace.Detail) {
	if r == nil {
		c.tap.rec.Emit(c.name, 0, "", d)
		return
	}
	c.tap.rec.Emit(c.name, r.id, r.key, d)
}

func orElse(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}
