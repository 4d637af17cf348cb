// Package trace is the event model of a session: what reached a controller, which key it worked on and why, what it
// logged, what it asked of the API and how it ended. The tap and the engine emit events; terminal output, NDJSON,
// summaries and replay consume them.
//
// It is data only: it observes nothing by itself, knows no controller and makes no text for people.
package trace

import (
	"slices"
	"strings"
	"time"
)

// APIVersion and Kind mark every event in its JSON form.
const (
	APIVersion = "kubectl-reconcile.github.io/v1alpha1"
	Kind       = "TraceEvent"
)

// ReconcileID numbers the reconciles of a session from 1 on, over all its controllers. 0 means none.
type ReconcileID uint64

// Type says what an Event tells.
type Type string

// The types of events, each with the Detail of the same name.
const (
	TypeWatch   Type = "watch"
	TypeEnqueue Type = "enqueue"
	TypeStart   Type = "start"
	TypeLog     Type = "log"
	TypeRequest Type = "request"
	TypeEnd     Type = "end"
	TypeDropped Type = "dropped"
)

// Event is one thing that happened in a session. It is immutable once it was emitted.
type Event struct {
	// Seq numbers the events of a session from 1 on, without gaps, in the order in which sinks get them.
	Seq uint64
	// Time is when it happened.
	Time time.Time
	// Controller is the short name of the controller, empty for a watch event, which may serve several.
	Controller string
	// Reconcile is the reconcile that the event belongs to, 0 if it belongs to none or to one that is not known.
	Reconcile ReconcileID
	// Key is the queue key of the reconcile, as the controller spells it: mostly namespace/name.
	Key string
	// Detail holds the rest. It is never nil in an emitted event.
	Detail Detail
}

// Type is the type of the event's Detail, empty if it has none.
func (e *Event) Type() Type {
	if e.Detail == nil {
		return ""
	}
	return e.Detail.Type()
}

// Detail is what an event of one type holds: *Watch, *Enqueue, *Start, *Log, *Request, *End or *Dropped.
type Detail interface {
	Type() Type
}

