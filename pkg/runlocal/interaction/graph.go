// Package interaction makes a graph of a run: which controllers watch, read and write which kinds and fields, and whose
// writes make whom reconcile. Its lints are what could go wrong between them: several writers of a field, cycles,
// reconciles that follow nothing but own writes, reads past a cache, objects without an owner.
//
// What did go wrong is not its matter: package findings has that. It makes no text for people.
//
// Its files: graph.go has the graph, recorder.go makes it of a trace, lints.go finds what stands out in it.
package interaction

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Graph is how the controllers of a run interacted.
type Graph struct {
	// Controllers are sorted by name.
	Controllers []Controller `json:"controllers"`
	// Lints are sorted by type, and then the most frequent first.
	Lints []Lint `json:"lints,omitempty"`
}

// Controller is what one controller did, or a program outside of the session that sent requests to its API server.
type Controller struct {
	Name string `json:"name"`
	// Program is true for a program outside of the session, whose reconciles are not known.
	Program    bool `json:"program,omitempty"`
	Reconciles int  `json:"reconciles"`
	// Watches are the kinds whose watch events it handles, sorted by kind.
	Watches []Watched `json:"watches,omitempty"`
	// Reads are its requests to read, and Writes those to write, without those of API Events. What it reads from the
	// caches of its informers is in neither. Both are sorted by kind, subresource and verb.
	Reads  []Requests `json:"reads,omitempty"`
	Writes []Requests `json:"writes,omitempty"`
}

// Kind is a kind of objects, of any version. Kind is the resource if the kind is not known.
type Kind struct {
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind"`
}

// String returns Kind.group, as kubectl writes a resource.
func (k Kind) String() string { return schema.GroupKind(k).String() }

func compareKinds(a, b Kind) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
}

// Watched is a kind whose watch events a controller handles.
type Watched struct {
	Kind
	// Reconciles counts the controller's reconciles with an event of the kind among their causes.
	Reconciles int `json:"reconciles"`
	// By are who wrote what these events show, the most frequent first.
	By []Writer `json:"by,omitempty"`
}

// Writer is who made a controller reconcile by writing.
type Writer struct {
	// Name is that of a controller of the run, or of a field manager outside; empty if it is not known, as of objects
	// that existed before.
	Name string `json:"name,omitempty"`
	// Outside is true for a field manager.
	Outside bool `json:"outside,omitempty"`
	// Reconciles counts the reconciles with such an event among their causes.
	Reconciles int `json:"reconciles"`
}

// Requests are requests of one sort.
type Requests struct {
	Kind
	Subresource string `json:"subresource,omitempty"`
	Verb        string `json:"verb"`
	// Requests counts those that were accepted, Missing the reads of what does not exist, Conflicts the writes that
	// were refused because the object had changed, and Refused all others that failed.
	Requests  int `json:"requests"`
	Missing   int `json:"missing,omitempty"`
	Conflicts int `json:"conflicts,omitempty"`
	Refused   int `json:"refused,omitempty"`
	// Fields are the fields that the writes changed, to a depth of two, sorted; none for objects that were created, and
	// of kinds that nobody watches.
	Fields []string `json:"fields,omitempty"`
}

// LintType is the type of a Lint.
type LintType string

// The types of lints.
const (
	// SeveralWriters is a field of an object that several have written.
	SeveralWriters LintType = "several-writers"
	// Cycle are controllers that make each other reconcile. It ends when one of them has nothing to write.
	Cycle LintType = "cycle"
	// OwnWrites are reconciles that followed nothing but what the controller itself had written of a kind, or of
	// several of which it is the first.
	OwnWrites LintType = "own-writes"
	// UnwatchedRead is a kind that a controller reads and does not watch: it does not learn of later changes.
	UnwatchedRead LintType = "unwatched-read"
	// NoOwner is a kind of which a controller created objects without an owner: the garbage collector leaves them.
	NoOwner LintType = "no-owner"
)

// LintTypes returns all types.
func LintTypes() []LintType {
	return []LintType{SeveralWriters, Cycle, OwnWrites, UnwatchedRead, NoOwner}
}

// Lint is something in a Graph that deserves a look. It need not be a fault.
type Lint struct {
	Type LintType `json:"type"`
	// Writers are those of a field, by name, for SeveralWriters.
	Writers []string `json:"writers,omitempty"`
	// Controller is whom it is about; empty for SeveralWriters and Cycle.
	Controller string `json:"controller,omitempty"`
	// Of is the kind that it is about; nil for Cycle.
	Of *Kind `json:"of,omitempty"`
	// Field is the field that several have written, and Example one of the objects, as namespace/name.
	Field   string `json:"field,omitempty"`
	Example string `json:"example,omitempty"`
	// Path are the steps of a cycle: each controller wrote a kind, which made the next one reconcile, and the last one
	// the first.
	Path []Step `json:"path,omitempty"`
	// Count is how often: turns of writers, reconciles, requests or objects; for a cycle the least of its steps:
	// it was passed no more often.
	Count int `json:"count"`
	// Idle counts those of Count that wrote nothing, for OwnWrites.
	Idle int `json:"idle,omitempty"`
}

// Step is a controller that wrote a kind.
type Step struct {
	Controller string `json:"controller"`
	Wrote      Kind   `json:"wrote"`
}
