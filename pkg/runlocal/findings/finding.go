// Package findings finds what repeats without progress: objects whose fields come back to values that they had,
// or are written without a change, writers of one field that disagree, and keys of queues that fail, wait or come back
// again and again. It reads the trace of a session, or the changes of objects in a recording.
//
// It is not about why one object is not ready: ownertree/diagnosis is. It makes no text for people.
//
// Its files: finding.go has the findings and their limits, detector.go finds those of objects and keys.go those of
// keys; alternating.go knows values that come back, rewrite.go what alone differs where nothing has changed.
package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Type is the type of a Finding.
type Type string

// The types of findings.
const (
	// Loop is an object of which one writer repeats states, or writes again and again in reaction to nothing but its
	// own writes.
	Loop Type = "loop"
	// Fight is an object of which several writers change a field back and forth.
	Fight Type = "fight"
	// NoOpWrite is a controller that sends writes that change nothing.
	NoOpWrite Type = "no-op-write"
	// Retries are keys that fail again and again.
	Retries Type = "retries"
	// PutOff are keys that are put off again and again, because their controller's cache does not change and does not
	// show what it wrote.
	PutOff Type = "put-off"
	// Requeue are keys that come back by themselves again and again, at short intervals, and without a write.
	Requeue Type = "requeue"
	// Starving are keys that wait in a queue for long before a worker takes them.
	Starving Type = "starving"
)

// Types returns all types of findings, in the order in which they are reported.
func Types() []Type { return []Type{Loop, Fight, Retries, PutOff, NoOpWrite, Requeue, Starving} }

// Limits are how often something must happen to be a Finding, by its type. Of PutOff and Starving it is the number of
// seconds that a key must wait. A type that is missing, or 0, has its default.
type Limits map[Type]int

// defaults are such that the controllers of Kubernetes stay below them in all that they do as they should.
var defaults = Limits{Loop: 10, Fight: 3, NoOpWrite: 5, Retries: 10, PutOff: 10, Requeue: 20, Starving: 30}

// mostLimit is the greatest limit: as a number of seconds it is eleven days.
const mostLimit = 1_000_000

// of returns the limit of a type.
func (l Limits) of(t Type) int { return cmp.Or(l[t], defaults[t]) }

// seconds returns the limit of a type as a time.
func (l Limits) seconds(t Type) time.Duration { return time.Duration(l.of(t)) * time.Second }

// ParseLimits parses limits such as "loop=20,fight=2".
func ParseLimits(text string) (Limits, error) {
	out := Limits{}
	for part := range strings.SplitSeq(text, ",") {
		name, number, ok := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 1 || n > mostLimit {
			return nil, fmt.Errorf("%q is not a limit: want TYPE=NUMBER, such as %s=%d, or seconds, such as %s=%d",
				part, Loop, defaults[Loop], Starving, defaults[Starving])
		}
		if _, known := defaults[Type(name)]; !known {
			return nil, fmt.Errorf("%q is not a type of findings: there are %s", name, typeNames())
		}
		out[Type(name)] = n
	}
	return out, nil
}

// ParseTypes parses a list of types such as "loop,fight"; "any" is all of them.
func ParseTypes(text string) ([]Type, error) {
	var out []Type
	for part := range strings.SplitSeq(text, ",") {
		name := Type(strings.TrimSpace(part))
		switch {
		case name == "any":
			out = append(out, Types()...)
			continue
		case !slices.Contains(Types(), name):
			return nil, fmt.Errorf("%q is not a type of findings: there are %s, and any", part, typeNames())
		}
		out = append(out, name)
	}
	return out, nil
}

// Names returns the names of all types.
func Names() []string {
	var names []string
	for _, t := range Types() {
		names = append(names, string(t))
	}
	return names
}

func typeNames() string { return strings.Join(Names(), ", ") }

// Object names an object.
type Object struct {
	// APIVersion is empty if it is not known.
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	// Absent for objects of cluster-scoped kinds.
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// Compare orders objects by namespace, kind, name and version.
func (o *Object) Compare(other *Object) int {
	return cmp.Or(cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Kind, other.Kind),
		cmp.Compare(o.Name, other.Name), cmp.Compare(o.APIVersion, other.APIVersion))
}

// Finding is something that repeats without progress.
type Finding struct {
	// Type of the finding: loop, fight, retries, put-off, no-op-write, requeue or starving.
	Type Type `json:"type"`
	// Object is the object that is written. Absent if the finding is about keys of a queue.
	Object *Object `json:"object,omitempty"`
	// Controller is that of the keys, or the one that writes. Absent if that is not one controller of the session.
	Controller string `json:"controller,omitempty"`
	// Keys are those of the controller's queue that it is about, at most 5; MoreKeys counts the others.
	Keys     []string `json:"keys,omitempty"`
	MoreKeys int      `json:"moreKeys,omitempty"`
	// Count is how often it happened: of a loop and a fight how often a field came back to a value, or the object was
	// written, of others how many reconciles, or writes, there were.
	Count int `json:"count"`
	// Fields are those whose values come back.
	Fields []Alternation `json:"fields,omitempty"`
	// Only is what alone a loop changes: Order, Times or OrderAndTimes. Absent if that is more, and of others.
	Only Only `json:"only,omitempty"`
	// Changed are the fields that a loop changes, if their values do not come back.
	Changed []string `json:"changed,omitempty"`
	// ItsOwn is true for a loop in which the controller reconciles a key in reaction to nothing but its own writes.
	ItsOwn bool `json:"itsOwn,omitempty"`
	// Verb and Resource are those of no-op writes, such as "update" and "deployments.apps/status".
	Verb     string `json:"verb,omitempty"`
	Resource string `json:"resource,omitempty"`
	// Writers are the names of those that write, sorted; none if they are not known.
	Writers []string `json:"writers,omitempty"`
	// Reconciles are the last ones that it is found in, at most 5; none if there is no trace.
	Reconciles []uint64 `json:"reconciles,omitempty"`
	// First and Last are when it was first and last seen. Absent if there are no times.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Message is the last error, of keys that are put off the resource of which the cache is not up to date.
	Message string `json:"message,omitempty"`
}

// maxListed bounds what is kept of a list in a Finding.
const maxListed = 5

// addReconcile notes a reconcile; 0 is none.
func (f *Finding) addReconcile(id uint64) {
	switch {
	case id == 0 || slices.Contains(f.Reconciles, id):
		return
	case len(f.Reconciles) == maxListed:
		f.Reconciles = f.Reconciles[1:]
	}
	f.Reconciles = append(f.Reconciles, id)
}

// compare orders findings by type, and then the most frequent first.
func (f *Finding) compare(other *Finding) int {
	types := Types()
	name := func(f *Finding) string {
		if f.Object == nil {
			return f.Controller
		}
		return strings.Join([]string{f.Object.Namespace, f.Object.Kind, f.Object.Name, f.Object.APIVersion}, "/")
	}
	return cmp.Or(cmp.Compare(slices.Index(types, f.Type), slices.Index(types, other.Type)),
		cmp.Compare(other.Count, f.Count), cmp.Compare(name(f), name(other)),
		cmp.Compare(f.Controller, other.Controller), cmp.Compare(f.Verb+f.Resource, other.Verb+other.Resource),
		cmp.Compare(f.Only, other.Only))
}
