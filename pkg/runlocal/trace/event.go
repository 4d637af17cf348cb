// Package trace is the event model of a session: what reached a controller, which key it worked on and why, what it
// logged, which requests it made and how it ended. The tap and the engine emit events; terminal output, NDJSON and
// summaries consume them.
//
// An [Event] has a Detail, whose type tells what happened. A session passes them to a [Recorder], whose sinks may be a
// [History], which keeps them for the program, a [Writer], which writes them as NDJSON for a [Reader], or a [Summary].
//
// It is data only: it observes nothing itself, has nothing about particular controllers and makes no text for people.
//
// Its files: event.go has the events, lazy.go the parts of them that are computed on first use, json.go their JSON and
// NDJSON, recorder.go the Recorder that numbers events and passes them to sinks, history.go a sink that keeps them,
// summary.go one that counts, clientrequest.go the requests of programs outside of the session and what counts them,
// story.go one that makes steps of them, from cause to effect: of what a status tells (storynews.go), below what they
// react to (storyorigin.go), merged where they are alike (storysteps.go).
package trace

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// APIVersion and Kind mark every event in its JSON form.
const (
	APIVersion = "kubectl-reconcile.github.io/v1alpha1"
	Kind       = "TraceEvent"
)

// ReconcileID numbers the reconciles of a session from 1, over all its controllers. 0 means none.
type ReconcileID uint64

// Type is the type of an Event.
type Type string

// The types of events, each with the Detail of the same name.
const (
	TypeWatch         Type = "watch"
	TypeEnqueue       Type = "enqueue"
	TypeStart         Type = "start"
	TypeLog           Type = "log"
	TypeRequest       Type = "request"
	TypeEnd           Type = "end"
	TypeDropped       Type = "dropped"
	TypeClientRequest Type = "clientRequest"
)

// Event is something that happened in a session. It is immutable once it was emitted.
type Event struct {
	// Seq numbers the events of a session from 1, without gaps, in the order in which sinks get them.
	Seq uint64
	// Time is when it happened.
	Time time.Time
	// Controller is the short name of the controller; empty for a watch event, which several controllers may handle.
	Controller string
	// Reconcile is the reconcile that the event belongs to; 0 if it belongs to none, or to an unknown one.
	Reconcile ReconcileID
	// Key is the queue key of the reconcile, as the controller spells it: mostly namespace/name.
	Key string
	// Detail contains what only events of this type have. It is never nil in an emitted event.
	Detail Detail
}

// Type returns the type of the event's Detail, empty if it has none.
func (e *Event) Type() Type {
	if e.Detail == nil {
		return ""
	}
	return e.Detail.Type()
}

// Detail is what an event of one type holds: *Watch, *Enqueue, *Start, *Log, *Request, *End, *Dropped or
// *ClientRequest.
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

// WatchType is the type of a watch event, spelt as in the API, or Resync.
type WatchType string

// The types of watch events. Resync is an informer's periodic repetition of an object that did not change.
const (
	Added    WatchType = "ADDED"
	Modified WatchType = "MODIFIED"
	Deleted  WatchType = "DELETED"
	Resync   WatchType = "RESYNC"
)

// Watch is a watch event as an informer delivers it to controllers. It is emitted once, for all handlers.
type Watch struct {
	Event WatchType `json:"event"`
	Object
	// ResourceVersion is that of the object in the event; for Deleted that of the deletion.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Initial means that the object existed before the informer started.
	Initial bool `json:"initial,omitempty"`
	// WrittenBy is the reconcile of this session whose write made the event; 0 if none is known.
	WrittenBy ReconcileID `json:"writtenBy,omitempty"`
	// Writer is the controller of WrittenBy; empty if that is 0.
	Writer string `json:"writer,omitempty"`
	// Manager is the field manager that wrote, by the object's managedFields, if WrittenBy is 0 and the event is Added
	// or Modified. If they do not tell, as of a deletion, it is the program that sent the request, if the session
	// serves the API. It is nil for others.
	Manager *Manager `json:"manager,omitzero"`
	// ManagerOperation is Apply or Update, and ManagerSubresource the subresource that Manager wrote, empty for the
	// object itself. Both are only set in JSON: elsewhere Manager has them.
	ManagerOperation   string `json:"managerOperation,omitempty"`
	ManagerSubresource string `json:"managerSubresource,omitempty"`
	// Change is the difference from the version that the informer had before; nil for all types but Modified.
	Change *Change `json:"changed,omitempty"`
	// Owners are the object's owners, by its references, which name no resource; JSON does not have them.
	Owners []Object `json:"-"`
}

// Type implements Detail.
func (*Watch) Type() Type { return TypeWatch }

// Operation is the method of the queue that added a key.
type Operation string

