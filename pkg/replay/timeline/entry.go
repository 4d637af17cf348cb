package timeline

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
)

// Type is what an Entry is about.
type Type string

// The types of entries. The first three are watch events, spelt as in the API.
const (
	Added    Type = "ADDED"
	Modified Type = "MODIFIED"
	Deleted  Type = "DELETED"
	// Existing is an object of the first list of its stream.
	Existing Type = "EXISTING"
	// Reported is an Event, the kind of objects by which components report.
	Reported Type = "EVENT"
	// Reconciled is a reconcile of a controller that ended. Only recordings of sessions have them.
	Reconciled Type = "RECONCILE"
	// Listed is the end of a list.
	Listed Type = "LIST"
	// Gap is a time in which nothing was received, Failed an error that the server sent, such as 410.
	Gap    Type = "GAP"
	Failed Type = "ERROR"
	// Begin and End are those of the recording. Torn is in the place of End if the recording was cut off.
	Begin Type = "BEGIN"
	End   Type = "END"
	Torn  Type = "TORN"
)

// Types returns all types of entries, in the order in which they are documented.
func Types() []Type {
	return []Type{Added, Modified, Deleted, Existing, Reported, Reconciled, Listed, Gap, Failed, Begin, End, Torn}
}

// Entry is one thing that happened, in the order of the recording.
type Entry struct {
	// Number of the record, from 1. Absent for Torn, and for Begin if the recording is empty.
	Number int64 `json:"number,omitempty"`
	// Time when it was received, in UTC. Absent in streams that have no times.
	Time time.Time `json:"time,omitzero"`
	// Type of the entry: ADDED, MODIFIED, DELETED, EXISTING, EVENT, RECONCILE, LIST, GAP, ERROR, BEGIN, END or TORN.
	Type Type `json:"type"`
	// Object is what changed, of an EVENT what it is about. Absent if the entry is about none.
	Object *Object `json:"object,omitempty"`
	// Relisted is true if the change was found by listing again: when it happened is not known.
	Relisted bool `json:"relisted,omitempty"`
	// Writer is who wrote the object, as far as managedFields or the trace tell. Absent if they do not.
	Writer *Writer `json:"writer,omitempty"`
	// Change is what changed in an object: of EXISTING, ADDED, MODIFIED and DELETED.
	Change *ObjectChange `json:"change,omitempty"`
	// Event is what was reported, of an EVENT.
	Event *ReportedEvent `json:"event,omitempty"`
	// Reconcile is what a controller did, of a RECONCILE.
	Reconcile *Reconcile `json:"reconcile,omitempty"`
	// List is what was listed, of a LIST.
	List *List `json:"list,omitempty"`
	// Gap is what a GAP is.
	Gap *replay.Gap `json:"gap,omitempty"`
	// Recording is what is known about the recording, of a BEGIN.
	Recording *replay.Header `json:"recording,omitempty"`
	// Resource is the kind that a LIST, GAP or ERROR is about, such as deployments.apps. Absent if it is about all.
	Resource string `json:"resource,omitempty"`
	// Message is the text of an ERROR, GAP, END or TORN.
	Message string `json:"message,omitempty"`
	// Problem is why an object could not be read.
	Problem string `json:"problem,omitempty"`

	stream *replay.Stream
	raw    []byte // the object of the entry; nil if there is none
}

// Object names an object.
type Object = findings.Object

// Writer is who wrote an object.
type Writer struct {
	fields.Writer
	// User is the user who wrote, if an audit log is in the input.
	User string `json:"user,omitempty"`
	// Controller and Reconcile are those of the session whose trace is in the recording, if one of its reconciles
	// wrote.
	Controller string `json:"controller,omitempty"`
	Reconcile  uint64 `json:"reconcile,omitempty"`
}

// Name returns what the writer is called: the controller if it is known, else the user, else the manager. It is empty
// for nil.
func (w *Writer) Name() string {
	switch {
	case w == nil:
		return ""
	case w.Controller != "":
		return w.Controller
	case w.User != "":
		return w.User
	}
	return w.Manager
}

