package trace

import (
	"cmp"
	"hash/maphash"
	"maps"
	"net/http"
	"sort"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WriteCounts is a Sink that counts by resource and verb what was written, or would have been in a dry run, and what
// was refused. It counts the requests for which Request.ChangesObjects is true. Its methods may be called concurrently.
type WriteCounts struct {
	seed maphash.Seed

	mu                sync.Mutex
	accepted, refused map[WriteCount]*writeTally
}

// WriteCount counts the writes of one verb to one resource, and if they were refused, with one code.
type WriteCount struct {
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	// Objects counts different objects, up to 65,536. Those that are created under names that the server generates are
	// counted once a request.
	Objects int `json:"objects"`
	// Writes counts the requests, repeated ones included.
	Writes int `json:"writes"`
	// Code and Message are why they were refused, Message that of the latest; zero for those that were not. Code is 0
	// as well for requests that got no answer, which have a Message.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// NotSent is as in Request.
	NotSent bool `json:"notSent,omitempty"`
}

type writeTally struct {
	objects map[uint64]bool // hashes of their namespaces and names
	writes  int
	message string
}

// maxObjects bounds the objects that are told apart for each WriteCount: a run may last for weeks.
const maxObjects = 1 << 16

// NewWriteCounts returns a WriteCounts that has counted nothing.
func NewWriteCounts() *WriteCounts {
	return &WriteCounts{seed: maphash.MakeSeed(), accepted: map[WriteCount]*writeTally{},
		refused: map[WriteCount]*writeTally{}}
}

// Record implements Sink.
func (w *WriteCounts) Record(e *Event) {
	r, ok := e.Detail.(*Request)
	if !ok || !r.ChangesObjects() {
		return
	}
	count, tallies := WriteCount{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource},
		w.accepted
	if r.Failed() {
		count.Code, count.NotSent, tallies = r.Code, r.NotSent, w.refused
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	tally := tallies[count]
	if tally == nil {
		tally = &writeTally{objects: map[uint64]bool{}}
		tallies[count] = tally
	}
	if len(tally.objects) < maxObjects {
		tally.objects[maphash.Comparable(w.seed, types.NamespacedName{Namespace: r.Namespace, Name: r.Name})] = true
	}
	tally.writes++
	if r.Failed() {
		tally.message = r.Message
	}
}

// Counts returns the counts of the writes that were accepted, in a dry run of those that would be, and of those that
// were refused, each sorted by CompareWriteCounts.
func (w *WriteCounts) Counts() (accepted, refused []WriteCount) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sortedCounts(w.accepted), sortedCounts(w.refused)
}

func sortedCounts(tallies map[WriteCount]*writeTally) []WriteCount {
	out := make([]WriteCount, 0, len(tallies))
	for count, tally := range maps.All(tallies) {
		count.Objects, count.Writes, count.Message = len(tally.objects), tally.writes, tally.message
		out = append(out, count)
	}
	sort.Slice(out, func(i, j int) bool { return CompareWriteCounts(out[i], out[j]) < 0 })
	return out
}

// CompareWriteCounts orders counts by resource, group, subresource, verb, code and message.
func CompareWriteCounts(a, b WriteCount) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Message, b.Message))
}

// Name returns the resource with group and subresource, such as "deployments.apps/status".
func (w WriteCount) Name() string {
	name := w.Resource
	if w.Group != "" {
		name += "." + w.Group
	}
	if w.Subresource != "" {
		name += "/" + w.Subresource
	}
	return name
}

// SameWrites reports whether both count the same verb of the same resource, whatever the answers.
func (w WriteCount) SameWrites(other WriteCount) bool {
	return w.Verb == other.Verb && w.Group == other.Group && w.Resource == other.Resource &&
		w.Subresource == other.Subresource
}

// IsRace reports whether the writes were refused because another client was faster, as a conflict or because the object
// is gone. Controllers meet such answers in regular work, and try again.
func (w WriteCount) IsRace() bool {
	return w.Code == http.StatusConflict || w.Code == http.StatusNotFound
}

// ChangesObjects reports whether the request is a write, accepted or not, of an object that a user may look for. Events
// are not, nor are reviews, which the server answers without keeping them.
func (r *Request) ChangesObjects() bool {
	return r.IsWrite() && r.Recorded == nil && r.Resource != "events" && !r.isReview()
}

// isReview reports whether the request is a question that is put by creating an object, such as a SubjectAccessReview.
func (r *Request) isReview() bool {
	return r.Group == authorizationv1.GroupName || r.Group == authenticationv1.GroupName
}
