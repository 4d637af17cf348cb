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
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
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
		Code    int    `json:"code"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
		Details struct {
			UID string `json:"uid"`
		} `json:"details"`
	} `json:"responseStatus"`
	RequestObject            rawObject `json:"requestObject"`
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

// change is a write that an audit log has, or a list.
type change struct {
	time     time.Time
	verb     string
	code     int
	writer   string
	resource schema.GroupVersionResource
	ref      *objectRef
	// version is the resource version of the answer; empty if it has none.
	version string
	// request is the request as an event of a trace; nil for a list, and for all but the first change of a collection.
	request *trace.Event
	// unseen is set if nothing else than the request is known.
	unseen bool
	// One of these is set. If none is, an object was deleted, of which the answer has nothing.
	object *object
	part   *objectPart
	list   *auditList
}

// auditList is a complete list of all objects of a kind.
type auditList struct {
	kind    schema.GroupVersionKind
	version string
	items   []*object
}

// The subresources by which objects are written, but whose answers are something else, and those that write nothing.
var (
	otherAnswers = []string{"binding", "eviction"}
	nothingKept  = []string{"attach", "exec", "log", "portforward", "proxy", "token"}
	// unstored are the groups whose objects are questions that are answered and not stored.
	unstored = []string{"authentication.k8s.io", "authorization.k8s.io"}
)

// change returns what all changes of an entry have.
func (e *auditEvent) change() change {
	ref := e.ObjectRef
	c := change{
		time: e.StageTimestamp.UTC().Truncate(time.Microsecond), verb: e.Verb, code: e.ResponseStatus.Code,
		writer: e.User.Username, ref: ref,
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
	return c
}

// changes returns what an entry changed, and why it is less than what it has written; empty if it is all.
func (e *auditEvent) changes() ([]*change, replay.SkipReason, error) {
	switch {
	case e.listed():
		out, err := e.list()
		return out, "", err
	case !e.writes():
		return nil, "", nil
	}
	c := e.change()
	doc := &document{text: e.ResponseObject}
	answer := &envelope{}
	if len(doc.text) > 0 && string(doc.text) != "null" {
		var err error
		if answer, err = parseEnvelope(doc); err != nil {
			return nil, "", err
		}
	}
	c.version = answer.Metadata.ResourceVersion
	c.request = e.traced(&c, answer)
	changes, skipped, err := e.written(c, doc, answer)
	if err == nil && len(changes) == 0 && c.request != nil {
		c.unseen = true
		changes = []*change{&c}
	}
	return changes, skipped, err
}

// written returns what a write changed, and why it is less than what it has written; empty if it is all.
func (e *auditEvent) written(c change, doc *document, answer *envelope) ([]*change, replay.SkipReason, error) {
	switch {
	case e.ResponseStatus.Code >= http.StatusBadRequest:
		return nil, "", nil
	case slices.Contains(otherAnswers, e.ObjectRef.Subresource):
		return nil, replay.SkipSubresource, nil
	case answer.Kind == "" || answer.Kind == "Status" && answer.APIVersion == "v1":
		// Nothing is lost of a deletion: the object that is gone is that which was known.
		ok := e.ResponseStatus.Code == http.StatusOK && e.Level == "RequestResponse"
		if ok && e.Verb == "delete" && e.ObjectRef.Name != "" {
			return []*change{&c}, "", nil
		}
		return nil, replay.SkipNoContent, nil
	case e.ObjectRef.Subresource == "scale":
		c.part = &objectPart{scale: doc.text}
		return []*change{&c}, "", nil
	case strings.HasPrefix(answer.APIVersion, "meta.k8s.io/") && answer.Kind == "PartialObjectMetadata":
		c.part = &objectPart{metadata: doc.text}
		return []*change{&c}, "", nil
	case strings.HasPrefix(answer.APIVersion, "meta.k8s.io/"):
		return nil, replay.SkipNoContent, nil
	case e.Verb == "deletecollection":
		return e.collection(c, doc, answer)
	}
	o, err := parseObject(doc.text, schema.GroupVersionKind{})
	if err != nil || o.meta.Name == "" {
		return nil, replay.SkipNoContent, err
	}
	c.object = o
	return []*change{&c}, "", nil
}

// collection returns the deletions of a collection. The answer has the objects as they were listed before, so that
// those which were only marked for deletion look as they did: what became of them later entries say.
func (e *auditEvent) collection(c change, doc *document, answer *envelope) ([]*change, replay.SkipReason, error) {
	if !answer.isList() {
		return nil, replay.SkipNoContent, nil
	}
	texts, kind, err := answer.contents(doc)
	if err != nil {
		return nil, "", err
	}
	var out []*change
	var skipped replay.SkipReason
	for _, text := range texts {
		o, err := parseObject(text, kind)
		if err != nil {
			return nil, "", err
		}
		if o.meta.Name == "" || o.staysWhenDeleted() {
			skipped = replay.SkipNoContent
			continue
		}
		one := c
		one.object, one.version = o, o.meta.ResourceVersion
		out = append(out, &one)
		c.request = nil // there was one
	}
	return out, skipped, nil
}

// staysWhenDeleted reports whether an object would only be marked for deletion: because of its finalizers, or as a pod
// that runs.
func (o *object) staysWhenDeleted() bool {
	if o.deletion().held {
		return true
	}
	if o.gvk.Group != "" || o.gvk.Kind != "Pod" {
		return false
	}
	var pod struct {
		Spec struct {
			NodeName string `json:"nodeName"`
		} `json:"spec"`
		Status struct {
			Phase string `json:"phase"`
		} `json:"status"`
	}
	err := utiljson.Unmarshal(o.text, &pod)
	return err != nil || pod.Spec.NodeName != "" && pod.Status.Phase != "Succeeded" && pod.Status.Phase != "Failed"
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
func (e *auditEvent) list() ([]*change, error) {
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
	c := e.change()
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
	return []*change{&c}, nil
}

// writes reports whether an entry is a write of objects, which may have been refused.
func (e *auditEvent) writes() bool {
	if e.Stage != "ResponseComplete" || e.ObjectRef == nil {
		return false
	}
	if !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) {
		return false
	}
	ref := e.ObjectRef
	return !slices.Contains(unstored, ref.APIGroup) && !slices.Contains(nothingKept, ref.Subresource) &&
		!e.asked("dryRun") && !e.deletesNothing()
}

// deletesNothing reports whether a deletion was a dry run by its body.
func (e *auditEvent) deletesNothing() bool {
	var options struct {
		DryRun []string `json:"dryRun"`
	}
	isDeletion := e.Verb == "delete" || e.Verb == "deletecollection"
	return isDeletion && len(e.RequestObject) > 0 && utiljson.Unmarshal(e.RequestObject, &options) == nil &&
		len(options.DryRun) > 0
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

// typeOf returns what became of an object that the change made.
func (c *change) typeOf(o *object) replay.Type {
	deletes, deletion := c.deletes(), o.deletion()
	// An object that waits for finalizers, or for its pod to end, is only marked. It is gone with the write that
	// removes the last finalizer: see ShouldDeleteDuringUpdate in k8s.io/apiserver/pkg/registry/generic/registry.
	waits := deletion.marked && deletion.held
	switch {
	case deletes && !waits, deletion.marked && !waits:
		return replay.TypeDeleted
	case !deletes && c.code == http.StatusCreated && c.ref.Subresource == "":
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