// Object names an API object.
type Object struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version,omitempty"`
	Resource  string `json:"resource,omitempty"`
	Kind      string `json:"objectKind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// WatchType is the type of a watch event, spelt as the API spells it, or Resync.
type WatchType string

// The types of watch events. Resync is an informer's periodic repetition of an object that did not change.
const (
	Added    WatchType = "ADDED"
	Modified WatchType = "MODIFIED"
	Deleted  WatchType = "DELETED"
	Resync   WatchType = "RESYNC"
)

// Watch is a watch event as an informer delivers it to controllers. It is emitted once, however many handlers see it.
type Watch struct {
	Event WatchType `json:"event"`
	Object
	// ResourceVersion is that of the object in the event; for Deleted, that of the deletion.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Initial says that the object was there before the informer started.
	Initial bool `json:"initial,omitempty"`
	// WrittenBy is the reconcile of this session whose write made the event, 0 if none is known to.
	WrittenBy ReconcileID `json:"writtenBy,omitempty"`
	// Writer is the controller of WrittenBy, empty if that is 0.
	Writer string `json:"writer,omitempty"`
	// Manager is who wrote it by the object's managedFields, if WrittenBy is 0 and the event is Added or Modified. Nil
	// for others.
	Manager *Manager `json:"manager,omitzero"`
	// Change is what changed since the version the informer had before; nil for all but Modified.
	Change *Change `json:"changed,omitempty"`
}

// Type implements Detail.
func (*Watch) Type() Type { return TypeWatch }

// Operation is the queue's method that a key was added by.
type Operation string

// The operations that add a key to a queue.
const (
	Add            Operation = "add"
	AddAfter       Operation = "addAfter"
	AddRateLimited Operation = "addRateLimited"
)

// Enqueue is the addition of a key to a controller's queue. Event.Reconcile is the reconcile that added it, if one did.
type Enqueue struct {
	Operation Operation `json:"operation"`
	// Queue tells apart the queues of a controller that has several, by field name; empty for its main queue.
	Queue string `json:"queue,omitempty"`
	// Handler names the controller's functions that led to the addition, outermost first: "addPod > enqueueRS".
	Handler string `json:"handler,omitempty"`
	// Watch is the Seq of the watch event whose handling added the key, 0 if none.
	Watch uint64 `json:"watch,omitempty"`
	// Delay is how long the key waits before it may be taken, 0 if not at all.
	Delay Duration `json:"delay,omitempty"`
	// Retry counts the failures of the key in a row, for an AddRateLimited that follows one; 0 for all others.
	Retry int `json:"retry,omitempty"`
}

// Type implements Detail.
func (*Enqueue) Type() Type { return TypeEnqueue }

// CauseType says what sort of thing led to a reconcile.
type CauseType string

// The sorts of causes.
const (
	// CauseWatch is a watch event: Cause.Watch tells which.
	CauseWatch CauseType = "watch"
	// CauseRetry is a failed try: Cause.Retry and Cause.Reconcile tell which.
	CauseRetry CauseType = "retry"
	// CauseTimer is a delay that a reconcile or a handler asked for.
	CauseTimer CauseType = "timer"
	// CauseReconcile is a reconcile, of the same or another key, that added the key at once.
	CauseReconcile CauseType = "reconcile"
	// CauseOther is an addition from elsewhere in the controller, such as a periodic scan.
	CauseOther CauseType = "other"
)

// Cause is one of the reasons for a reconcile.
type Cause struct {
	Type CauseType `json:"type"`
	// Seq is that of the enqueue event, or of the watch event for CauseWatch.
	Seq uint64 `json:"seq,omitempty"`
	// Watch is the watch event, for CauseWatch, and for CauseTimer the one at which a handler asked for the delay, if one
	// did; nil otherwise.
	Watch *Watch `json:"watch,omitempty"`
	// Handler is as in Enqueue.
	Handler string `json:"handler,omitempty"`
	// Reconcile is the reconcile that asked for this one, 0 if none did.
	Reconcile ReconcileID `json:"reconcile,omitempty"`
	// Retry counts the failures in a row, for CauseRetry.
	Retry int `json:"retry,omitempty"`
	// Delay is how long the key was made to wait, for CauseRetry and CauseTimer.
	Delay Duration `json:"delay,omitempty"`
}

// Start is the begin of a reconcile: a worker took the key from the queue.
type Start struct {
	// Queue is as in Enqueue.
	Queue string `json:"queue,omitempty"`
	// Causes are all that led to it since the key was last taken, oldest first. It is empty only if the key was added
	// before the queue was observed.
	Causes []Cause `json:"causes,omitempty"`
	// MoreCauses counts those left out of Causes, because there were too many to keep.
	MoreCauses int `json:"moreCauses,omitempty"`
	// QueueWait is how long the key could have been taken and was not.
	QueueWait Duration `json:"queueWait,omitempty"`
}

// Type implements Detail.
func (*Start) Type() Type { return TypeStart }

// IsRetry reports whether the key was taken because an earlier reconcile of it had failed, among other causes perhaps.
func (s *Start) IsRetry() bool {
	return slices.ContainsFunc(s.Causes, func(c Cause) bool { return c.Type == CauseRetry })
}

// Value is a key and value that a controller logged; Value is made text by the rules of klog.
type Value struct {
	Key   string
	Value string
}

// Log is a line that the controller logged.
type Log struct {
	// Level is the verbosity, 0 for what is always shown.
	Level   int    `json:"level,omitempty"`
	Message string `json:"message"`
	// Error is the error that was logged with it, empty if none.
	Error  string `json:"error,omitempty"`
	Values Values `json:"values,omitempty"`
}

// Type implements Detail.
func (*Log) Type() Type { return TypeLog }

// Request is a request to the API and its answer.
type Request struct {
	// Verb is the API's: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string `json:"verb"`
	Object
	Subresource string `json:"subresource,omitempty"`
	// GenerateName is what the server was to make a name from, for a create without a name that it did not take. Empty
	// otherwise.
	GenerateName string `json:"generateName,omitempty"`
	// Code is the answer's HTTP status, 0 if there was none.
	Code int `json:"code,omitempty"`
	// Latency is the time from the request to the head of its answer.
	Latency Duration `json:"latency"`
	// DryRun says that the server was asked not to keep the write.
	DryRun bool `json:"dryRun,omitempty"`
	// NotSent reports that the server did not get the write: the answer, with its code, was given in the server's place, or
	// there was none, for a Lease that writing needs was not valid.
	NotSent bool `json:"notSent,omitempty"`
	// Message is the API's error text, or that of the transport; empty on success.
	Message string `json:"message,omitempty"`
	// Reason is the API's reason for an error, such as Conflict.
	Reason string `json:"reason,omitempty"`
	// ResourceVersion is that of the object in the answer.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Recorded says that the request records an Event (the API's), made by the reconcile but sent later: the reconcile is
	// then told by the object that the Event is about.
	Recorded *RecordedEvent `json:"recorded,omitempty"`
	// Change is what the write changed in the object; nil if the state before is not known.
	Change *Change `json:"changed,omitempty"`
}

// Type implements Detail.
func (*Request) Type() Type { return TypeRequest }

// IsWrite reports whether the request may change something.
func (r *Request) IsWrite() bool {
	switch r.Verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

// Failed says that the request was refused or had no answer.
func (r *Request) Failed() bool { return r.Code == 0 || r.Code >= 400 }

// RecordedEvent is an API Event that a controller recorded; all is empty of one whose repetition could not be counted.
type RecordedEvent struct {
	Type    string `json:"type,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Regarding is what the Event is about.
	Regarding Object `json:"regarding"`
}

