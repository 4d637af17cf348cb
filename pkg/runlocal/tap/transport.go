package tap

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/internal/apirequest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// transport observes a controller's requests. Callers get answers unchanged.
type transport struct {
	c      *Controller
	next   http.RoundTripper
	prefix string // of all paths, if the server is not at the root of its host
}

var _ http.RoundTripper = (*transport)(nil)

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.c.calls.Add(1)
	defer t.c.calls.Add(-1)
	if !t.c.tap.recording() {
		return t.next.RoundTrip(req)
	}
	s, r := currentActivity(), currentActivity().workingReconcile()
	call := t.begin(req)
	start := t.c.tap.clock.Now()
	resp, err := t.send(s, r, req)
	call.request.Latency = trace.Duration(t.c.tap.clock.Since(start))
	call.answered(resp, err)
	call.emit(r)
	return resp, err
}

// send makes the request in an activity with inRequest: writes in it are the reconcile's, but lines logged in it are
// not the controller's.
func (t *transport) send(s *activity, r *reconcile, req *http.Request) (*http.Response, error) {
	if r != nil {
		inner := &activity{controller: t.c, reconcile: r, event: s.event, inRequest: true}
		defer inner.enter(keyLabels(r)).end()
	}
	return t.next.RoundTrip(req)
}

// call is a request, and later its answer. One goroutine uses it, except that its bodies are compared later.
type call struct {
	t       *transport
	req     *http.Request
	request *trace.Request
	before  seenObject // the object before the request, for updates, patches and deletions; nil if it is not known
}

// begin reads the request. If it is not for a resource, its path is in the place of the resource.
func (t *transport) begin(req *http.Request) *call {
	c := &call{t: t, req: req}
	info, err := apirequest.Read(req, t.prefix)
	if err != nil || !info.IsResourceRequest {
		path := trace.Object{Resource: apirequest.Path(req, t.prefix)}
		c.request = &trace.Request{Verb: strings.ToLower(req.Method), Object: path}
		return c
	}
	c.request = &trace.Request{
		Verb: info.Verb, Subresource: info.Subresource, DryRun: req.URL.Query().Has("dryRun"),
		Object: trace.Object{
			Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource,
			Namespace: info.Namespace, Name: info.Name,
		},
	}
	c.request.DryRun = c.request.DryRun || t.c.tap.dryRun && c.request.IsWrite()
	c.request.Kind = t.c.tap.kinds().kind(&c.request.Object)
	switch c.request.Verb {
	case "update", "patch", "delete":
		c.before = t.c.tap.lastSeen(&c.request.Object)
	}
	return c
}

// streams reports whether the body of the answer may not end, or is not an object.
func (c *call) streams(resp *http.Response) bool {
	switch c.request.Verb {
	case "list", "watch":
		return resp.StatusCode < http.StatusBadRequest
	}
	switch c.request.Subresource {
	case "log", "exec", "attach", "portforward", "proxy":
		return true
	}
	return resp.StatusCode == http.StatusSwitchingProtocols
}

// answered reads the answer.
func (c *call) answered(resp *http.Response, err error) {
	defer c.nameUncreated()
	if unsent := c.t.c.tap.unsent; unsent != nil && c.request.IsWrite() {
		c.request.NotSent = unsent(resp, err)
	}
	if err != nil {
		c.request.Message = err.Error()
		return
	}
	c.request.Code = resp.StatusCode
	if c.streams(resp) {
		return
	}
	a := readAnswer(resp)
	if a == nil {
		c.recorded(nil)
		return
	}
	if c.request.Failed() {
		c.refused(a.status())
	} else {
		c.succeeded(a)
	}
	c.recorded(a)
}

// refused takes an error from the answer. Of one about a Secret it takes the message only if that cannot have values.
func (c *call) refused(s metav1.Status) {
	r := c.request
	r.Reason, r.Message = string(s.Reason), s.Message
	if r.Resource == "secrets" && r.Group == "" && !mayKeep(s) {
		r.Message = fmt.Sprintf("%s (%d); the message is not kept, as it may have values of the Secret",
			cmp.Or(r.Reason, "an error"), r.Code)
	}
	if r.Name == "" && c.req.GetBody == nil && s.Details != nil {
		r.Name = s.Details.Name // a server cannot read the request again
	}
}

// mayKeep reports whether the message of an error about a Secret has only names: those of the API server itself about
// access and versions. Validation, webhooks and policies may quote values.
func mayKeep(s metav1.Status) bool {
	switch s.Reason {
	case metav1.StatusReasonNotFound, metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists,
		metav1.StatusReasonUnauthorized:
		return true
	case metav1.StatusReasonForbidden:
		return deniedAccess.MatchString(s.Message)
	}
	return false
}

