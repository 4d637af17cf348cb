package replay

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// FormatVersion is the version of the format that a Writer writes, and the newest that a Reader reads.
const FormatVersion = 1

// Type is the type of a Record.
type Type uint8

// The types of records. Their numbers are part of the format.
const (
	// TypeStream defines a stream, Record.NewStream: all later records of that stream follow it.
	TypeStream Type = 1
	// TypeListBegin begins a list of the stream. Until TypeListEnd its objects follow: those of the first list as
	// TypeListItem, later ones as changes that are marked Relisted.
	TypeListBegin Type = 2
	// TypeListItem is an object of the first list.
	TypeListItem Type = 3
	// TypeListEnd ends a list; ResourceVersion is that of the list.
	TypeListEnd Type = 4
	// TypeAdded, TypeModified and TypeDeleted are the watch events of these names. The object of TypeDeleted is the
	// last state of the object, with the resource version of the deletion if the server sent it.
	TypeAdded    Type = 5
	TypeModified Type = 6
	TypeDeleted  Type = 7
	// TypeBookmark is a bookmark: the stream was complete up to ResourceVersion.
	TypeBookmark Type = 8
	// TypeError is an error that the server sent, such as 410: Object is the Status as JSON, or empty, and Message its
	// text.
	TypeError Type = 9
	// TypeGap is a time in which nothing was received for the stream, or for all if Stream is 0: Record.Gap.
	TypeGap Type = 10
	// TypeTrace is an event of the trace of a session, TraceEvent as NDJSON in Object: see docs/trace.md.
	TypeTrace Type = 11
	// TypeAlive means that the recorder ran and was connected at Time, although there was nothing to record.
	TypeAlive Type = 12
	// TypeEnd is the last record of a recording that was ended in order. A recording without it was cut off.
	TypeEnd Type = 13
)

var typeNames = [...]string{
	TypeStream: "STREAM", TypeListBegin: "LIST BEGIN", TypeListItem: "LIST", TypeListEnd: "LIST END",
	TypeAdded: "ADDED", TypeModified: "MODIFIED", TypeDeleted: "DELETED", TypeBookmark: "BOOKMARK", TypeError: "ERROR",
	TypeGap: "GAP", TypeTrace: "TRACE", TypeAlive: "ALIVE", TypeEnd: "END",
}

// String returns the name of the type, for a watch event that of the API; empty for an unknown type.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return ""
}

// HasObject reports whether records of the type have an object of their stream: an item of a list or a watch event.
func (t Type) HasObject() bool {
	return t == TypeListItem || t == TypeAdded || t == TypeModified || t == TypeDeleted
}

// isEvent reports whether records of the type are watch events of objects.
func (t Type) isEvent() bool { return t == TypeAdded || t == TypeModified || t == TypeDeleted }

// Record is one thing that happened. A record that a Source returned, and its Object, must not be changed.
type Record struct {
	// Number counts the records of a recording from 1. A Writer sets it.
	Number int64
	// Time is when the record arrived, in UTC, to the microsecond. It is zero in imported streams that have no times.
	// It never is before that of the record before.
	Time time.Time
	Type Type
	// Stream is the number of the stream that the record belongs to, from 1; 0 if it belongs to none.
	Stream int
	// Relisted is set if the recorder found the change by comparing a list with what it knew: it was not told when, and
	// in which order, the changes of the list have happened.
	Relisted bool
	// Namespace, Name and UID are those of the object. They are empty if Type has no object.
	Namespace, Name, UID string
	// ResourceVersion is that of the object in the event, of the list or of the bookmark.
	ResourceVersion string
	// Object is the object as the server wrote it in JSON, maybe without apiVersion and kind, or what Type says.
	Object []byte
	// Writer is the user who made the change, such as system:serviceaccount:kube-system:job-controller, where the input
	// has it: in audit logs. It is empty in recordings, whose objects have managed fields; the format does not keep it.
	Writer string
	// Message is text for TypeError, TypeGap and TypeEnd.
	Message string
	// NewStream is set for TypeStream only, Gap for TypeGap only.
	NewStream *Stream
	Gap       *Gap
}

// Key returns what identifies the object of the record within its stream.
func (r *Record) Key() Key { return Key{Stream: r.Stream, Namespace: r.Namespace, Name: r.Name} }

// Key identifies an object within a recording. Namespace is empty for cluster-scoped objects.
type Key struct {
	Stream          int
	Namespace, Name string
}

// Compare orders keys by stream, namespace and name.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Stream, other.Stream), cmp.Compare(k.Namespace, other.Namespace),
		cmp.Compare(k.Name, other.Name))
}