// ObjectChange is what changed in an object, and how it is after it.
type ObjectChange struct {
	// Fields are the fields that differ, sorted by path. Of objects that were added or existed there are only those
	// that a filter asks for, with their first values, and of objects that are gone none. Values of Secrets are hidden.
	// Of a list whose entries only have another order, the values are their keys.
	Fields []fields.Change `json:"fields,omitempty"`
	// Only is set if nothing else changed than the order of lists, or times: Order, Times or OrderAndTimes.
	Only findings.Only `json:"only,omitempty"`
	// Conditions are those whose status or reason changed; of an object that was added, all.
	Conditions []ConditionChange `json:"conditions,omitempty"`
	// Containers are those of a pod whose state changed, or that were restarted.
	Containers []ContainerChange `json:"containers,omitempty"`
	// OwnersAdded and OwnersRemoved are owner references; of an object that was added, all that it has.
	OwnersAdded   []Owner `json:"ownersAdded,omitempty"`
	OwnersRemoved []Owner `json:"ownersRemoved,omitempty"`
	// FinalizersAdded and FinalizersRemoved are finalizers; of an object that was added, all that it has.
	FinalizersAdded   []string `json:"finalizersAdded,omitempty"`
	FinalizersRemoved []string `json:"finalizersRemoved,omitempty"`
	// DeletionRequested is true if the object was asked to be deleted with this change: it got a deletionTimestamp.
	DeletionRequested bool `json:"deletionRequested,omitempty"`
	// Replaced is true if the object has another UID than the one of that name before it, whose deletion was not seen.
	Replaced bool `json:"replaced,omitempty"`
	// Unknown is true if the version before the change was not recorded.
	Unknown bool `json:"unknown,omitempty"`
	// ResourceVersion, Generation and ObservedGeneration are those after the change. Generation is absent for kinds
	// without, ObservedGeneration where the status has none.
	ResourceVersion    string `json:"resourceVersion,omitempty"`
	Generation         *int64 `json:"generation,omitempty"`
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
	// Replicas are the numbers after the change. Absent for kinds that do not count any.
	Replicas *Replicas `json:"replicas,omitempty"`
	// Status is that after the change, if it was asked for.
	Status *inspect.Status `json:"status,omitempty"`
}

// ConditionChange is a condition whose status or reason changed.
type ConditionChange struct {
	Type string `json:"type"`
	// From and To are statuses: True, False, Unknown or another text. From is empty for a new condition, To for one
	// that is gone. They are the same if only the reason changed.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Reason and Message are those after the change, of a condition that is gone the last ones.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Owner is an owner reference.
type Owner struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
	// Controller is true for the owner that manages the object.
	Controller bool `json:"controller,omitempty"`
}

// Replicas are the numbers of pods of a workload. Each is nil if the object does not have it.
type Replicas struct {
	Wanted    *int64 `json:"wanted,omitempty"`
	Current   *int64 `json:"current,omitempty"`
	Updated   *int64 `json:"updated,omitempty"`
	Ready     *int64 `json:"ready,omitempty"`
	Available *int64 `json:"available,omitempty"`
}

// ReportedEvent is what a component reported about an object.
type ReportedEvent struct {
	// Name is that of the Event itself.
	Name string `json:"name"`
	// Type is Normal or Warning.
	Type string `json:"type,omitempty"`
	// Reason is one word, Message is for people.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Count is how often it was reported by then, at least 1.
	Count int64 `json:"count"`
	// By is the component; it may be empty.
	By string `json:"by,omitempty"`
}

// List is the end of a list of a stream.
type List struct {
	// First is true for the first list of the stream, which shows what was there.
	First bool `json:"first,omitempty"`
	// Objects is how many objects there are after it, Changes how many differences a later list has shown.
	Objects int `json:"objects"`
	Changes int `json:"changes,omitempty"`
	// ResourceVersion is that of the list.
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// Reconcile is a reconcile of a controller, from the trace of a session.
type Reconcile struct {
	Controller string `json:"controller"`
	// Number is that by which the trace names it.
	Number uint64 `json:"number,omitempty"`
	// Key is mostly namespace/name.
	Key string `json:"key,omitempty"`
	// Causes are the reasons for it, oldest first; more than so many are counted by MoreCauses.
	Causes     []Cause `json:"causes,omitempty"`
	MoreCauses int     `json:"moreCauses,omitempty"`
	// Writes are the requests by which it changed something, or tried to.
	Writes []Write `json:"writes,omitempty"`
	// PutOff is a resource, of a reconcile that failed because the controller's cache did not show its own last write
	// of that resource yet: this is no fault, and the key is retried.
	PutOff string `json:"putOff,omitempty"`
	// Outcome is done, failed, gaveUp or panicked.
	Outcome string `json:"outcome"`
	// Duration is how long it took, as text such as 1.5ms.
	Duration string `json:"duration"`
	// Error is why it failed.
	Error string `json:"error,omitempty"`
}

// Cause is a reason for a reconcile.
type Cause struct {
	// Type is watch, retry, timer, reconcile or other.
	Type string `json:"type"`
	// Event and Object are those of the watch event. ResourceVersion is that of the object in it.
	Event           string  `json:"event,omitempty"`
	Object          *Object `json:"object,omitempty"`
	ResourceVersion string  `json:"resourceVersion,omitempty"`
	// Reconcile is the one that led to this, or that wrote what the watch event shows; 0 if none did.
	Reconcile uint64 `json:"reconcile,omitempty"`
	// Writer is who wrote what the watch event shows: a controller of the session or a field manager; it may be empty.
	Writer string `json:"writer,omitempty"`
}

// Write is a request that changed something, or tried to.
type Write struct {
	Verb        string `json:"verb"`
	Object      Object `json:"object"`
	Subresource string `json:"subresource,omitempty"`
	// Code is the HTTP status of the answer; 0 if there was none.
	Code int `json:"code,omitempty"`
	// Message is the text of the error.
	Message string `json:"message,omitempty"`
}
