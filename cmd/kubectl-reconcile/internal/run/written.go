package run

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// written is a trace.Sink that counts by kind what a run on a cluster wrote, or would have in a dry run, and what it was
// refused. Events do not count, nor do reviews, of which a server keeps nothing.
type written struct {
	seed maphash.Seed

	mu             sync.Mutex
	taken, refused map[writeCount]*writeTally
}

// writeCount is a sort of writes that a run came to, in a summary as JSON.
type writeCount struct {
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	// Objects counts them, up to mostObjects; of those that are created under names that the server makes, each time counts.
	Objects int `json:"objects"`
	// Writes counts the requests, repeated ones included.
	Writes int `json:"writes"`
	// Code and Message are why they were refused; Code is 0 and Message empty for those that were not. Of several messages
	// it is the last. A request that got no answer has the code 0, too.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// NotSent reports that the server did not get them, as in the trace: the run had lost the right to write, or the answer was
	// given in the server's place.
	NotSent bool `json:"notSent,omitempty"`
}

type writeTally struct {
	objects map[uint64]bool // hashes of their namespaces and names
	writes  int
	message string
}

// mostObjects bounds the objects that are told apart of a sort of writes: a run may last for weeks.
const mostObjects = 1 << 16

func newWritten() *written {
	return &written{seed: maphash.MakeSeed(), taken: map[writeCount]*writeTally{}, refused: map[writeCount]*writeTally{}}
}

// Record implements trace.Sink.
func (w *written) Record(e *trace.Event) {
	r, ok := e.Detail.(*trace.Request)
	if !ok || !countsAsWrite(r) {
		return
	}
	sort, of := writeCount{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource}, w.taken
	if r.Failed() {
		sort.Code, sort.NotSent, of = r.Code, r.NotSent, w.refused
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	tally := of[sort]
	if tally == nil {
		tally = &writeTally{objects: map[uint64]bool{}}
		of[sort] = tally
	}
	if len(tally.objects) < mostObjects {
		tally.objects[maphash.Comparable(w.seed, types.NamespacedName{Namespace: r.Namespace, Name: r.Name})] = true
	}
	tally.writes++
	if r.Failed() {
		tally.message = r.Message
	}
}

// countsAsWrite reports whether a request changes something that a user may look for, or would if it were taken.
func countsAsWrite(r *trace.Request) bool {
	return r.IsWrite() && r.Recorded == nil && r.Resource != "events" && !isReview(r)
}

// list returns the counts of what was taken, and of what was refused, each by resource and verb.
func (w *written) list() (taken, refused []writeCount) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return counted(w.taken), counted(w.refused)
}

func counted(of map[writeCount]*writeTally) []writeCount {
	out := make([]writeCount, 0, len(of))
	for sort, tally := range maps.All(of) {
		sort.Objects, sort.Writes, sort.Message = len(tally.objects), tally.writes, tally.message
		out = append(out, sort)
	}
	slices.SortFunc(out, byResource)
	return out
}

func byResource(a, b writeCount) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Message, b.Message))
}

// name is as in "deployments.apps/status".
func (w writeCount) name() string {
	name := w.Resource
	if w.Group != "" {
		name += "." + w.Group
	}
	if w.Subresource != "" {
		name += "/" + w.Subresource
	}
	return name
}

// usual says that a controller is refused so again and again, and tries anew: somebody else was faster.
func (w writeCount) usual() bool {
	return w.Code == http.StatusConflict || w.Code == http.StatusNotFound
}

// refusal is such as "create pods was refused 3 times (403): exceeded quota: …".
func (w writeCount) refusal() string {
	times, why := cli.Plural(w.Writes, "time"), render.Reason(w.Message)
	switch {
	case w.NotSent:
		return fmt.Sprintf("%s %s was not sent %s: %s", w.Verb, w.name(), times, why)
	case w.Code == 0:
		return fmt.Sprintf("%s %s got no answer %s: %s", w.Verb, w.name(), times, why)
	}
	return fmt.Sprintf("%s %s was refused %s (%d): %s", w.Verb, w.name(), times, w.Code, why)
}

// writeRows are the rows of the table of what was written, or would be, with what was refused of it.
func writeRows(taken, refused []writeCount) []render.WriteRow {
	var rows []render.WriteRow
	for _, w := range slices.SortedFunc(slices.Values(append(slices.Clone(taken), onlyRefused(taken, refused)...)), byResource) {
		times := 0
		for _, r := range refused {
			if w.sameSort(r) {
				times += r.Writes
			}
		}
		rows = append(rows, render.WriteRow{
			Verb: w.Verb, Resource: w.name(), Objects: w.Objects, Writes: w.Writes, Refused: times,
		})
	}
	return rows
}

func (w writeCount) sameSort(other writeCount) bool {
	return w.Verb == other.Verb && w.Group == other.Group && w.Resource == other.Resource && w.Subresource == other.Subresource
}

// onlyRefused are the sorts of which nothing was taken.
func onlyRefused(taken, refused []writeCount) []writeCount {
	var out []writeCount
	for _, r := range refused {
		if !slices.ContainsFunc(append(slices.Clone(taken), out...), r.sameSort) {
			out = append(out, writeCount{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource})
		}
	}
	return out
}