// The operations that add a key to a queue.
const (
	Add            Operation = "add"
	AddAfter       Operation = "addAfter"
	AddRateLimited Operation = "addRateLimited"
)

// Enqueue is the addition of a key to a controller's queue. Event.Reconcile is the reconcile that added it, 0 if none
// did.
type Enqueue struct {
	Operation Operation `json:"operation"`
	// Queue is the name of the queue, by its field, for controllers with several; empty for a main queue.
	Queue string `json:"queue,omitempty"`
	// Handler has the names of the controller's functions that led to the addition, outermost first:
	// "addPod > enqueueRS".
	Handler string `json:"handler,omitempty"`
	// Watch is the Seq of the watch event whose handler added the key; 0 if none did.
	Watch uint64 `json:"watch,omitempty"`
	// Delay is how long the key waits before it can be taken; 0 if it does not wait.
	Delay Duration `json:"delay,omitempty"`
	// Retry counts the failures of the key in a row, for an AddRateLimited after a failure; 0 for all others.
	Retry int `json:"retry,omitempty"`
}

// Type implements Detail.
func (*Enqueue) Type() Type { return TypeEnqueue }

// CauseType is what led to a reconcile.
type CauseType string

// The types of causes.
const (
	// CauseWatch is a watch event, Cause.Watch.
	CauseWatch CauseType = "watch"
	// CauseRetry is a failure of an earlier reconcile of the key, Cause.Reconcile.
	CauseRetry CauseType = "retry"
	// CauseTimer is a delay that a reconcile or a handler requested, or the period of a loop.
	CauseTimer CauseType = "timer"
	// CauseReconcile is a reconcile, of the same or another key, that added the key without a delay.
	CauseReconcile CauseType = "reconcile"
	// CauseOther is an addition from elsewhere in the controller, such as a periodic scan.
	CauseOther CauseType = "other"
)

// Cause is one reason for a reconcile.
type Cause struct {
	Type CauseType `json:"type"`
	// Seq is that of the enqueue event, for CauseWatch that of the watch event.
	Seq uint64 `json:"seq,omitempty"`
	// Watch is the watch event, for CauseWatch, and for CauseTimer if a handler of an event requested the delay; nil
	// otherwise.
	Watch *Watch `json:"watch,omitempty"`
	// Handler is as in Enqueue.
	Handler string `json:"handler,omitempty"`
	// Reconcile is the reconcile that added the key; 0 if none did.
	Reconcile ReconcileID `json:"reconcile,omitempty"`
	// Retry counts the failures in a row, for CauseRetry.
	Retry int `json:"retry,omitempty"`
	// Delay is how long the key had to wait, for CauseRetry and CauseTimer.
	Delay Duration `json:"delay,omitempty"`
}

// Start is the start of a reconcile: a worker took the key from the queue.
type Start struct {
	// Queue is as in Enqueue.
	Queue string `json:"queue,omitempty"`
	// Causes are the reasons since the key was last taken, oldest first. The list is empty only if the key was added
	// before the queue was observed.
	Causes []Cause `json:"causes,omitempty"`
	// MoreCauses counts the causes that are left out of Causes, which is bounded.
	MoreCauses int `json:"moreCauses,omitempty"`
	// QueueWait is how long the key could have been taken before it was.
	QueueWait Duration `json:"queueWait,omitempty"`
}

// Type implements Detail.
func (*Start) Type() Type { return TypeStart }

// IsRetry reports whether a failure of an earlier reconcile of the key is among the causes.
func (s *Start) IsRetry() bool {
	return slices.ContainsFunc(s.Causes, func(c Cause) bool { return c.Type == CauseRetry })
}

// Value is a key and value that a controller logged; Value is text by the rules of klog.
type Value struct {
	Key   string
	Value string
}

