package imports

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// auditEvent are the fields of an entry that are used: see Event in k8s.io/apiserver/pkg/apis/audit/v1.
type auditEvent struct {
	Kind       string    `json:"kind"`
	Level      string    `json:"level"`
	Stage      string    `json:"stage"`
	RequestURI string    `json:"requestURI"`
	Verb       string    `json:"verb"`
	User       auditUser `json:"user"`
	// ImpersonatedUser is whom User acts for, by kubectl --as.
	ImpersonatedUser *auditUser `json:"impersonatedUser"`
	UserAgent        string     `json:"userAgent"`
	ObjectRef        *objectRef `json:"objectRef"`
	ResponseStatus   struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	ResponseObject           rawObject `json:"responseObject"`
	RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
	StageTimestamp           time.Time `json:"stageTimestamp"`
	// Items are the entries if this is an EventList.
	Items []auditEvent `json:"items"`
}

type auditUser struct {
	Username string `json:"username"`
}

type objectRef struct {
	Resource    string `json:"resource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	UID         string `json:"uid"`
	APIGroup    string `json:"apiGroup"`
	APIVersion  string `json:"apiVersion"`
	Subresource string `json:"subresource"`
}

// rawObject is the text of an object.
type rawObject []byte

// UnmarshalJSON implements json.Unmarshaler.
func (o *rawObject) UnmarshalJSON(text []byte) error {
	*o = slices.Clone(text)
	return nil
}

// audit is a Kubernetes audit log. What a write was answered with is the object that it made. Of what was read, the
// first complete list of a kind is used.
//
// An API server writes entries when they are complete, and several write one log each: see reorder for their order.
type audit struct {
	order reorder
	// known are the last states of objects, for deletions that are answered with a Status.
	known map[replay.Key]*replay.Record
	size  int64
	// streams are those of the resources that were seen, for entries without an object.
	streams map[schema.GroupVersionResource]int
	// listed has the streams of which a list was used.
	listed map[int]bool
}

func newAudit() *audit {
	return &audit{
		known: map[replay.Key]*replay.Record{}, streams: map[schema.GroupVersionResource]int{}, listed: map[int]bool{},
	}
}

func (a *audit) add(s *Source, doc *document) error {
	e := &auditEvent{}
	if err := utiljson.Unmarshal(doc.text, e); err != nil {
		return doc.syntaxError(err)
	}
	entries := []auditEvent{*e}
	switch e.Kind {
	case "Event":
	case "EventList":
		entries = e.Items
	default:
		return doc.errorf("it is no entry of an audit log, as those before it are")
	}
	for i := range entries {
		changes, err := a.changes(s, &entries[i])
		if err != nil {
			return doc.errorf("%w", err)
		}
		for _, c := range changes {
			a.order.add(c)
		}
	}
	return a.flush(s, false)
}

func (a *audit) end(s *Source, _ bool) error { return a.flush(s, true) }

// flush emits the changes whose order is certain, or all.
func (a *audit) flush(s *Source, all bool) error {
	for c := a.order.next(all); c != nil; c = a.order.next(all) {
		if err := a.emit(s, c); err != nil {
			return err
		}
	}
	return nil
}

// change is a write that an audit log has.
type change struct {
	time     time.Time
	typ      replay.Type
	writer   string
	resource schema.GroupVersionResource
	// object is nil for a deletion that was answered with a Status: then ref names the object.
	object *object
	ref    *objectRef
	// list is set for a list.
	list *auditList
}

// auditList is a complete list of all objects of a kind.
type auditList struct {
	kind    schema.GroupVersionKind
	version string
	items   []*object
}

// The subresources by which objects are written, but whose answers are something else, and those that write nothing.
var (
	otherAnswers = []string{"binding", "eviction", "scale"}
	nothingKept  = []string{"attach", "exec", "log", "portforward", "proxy", "token"}
	// unstored are the groups whose objects are questions that are answered and not stored.
	unstored = []string{"authentication.k8s.io", "authorization.k8s.io"}
)

// changes returns what an entry changed: nothing, an object, or all objects of a collection that was deleted.
func (a *audit) changes(s *Source, e *auditEvent) ([]*change, error) {
	listed := e.listed()
	if !listed && !e.wrote() {
		return nil, nil
	}
	ref := e.ObjectRef
	c := change{
		time: e.StageTimestamp.UTC().Truncate(time.Microsecond), writer: e.User.Username, ref: ref,
		resource: schema.GroupVersionResource{Group: ref.APIGroup, Version: ref.APIVersion, Resource: ref.Resource},
	}
	if c.time.IsZero() {
		c.time = e.RequestReceivedTimestamp.UTC().Truncate(time.Microsecond)
	}
	if u := e.ImpersonatedUser; u != nil && u.Username != "" {
		c.writer = u.Username
	}
	if c.writer == "" {
		c.writer, _, _ = strings.Cut(e.UserAgent, "/")
	}
	if listed {
		return a.list(&c, e)
	}
	answer, err := e.answer()
	switch {
	case slices.Contains(otherAnswers, ref.Subresource):
		s.skipped[replay.SkipSubresource]++
		return nil, nil
	case err != nil:
		return nil, err
	case answer == nil:
		// Nothing is lost of a deletion: the object that is gone is that which was known.
		ok := e.ResponseStatus.Code == http.StatusOK && e.Level == "RequestResponse"
		if ok && e.Verb == "delete" && ref.Name != "" {
			c.typ = replay.TypeDeleted
			return []*change{&c}, nil
		}
		s.skipped[replay.SkipNoContent]++
		return nil, nil
	}
	var out []*change
	for _, o := range answer {
		one := c
		one.object, one.typ = o, e.typeOf(o)
		out = append(out, &one)
	}
	return out, nil
}

// listed reports whether an entry is a list of all objects of a kind that was answered. Whether the answer is complete,
// it says itself.
func (e *auditEvent) listed() bool {
	ref := e.ObjectRef
	if e.Verb != "list" || e.Stage != "ResponseComplete" || ref == nil {
		return false
	}
	return e.ResponseStatus.Code == http.StatusOK && len(e.ResponseObject) > 0 &&
		ref.Namespace == "" && ref.Name == "" && ref.Subresource == "" &&
		!e.asked("labelSelector") && !e.asked("fieldSelector") && !e.asked("continue")
}

// list returns the change that is a list, nothing if it is not complete. What is no list, such as a table, is nothing
// too.
func (a *audit) list(c *change, e *auditEvent) ([]*change, error) {
	doc := &document{text: e.ResponseObject}
	list, err := parseEnvelope(doc)
	if err != nil || !list.isList() || list.Kind == "List" {
		return nil, err
	}
	var rest struct {
		Metadata struct {
			Continue string `json:"continue"`
		} `json:"metadata"`
	}
	if err := utiljson.Unmarshal(doc.text, &rest); err != nil || rest.Metadata.Continue != "" {
		return nil, err
	}
	texts, kind, err := list.contents(doc)
	if err != nil {
		return nil, err
	}
	c.list = &auditList{kind: kind, version: list.Metadata.ResourceVersion}
	for _, text := range texts {
		o, err := parseObject(text, kind)
		if err != nil {
			return nil, err
		}
		if o.meta.Name == "" || o.gvk != kind {
			return nil, nil
		}
		c.list.items = append(c.list.items, o)
	}
	return []*change{c}, nil
}

// wrote reports whether an entry is a write of objects that succeeded.
func (e *auditEvent) wrote() bool {
	if e.Stage != "ResponseComplete" || e.ObjectRef == nil || e.ResponseStatus.Code >= http.StatusBadRequest {
		return false
	}
	if !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) {
		return false
	}
	ref := e.ObjectRef
	return !slices.Contains(unstored, ref.APIGroup) && !slices.Contains(nothingKept, ref.Subresource) &&
		!e.asked("dryRun")
}

// asked reports whether the request had a parameter, such as dryRun, which stores nothing.
func (e *auditEvent) asked(parameter string) bool {
	_, query, found := strings.Cut(e.RequestURI, "?")
	if !found {
		return false
	}
	values, err := url.ParseQuery(query)
	return err == nil && values.Has(parameter)
}

// answer returns the objects of the answer: none if there is no answer, or if it is a Status.
func (e *auditEvent) answer() ([]*object, error) {
	if len(e.ResponseObject) == 0 || string(e.ResponseObject) == "null" {
		return nil, nil
	}
	doc := &document{text: e.ResponseObject}
	list, err := parseEnvelope(doc)
	if err != nil {
		return nil, err
	}
	if list.Kind == "Status" && list.APIVersion == "v1" {
		return nil, nil
	}
	texts, kind, err := list.contents(doc)
	if err != nil {
		return nil, err
	}
	out := []*object{}
	for _, text := range texts {
		o, err := parseObject(text, kind)
		if err != nil {
			return nil, err
		}
		if o.meta.Name != "" {
			out = append(out, o)
		}
	}
	return out, nil
}

// typeOf returns what became of an object that the entry wrote.
func (e *auditEvent) typeOf(o *object) replay.Type {
	deletes := e.Verb == "delete" || e.Verb == "deletecollection"
	// An object that waits for finalizers, or for its pod to end, is only marked. It is gone with the write that
	// removes the last finalizer: see ShouldDeleteDuringUpdate in k8s.io/apiserver/pkg/registry/generic/registry.
	deletion := o.deletion()
	waits := deletion.marked && deletion.held
	switch {
	case deletes && !waits, deletion.marked && !waits:
		return replay.TypeDeleted
	case !deletes && e.ResponseStatus.Code == http.StatusCreated && e.ObjectRef.Subresource == "":
		return replay.TypeAdded
	default:
		return replay.TypeModified
	}
}

// deletion is what an object says of its deletion.
type deletion struct {
	marked bool // it is to be deleted
	held   bool // it stays for now
}

// deletion returns what an object says of its deletion. What cannot be parsed stays.
func (o *object) deletion() deletion {
	var d struct {
		Metadata struct {
			DeletionTimestamp *string  `json:"deletionTimestamp"`
			GracePeriod       int64    `json:"deletionGracePeriodSeconds"`
			Finalizers        []string `json:"finalizers"`
		} `json:"metadata"`
	}
	if err := utiljson.Unmarshal(o.text, &d); err != nil {
		return deletion{marked: bytes.Contains(o.text, []byte("deletionTimestamp")), held: true}
	}
	out := deletion{
		marked: d.Metadata.DeletionTimestamp != nil,
		held:   len(d.Metadata.Finalizers) > 0 || d.Metadata.GracePeriod > 0,
	}
	if out.marked && !out.held && o.gvk.Group == "" && o.gvk.Kind == "Namespace" {
		var namespace struct { // has finalizers of its own
			Spec struct {
				Finalizers []string `json:"finalizers"`
			} `json:"spec"`
		}
		err := utiljson.Unmarshal(o.text, &namespace)
		out.held = err != nil || len(namespace.Spec.Finalizers) > 0
	}
	return out
}

// emit emits the record of a change.
func (a *audit) emit(s *Source, c *change) error {
	switch {
	case c.list != nil:
		return a.emitList(s, c)
	case c.object == nil:
		return a.emitGone(s, c)
	}
	stream := s.streamOf(c.object, c.resource.Resource, c.time).Number
	a.streams[c.resource] = stream
	r := c.object.record(c.typ, stream)
	r.Time, r.Writer = c.time, c.writer
	s.emit(r)
	return a.keep(r)
}

// keep keeps the last state of an object.
func (a *audit) keep(r *replay.Record) error {
	k := r.Key()
	if before := a.known[k]; before != nil {
		a.size -= int64(len(before.Object))
		delete(a.known, k)
	}
	if r.Type != replay.TypeDeleted {
		a.known[k] = r
		a.size += int64(len(r.Object))
	}
	if a.size > maxCollected {
		return &replay.LimitError{What: "objects in the audit log", Size: a.size, Limit: maxCollected}
	}
	return nil
}

// emitList emits the first list of a stream. What was written before it, and was not yet written when the server read
// the list, is newer.
func (a *audit) emitList(s *Source, c *change) error {
	o := &object{gvk: c.list.kind}
	if len(c.list.items) > 0 {
		o = c.list.items[0]
	}
	stream := s.streamOf(o, c.resource.Resource, c.time).Number
	a.streams[c.resource] = stream
	if a.listed[stream] {
		return nil
	}
	a.listed[stream] = true
	s.emit(&replay.Record{Time: c.time, Type: replay.TypeListBegin, Stream: stream})
	for _, o := range c.list.items {
		if a.known[o.key(stream)] != nil {
			continue
		}
		r := o.record(replay.TypeListItem, stream)
		r.Time = c.time
		s.emit(r)
		if err := a.keep(r); err != nil {
			return err
		}
	}
	s.emit(&replay.Record{Time: c.time, Type: replay.TypeListEnd, Stream: stream, ResourceVersion: c.list.version})
	return nil
}

// emitGone emits the record of a deletion of which only the name is known, with the last state of the object.
func (a *audit) emitGone(s *Source, c *change) error {
	k := replay.Key{Stream: a.streams[c.resource], Namespace: c.ref.Namespace, Name: c.ref.Name}
	before := a.known[k]
	if before == nil || c.ref.UID != "" && c.ref.UID != before.UID {
		s.skipped[replay.SkipNoContent]++
		return nil
	}
	delete(a.known, k)
	a.size -= int64(len(before.Object))
	r := before.Clone()
	r.Type, r.Time, r.Writer = replay.TypeDeleted, c.time, c.writer
	s.emit(r)
	return nil
}