// Outcome says how a reconcile ended.
type Outcome string

// The outcomes of a reconcile.
const (
	// Done means no error.
	Done Outcome = "done"
	// Failed means an error, and that the key is tried again.
	Failed Outcome = "failed"
	// GaveUp means an error after which the key is not tried again until something adds it.
	GaveUp Outcome = "gaveUp"
	// Panicked means that the reconciler panicked.
	Panicked Outcome = "panicked"
)

// Next is a later try that a reconcile asked for.
type Next struct {
	// After is counted from the end of the reconcile.
	After Duration `json:"after"`
	// Retry counts the failures in a row; 0 for a timer.
	Retry int `json:"retry,omitempty"`
}

// End is the end of a reconcile.
type End struct {
	// Queue is as in Enqueue.
	Queue    string   `json:"queue,omitempty"`
	Outcome  Outcome  `json:"outcome"`
	Duration Duration `json:"duration"`
	// Error is why it failed, as far as the controller said; empty for Done.
	Error string `json:"error,omitempty"`
	// PutOff names the resource of a Failed reconcile whose cache does not show yet what the controller itself wrote
	// there: nothing has gone wrong, and the key is tried again. Empty for all others. See StaleCache.
	PutOff string `json:"putOff,omitempty"`
	// Writes counts the writes that were taken, in a dry run those that would be, and Refused those that had an error
	// for an answer, or none. Events are in neither.
	Writes  int `json:"writes,omitempty"`
	Refused int `json:"refused,omitempty"`
	// Next is when the key comes back by itself; nil if it does not.
	Next *Next `json:"next,omitempty"`
}

// Type implements Detail.
func (*End) Type() Type { return TypeEnd }

// Dropped is the end of trying: a key failed too often, or with an error that no retry mends.
type Dropped struct {
	// Retries counts the failures in a row.
	Retries int    `json:"retries,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Type implements Detail.
func (*Dropped) Type() Type { return TypeDropped }

// StaleCache reads the error by which a controller waits until its cache shows its own last write, and returns the
// resource of that write: "pods", "deployments.apps". It is false for every other error (ConsistencyError of
// kubernetes' pkg/controller/util/consistency, StaleInformerCache of pkg/controller/util/endpointslice).
func StaleCache(text string) (resource string, is bool) {
	if strings.Contains(text, "EndpointSlice informer cache is out of date") {
		return "endpointslices", true
	}
	_, versions, is := strings.Cut(text, "read version: ")
	if !is || !strings.Contains(versions, " is not as new as written version: ") {
		return "", false
	}
	_, resource, is = strings.Cut(versions, " for group resource ")
	return resource, is
}
