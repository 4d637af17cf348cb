package tap

import (
	"io"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// recorded fills in the API Event that the request records, if it does. The answer has it whole, a patch included; a
// refused creation has it in the request, and of a refused patch nothing is known but that it records one. a may be nil.
func (c *call) recorded(a *answer) {
	r := c.request
	if r.Resource != "events" || r.Group != "" && r.Group != eventsv1.GroupName || !r.IsWrite() {
		return
	}
	if r.Failed() || a == nil || a.kind != "Event" {
		a = c.sent()
	}
	if r.Verb == "patch" && r.Failed() {
		r.Recorded = &trace.RecordedEvent{}
	}
	if a == nil {
		return
	}
	obj, err := a.object()
	if err != nil {
		return // the patch says what changes, and not what the Event is about
	}
	r.Recorded, r.Change = recordedEvent(obj), nil // what is recorded says it all
}

// sent is the object in the request's body; nil if there is none that can be read again.
func (c *call) sent() *answer {
	if c.req.GetBody == nil {
		return nil
	}
	body, err := c.req.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = body.Close() }() // a buffer
	b, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	return newAnswer(b)
}

func recordedEvent(obj runtime.Object) *trace.RecordedEvent {
	switch e := obj.(type) {
	case *corev1.Event:
		return &trace.RecordedEvent{Type: e.Type, Reason: e.Reason, Message: e.Message, Regarding: regarding(&e.InvolvedObject)}
	case *eventsv1.Event:
		return &trace.RecordedEvent{Type: e.Type, Reason: e.Reason, Message: e.Note, Regarding: regarding(&e.Regarding)}
	}
	return nil
}

func regarding(r *corev1.ObjectReference) trace.Object {
	gvk := r.GroupVersionKind()
	return trace.Object{
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
		Namespace: r.Namespace, Name: r.Name, UID: string(r.UID),
	}
}

// recordedAt reads when an Event was first recorded, to the nanosecond, from its name: client-go's recorders end it with
// that (tools/record/util.GenerateEventName). It is zero for other names.
func recordedAt(name string) time.Time {
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '.')+1:], 16, 64)
	if err != nil || n < int64(time.Hour) {
		return time.Time{}
	}
	return time.Unix(0, n)
}
