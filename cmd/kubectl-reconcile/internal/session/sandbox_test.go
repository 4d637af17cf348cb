package session

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestAnnotationWarnings(t *testing.T) {
	var got []string
	w := &annotationWarnings{said: map[string]bool{}, warnf: func(format string, args ...any) {
		got = append(got, fmt.Sprintf(format, args...))
	}}
	event := func(name, reason, message string) {
		w.Record(&trace.Event{Detail: &trace.Request{Verb: "create", Recorded: &trace.RecordedEvent{
			Reason: reason, Message: message, Regarding: trace.Object{Kind: "Pod", Name: name},
		}}})
	}
	event("a", "InvalidAnnotation", "no such value")
	event("b", "InvalidAnnotation", "no such value") // of the same template
	event("c", "Started", "Container started")
	w.Record(&trace.Event{Detail: &trace.Request{Verb: "create"}})
	for i := range 9 {
		event("d", "InvalidAnnotation", fmt.Sprint("value ", i))
	}
	want := []string{"Pod a: no such value", "Pod d: value 0", "Pod d: value 1", "Pod d: value 2", "Pod d: value 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