// deniedAccess matches the message of a request that RBAC denies: responsewriters.ForbiddenStatusError of
// k8s.io/apiserver.
var deniedAccess = regexp.MustCompile(
	`^secrets( "[^"]*")? is forbidden: User "[^"]*" cannot [a-z]+ resource "secrets" in API group "" `)

// nameUncreated takes the name of an object that was not created from the request, since the answer has none.
func (c *call) nameUncreated() {
	r := c.request
	if r.Verb != "create" || r.Name != "" || !r.Failed() {
		return
	}
	sent := c.sent()
	switch {
	case sent == nil:
	case sent.meta.Name != "":
		r.Name = sent.meta.Name
	default:
		r.GenerateName = sent.meta.GenerateName
	}
}

// succeeded takes from the answer what the path of the request does not have.
func (c *call) succeeded(a *answer) {
	r := c.request
	r.ResourceVersion = a.meta.ResourceVersion
	if r.Subresource == "scale" && c.before != nil {
		r.Change = scaledFrom(c.before, a)
	}
	if a.meta.Name == "" || r.Subresource != "" && r.Subresource != "status" {
		return
	}
	r.UID = string(a.meta.UID)
	if a.kind != partialMetadataKind {
		r.Kind = a.kind
	}
	r.Name, r.Namespace = a.meta.Name, a.meta.Namespace
	switch {
	case r.Verb == "create" || r.Code == http.StatusCreated: // as by server-side apply
		r.Owner = a.owner()
		r.Change = trace.ChangeFrom(func() []fields.Change { return a.created() })
	case c.before != nil && r.Verb != "delete":
		r.Change = c.changed(a)
	}
	// The object is kept to be compared with later versions, which metadata only cannot be.
	if !r.DryRun && (a.kind != partialMetadataKind || r.Verb == "delete") {
		c.t.c.tap.answers.put(&r.Object, a, r.Verb == "delete")
	}
}

// emit records the request, for the reconcile that made it; r may be nil.
func (c *call) emit(r *reconcile) {
	tap, q := c.t.c.tap, c.request
	if q.Recorded != nil && r == nil {
		key := objectKey(q.Recorded.Regarding.Namespace, q.Recorded.Regarding.Name)
		var at time.Time // zero for a patch, which counts a repetition: the name has the time of the first
		if q.Verb == "create" {
			at = recordedAt(q.Name)
		}
		if id := c.t.c.history.find(key, at); id != 0 {
			tap.rec.Emit(c.t.c.name, id, key, q)
			return
		}
	}
	if r != nil && q.IsWrite() && q.Recorded == nil {
		r.wrote(q.Failed())
		rv := snapshot.VersionNumber(q.ResourceVersion)
		changed := c.before == nil || c.before.version() != rv
		if !q.Failed() && !q.DryRun && changed {
			tap.writers.putIfAbsent(rv, r)
		}
	}
	c.t.c.emit(r, q)
}

// recorded sets the API Event that the request records, if it does. The answer contains it, also that of a patch. That
// of a failed creation is in the request; of a failed patch it is only known that it records an Event. a may be nil.
func (c *call) recorded(a *answer) {
	r := c.request
	if r.Resource != "events" || r.Group != "" && r.Group != eventsv1.GroupName || !r.IsWrite() {
		return
	}
	if r.Failed() || a == nil || a.kind != "Event" {
		a = c.sent()
	}
	if r.Failed() && (r.Verb == "patch" || r.Verb == "create" && c.req.GetBody == nil) {
		r.Recorded = &trace.RecordedEvent{}
	}
	if a == nil {
		return
	}
	obj, err := a.object()
	if err != nil {
		return // the patch has what changes, but not what the Event is about
	}
	r.Recorded, r.Change = recordedEvent(obj), nil // the Event has all that the difference would have
}

// sent returns the object in the body of the request; nil if there is none that can be read again.
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
		about := regarding(&e.InvolvedObject)
		return &trace.RecordedEvent{Type: e.Type, Reason: e.Reason, Message: e.Message, Regarding: about}
	case *eventsv1.Event:
		about := regarding(&e.Regarding)
		return &trace.RecordedEvent{Type: e.Type, Reason: e.Reason, Message: e.Note, Regarding: about}
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

// recordedAt returns when an Event was first recorded, which client-go's recorders put at the end of its name in
// nanoseconds (tools/record/util.GenerateEventName); zero for other names.
func recordedAt(name string) time.Time {
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '.')+1:], 16, 64)
	if err != nil || n < int64(time.Hour) {
		return time.Time{}
	}
	return time.Unix(0, n)
}