// Log is a line that the controller logged.
type Log struct {
	// Level is the verbosity; 0 for lines that are always shown.
	Level   int    `json:"level,omitempty"`
	Message string `json:"message"`
	// Error is the error that was logged with the message; empty if there was none.
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
	// GenerateName is the prefix of the name, for a create without a name that failed; empty otherwise.
	GenerateName string `json:"generateName,omitempty"`
	// User is who sent the request, if an audit log has it in the place of a session's trace; empty otherwise.
	User string `json:"user,omitempty"`
	// Owner is the name of the controller owner, or else of the first owner, of an object that the request created; if
	// User is set, of the controller owner that any request gives. It is empty if there is none.
	Owner string `json:"owner,omitempty"`
	// Code is the HTTP status of the answer; 0 if there was none.
	Code int `json:"code,omitempty"`
	// Latency is the time from the request to the header of its answer.
	Latency Duration `json:"latency"`
	// DryRun means that the server did not keep the write, as it was requested to.
	DryRun bool `json:"dryRun,omitempty"`
	// NotSent means that the server did not get the write: the answer, with its code, was made in the server's place,
	// or there is none, because a Lease that writes require was not valid.
	NotSent bool `json:"notSent,omitempty"`
	// Message is the error text of the API or of the transport; empty on success.
	Message string `json:"message,omitempty"`
	// Reason is the API's reason for an error, such as Conflict.
	Reason string `json:"reason,omitempty"`
	// ResourceVersion is that of the object in the answer.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Recorded is the API Event that the request records; nil for all other requests. Controllers send Events after the
	// reconcile that recorded them, and so the reconcile is found by the object that the Event is about.
	Recorded *RecordedEvent `json:"recorded,omitempty"`
	// Change is what the write changed in the object; nil if the version before is not known.
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

// Failed reports whether the request was refused or has no answer.
func (r *Request) Failed() bool { return r.Code == 0 || r.Code >= 400 }

// RecordedEvent is an API Event that a controller recorded. All fields are empty if the request to count its repetition
// failed.
type RecordedEvent struct {
	Type    string `json:"type,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Regarding is the object that the Event is about.
	Regarding Object `json:"regarding"`
}

// Outcome is how a reconcile ended.
type Outcome string

// The outcomes of a reconcile.
const (
	// Done means no error.
	Done Outcome = "done"
	// Failed means an error after which the key is retried.
	Failed Outcome = "failed"
	// GaveUp means an error after which the key is not retried until something adds it.
	GaveUp Outcome = "gaveUp"
	// Panicked means that the reconciler panicked.
	Panicked Outcome = "panicked"
)

// Next is a later reconcile of the key that a reconcile requested.
type Next struct {
	// After is the time from the end of the reconcile.
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
	// Error is the reason of a failure, as far as the controller reported it; empty for Done.
	Error string `json:"error,omitempty"`
	// PutOff is a resource, for a Failed reconcile that ended because the controller's cache does not show its own last
	// write of that resource yet: this is no fault, and the key is retried. Empty for all others, and once the key has
	// been put off many times in a row, for over a second, while the version in the cache did not change. See
	// StaleCache.
	PutOff string `json:"putOff,omitempty"`
	// Writes counts successful writes, in a dry run those that would be; Refused counts those that failed. Neither
	// counts API Events.
	Writes  int `json:"writes,omitempty"`
	Refused int `json:"refused,omitempty"`
	// Next is when the key comes back without a watch event; nil if it does not.
	Next *Next `json:"next,omitempty"`
}

// Type implements Detail.
func (*End) Type() Type { return TypeEnd }

// PersistentConflict is the number of the retry from which on a conflict is like any failure: with the backoff of
// client-go's default rate limiter, conflicts have then lasted for about five seconds.
const PersistentConflict = 10

// ConflictOf returns the latest of the reconcile's requests that it failed at because the object had changed since the
// controller read it: the retry reads it again and mostly succeeds. It is nil if the reconcile did not fail, failed for
// another reason, or has met conflicts persistently.
func (e *End) ConflictOf(requests []*Request) *Request {
	if e.Outcome != Failed || e.Next == nil || e.Next.Retry >= PersistentConflict {
		return nil
	}
	for _, r := range slices.Backward(requests) {
		if r.IsConflict() && r.Message != "" && strings.Contains(e.Error, r.Message) {
			return r
		}
	}
	return nil
}

// IsConflict reports whether the request was refused because the object had changed since the controller read it.
func (r *Request) IsConflict() bool { return r.Reason == "Conflict" }

// IsRace reports whether the request was refused because another was faster.
func (r *Request) IsRace() bool {
	return r.IsConflict() || r.Reason == "AlreadyExists" || r.Code == http.StatusNotFound && r.Verb == "delete"
}

// Dropped means that the key is not retried any more: it failed too often, or with an error that retries do not help.
type Dropped struct {
	// Retries counts the failures in a row.
	Retries int    `json:"retries,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Type implements Detail.
func (*Dropped) Type() Type { return TypeDropped }

// StaleCache parses the error by which a controller waits until its cache shows its own last write, and returns the
// resource of that write: "pods", "deployments.apps". ok is false for all other errors. (ConsistencyError of
// pkg/controller/util/consistency and StaleInformerCache of pkg/controller/util/endpointslice, in k8s.io/kubernetes.)
func StaleCache(text string) (resource string, ok bool) {
	if strings.Contains(text, "EndpointSlice informer cache is out of date") {
		return "endpointslices", true
	}
	_, versions, ok := strings.Cut(text, "read version: ")
	if !ok || !strings.Contains(versions, " is not as new as written version: ") {
		return "", false
	}
	_, resource, ok = strings.Cut(versions, " for group resource ")
	return resource, ok
}