// Stream is a selection of objects of one kind that was recorded. Objects of one kind are in several streams if some
// namespaces were recorded.
type Stream struct {
	// Number identifies the stream in its recording, from 1.
	Number int `json:"number"`
	// Group, Version, Kind and Resource name the kind, in the version in which it was recorded; Resource is the plural
	// name in URLs.
	Group    string `json:"group,omitempty"`
	Version  string `json:"version"`
	Kind     string `json:"kind"`
	Resource string `json:"resource"`
	// Namespaced is false for cluster-scoped kinds.
	Namespaced bool `json:"namespaced,omitempty"`
	// Singular, ShortNames, Categories and Verbs are as the server listed them in discovery; each may be empty.
	Singular   string   `json:"singular,omitempty"`
	ShortNames []string `json:"shortNames,omitempty"`
	Categories []string `json:"categories,omitempty"`
	Verbs      []string `json:"verbs,omitempty"`
	// HasStatus reports whether the kind has the subresource status.
	HasStatus bool `json:"hasStatus,omitempty"`
	// Namespace is the one that was recorded, empty for all; Labels and Fields are the selectors, empty for all
	// objects.
	Namespace string `json:"namespace,omitempty"`
	Labels    string `json:"labels,omitempty"`
	Fields    string `json:"fields,omitempty"`
}

// GVK returns the kind of the stream's objects.
func (s *Stream) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: s.Group, Version: s.Version, Kind: s.Kind}
}

// GroupResource returns the name of the kind that is the same in all versions.
func (s *Stream) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: s.Group, Resource: s.Resource}
}

// GapReason is why nothing was received for a time.
type GapReason string

// The reasons of gaps.
const (
	// GapWatchExpired means that the server no longer had the events since the last one: 410.
	GapWatchExpired GapReason = "WatchExpired"
	// GapUnreachable means that the server could not be reached. GapRefused means that it answered with errors: it
	// refused the requests, or failed.
	GapUnreachable GapReason = "Unreachable"
	GapRefused     GapReason = "Refused"
	// GapSleep means that the recorder was stopped for longer than it takes to notice, such as by a laptop that slept.
	// The gap of all streams is complete: what the server no longer had is in gaps of streams. One of a single stream
	// means that the server was not heard from again before the recording ended.
	GapSleep GapReason = "Sleep"
)

// Gap is a time in which nothing was received. The record has the time of its end. What changed meanwhile follows as
// watch events, if the server still had them (Complete), else as changes that are marked Relisted.
type Gap struct {
	Reason GapReason `json:"reason"`
	// Since is when the gap began, in UTC: the time of the last sign of the server.
	Since time.Time `json:"since"`
	// Complete is true if no event was lost: the watch was resumed where it had ended.
	Complete bool `json:"complete,omitempty"`
	// Attempts is how many requests failed meanwhile.
	Attempts int `json:"attempts,omitempty"`
}

// Header is what a recording begins with.
type Header struct {
	// Version is that of the format: see FormatVersion.
	Version int `json:"version"`
	// Tool is the program that wrote the recording, with its version, such as "kubectl-reconcile v0.1.0".
	Tool string `json:"tool,omitempty"`
	// Server is the version of the API server as /version gives it (gitVersion), such as v1.37.1; empty if it is not
	// known.
	Server string `json:"server,omitempty"`
	// Cluster identifies the cluster: the uid of its namespace kube-system; empty if it could not be read.
	Cluster string `json:"cluster,omitempty"`
	// Context is the name of the kubeconfig's context that was recorded; it may be empty.
	Context string `json:"context,omitempty"`
	// Start is when the recording began. It is zero if there are no times.
	Start time.Time `json:"start,omitzero"`
	// Redacted is true if the data of Secrets, and what was named besides, are replaced by placeholders.
	Redacted bool `json:"redacted,omitempty"`
	// Options are the flags that chose what to record, and in a session those that set what single controllers do; nil
	// for none.
	Options []string `json:"options,omitempty"`
	// Imported is what the records were read from, if not from a recording: see the constants. Empty for recordings.
	Imported Imported `json:"imported,omitempty"`
}

// Imported is a form of input that is no recording.
type Imported string

// The forms of input that are no recordings.
const (
	// ImportedWatchEvents are watch events as `kubectl get -w --output-watch-events -o json` prints them, and as
	// `?watch=1` answers them.
	ImportedWatchEvents Imported = "WatchEvents"
	// ImportedObjects are objects one after the other, as `kubectl get -w -o json` prints them: they have no event
	// types, and no deletions.
	ImportedObjects Imported = "Objects"
	// ImportedManifests are lists and manifests: one state, no changes.
	ImportedManifests Imported = "Manifests"
	// ImportedAudit is a Kubernetes audit log.
	ImportedAudit Imported = "Audit"
)
