package tap

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// errorLevel is the highest level at which upstream's controllers log why a reconcile failed. Such lines are read for
// trace.End even if they are not recorded.
const errorLevel = 2

// sink makes events of the lines of a controller's logger. It is immutable and shared by loggers.
type sink struct {
	c      *Controller
	values []any // of WithValues
}

var _ logr.LogSink = (*sink)(nil)

// Init implements logr.LogSink.
func (*sink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (s *sink) Enabled(level int) bool {
	return s.c.tap.recording() && level <= max(s.c.tap.verbosity, errorLevel, s.c.traits.ErrorLevel)
}

// Info implements logr.LogSink. An error among the values is the reason of a failure, if the reconcile fails.
func (s *sink) Info(level int, message string, keysAndValues ...any) {
	if begins := s.c.traits.BegunKey; begins != nil {
		if key := begins(message, keysAndValues); key != "" {
			s.c.handoffs.begin(key)
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
	if !s.c.tap.recording() {
		return
	}
	text := s.c.errorText(err)
	r := s.reconcile(true)
	if r != nil && (text != "" || !r.timerLoop) {
		r.reported(orElse(text, message), s.c.tap.stacks.reporter())
	}
	s.record(r, &trace.Log{Message: message, Error: text}, keysAndValues)
}

// reconcile returns the reconcile of this controller that the calling goroutine works for; nil if there is none. That
// of a timer loop begins if the line is recorded.
func (s *sink) reconcile(recorded bool) *reconcile {
	a := currentActivity()
	r := a.reconcile
	if recorded {
		r = a.workingReconcile()
	}
	if r == nil || r.c != s.c {
		return nil
	}
	return r
}

func (s *sink) record(r *reconcile, l *trace.Log, keysAndValues []any) {
	l.Values = values(s.c.traits.FormatValue, s.values, keysAndValues)
	s.c.emit(r, l)
}

// WithValues implements logr.LogSink.
func (s *sink) WithValues(keysAndValues ...any) logr.LogSink {
	return &sink{c: s.c, values: append(slices.Clip(s.values), keysAndValues...)}
}

// WithName implements logr.LogSink. Names are dropped: the event has the controller's.
func (s *sink) WithName(string) logr.LogSink { return s }

// emit records an event of the controller that belongs to r, or to no reconcile if r is nil.
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

// init appends handleError to utilruntime.ErrorHandlers: upstream has no other way to observe errors that controllers
// report without their logger. The list is global and is read without a lock, by the goroutines of any client or server
// of the process: later than here, such as by New, it could not be written safely. So this is the one init of the
// project.
func init() {
	utilruntime.ErrorHandlers = append(utilruntime.ErrorHandlers, handleError)
}

// handleError records an error that was passed to utilruntime.HandleError, HandleErrorWithContext or
// HandleErrorWithLogger by a goroutine that works for an observed controller. The first handler in the list logs it: if
// the context has a logger of the tap, that has recorded it already.
func handleError(ctx context.Context, err error, message string, keysAndValues ...any) {
	if _, seen := klog.FromContext(ctx).GetSink().(*sink); seen {
		return
	}
	s := currentActivity()
	if s.controller == nil || s.inRequest || !s.controller.tap.recording() {
		return
	}
	text := s.controller.errorText(err)
	r := s.workingReconcile()
	if r != nil {
		r.reported(orElse(text, message), s.controller.tap.stacks.reporter())
	}
	logged := values(s.controller.traits.FormatValue, keysAndValues)
	s.controller.emit(r, &trace.Log{Message: message, Error: text, Values: logged})
}

// maxValue bounds the text of a logged value, in bytes: some controllers log whole objects, or the difference of two.
const maxValue = 1024

// values returns logged keys and values as text. If a key occurs twice the last value counts, in the place of the
// first, as klog has it. format returns the text of a value, or "" to have it formatted as usual; it may be nil.
func values(format func(any) string, lists ...[]any) trace.Values {
	var out trace.Values
	for _, list := range lists {
		for i := 0; i < len(list); i += 2 {
			v := trace.Value{Key: fmt.Sprint(list[i]), Value: "(MISSING)"}
			if i+1 < len(list) {
				v.Value = formattedText(format, list[i+1])
			}
			out = put(out, v)
		}
	}
	return out
}

func formattedText(format func(any) string, v any) string {
	if format != nil {
		if text := format(v); text != "" {
			return truncate(text)
		}
	}
	return valueText(v)
}

func put(list trace.Values, v trace.Value) trace.Values {
	for i := range list {
		if list[i].Key == v.Key {
			list[i].Value = v.Value
			return list
		}
	}
	return append(list, v)
}

// valueText returns a value as text by the rules of klog's text output (internal/serialize/keyvalues.go), without its
// quotes. Of an API object it returns only the name: upstream logs whole objects at level 4, and all pods that
// ReplicaSet sees would make up most of the trace. If a method of the value panics, the text is the panic.
func valueText(v any) string { return truncate(wholeText(v)) }

// wholeText is valueText without a limit.
func wholeText(v any) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("<panic: %v>", p)
		}
	}()
	return formatted(v)
}

func formatted(v any) string {
	switch v := v.(type) {
	case metav1.Object:
		return objectKey(v.GetNamespace(), v.GetName())
	case fmt.Stringer:
		return v.String()
	case string:
		return v
	case error:
		return v.Error()
	case logr.Marshaler:
		return formatted(v.MarshalLog())
	case []byte:
		quoted := fmt.Sprintf("%+q", v)
		return quoted[1 : len(quoted)-1]
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	var s string
	if json.Unmarshal(b, &s) == nil && string(b) != "null" {
		return s
	}
	return string(b)
}

// truncate shortens a text to maxValue bytes, at the end of a character, and appends how much is missing.
func truncate(s string) string {
	if len(s) <= maxValue {
		return s
	}
	end := maxValue
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes more)", strings.TrimSpace(s[:end]), len(s)-end)
}
