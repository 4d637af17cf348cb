package plan

import (
	"cmp"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// queueKey is a key in one queue of one controller.
type queueKey struct{ controller, queue, key string }

// candidate is a key that may be reconciled next.
type candidate struct {
	queueKey
	// since is the number of the reconcile after which it was first seen to wait.
	since int
	// delayed is true for a key that only a delay or a retry has added or will add.
	delayed bool
	// ready is false while the delay is not over.
	ready bool
	// first is true for the key of an object that was created without an owner, just before the key was added.
	first bool
	// canonical is the text of the key by which it is sorted.
	canonical string
}

// schedule keeps since when keys wait. Its methods must not be called concurrently.
type schedule struct {
	since map[queueKey]waiting
	names *names
	// created are the objects, by queue keys, that were created without an owner since the last update. What has the
	// same name, and another kind, comes along.
	created map[string]bool
}

// waiting is since when a key waits, for a delay only or not, and candidate.first and canonical, which takes long to
// make.
type waiting struct {
	since          int
	delayed, first bool
	canonical      string
}

// noteCreated takes note of the objects that have no owner and are created by writes.
func (s *schedule) noteCreated(writes []api.Write) {
	for _, w := range writes {
		if w.Before == nil && w.After != nil && metav1.GetControllerOfNoCopy(w.After) == nil {
			s.created[cache.MetaObjectToName(w.After).String()] = true
		}
	}
}

// update takes what waits after the reconcile of that number, and returns it in the order in which it is to be
// reconciled: first what watch events have added, in the order of the reconciles that led to them, so that what was
// wished for earlier is not overtaken; then what delays have added or will add, for which isDue reports true. What one
// reconcile has added is sorted: the keys of objects without an owner, since what adopts them asks the API first; the
// scheduler, which binds a pod with one request; other controllers, then the other simulated nodes; then by name.
func (s *schedule) update(after int, state tap.State, isDue func(queueKey, tap.DelayedKey) bool) []candidate {
	var out []candidate
	since := map[queueKey]waiting{}
	add := func(c candidate) {
		first, known := s.since[c.queueKey]
		if !known || first.delayed != c.delayed { // a delay that was there too, and may be over, is of no matter
			first.since, first.delayed, first.first = after, c.delayed, s.created[c.key]
		}
		if !known {
			first.canonical = s.names.sortKey(c.key)
		}
		since[c.queueKey], c.since, c.first, c.canonical = first, first.since, first.first, first.canonical
		out = append(out, c)
	}
	for _, c := range state.Controllers {
		for _, q := range c.Queues {
			held := map[string]bool{}
			for _, k := range q.Held {
				held[k.Key] = true
				add(candidate{queueKey: queueKey{c.Name, q.Queue, k.Key}, delayed: k.Delayed, ready: true})
			}
			for _, d := range q.Delayed {
				k := queueKey{c.Name, q.Queue, d.Key}
				if !held[d.Key] && isDue(k, d) {
					add(candidate{queueKey: k, delayed: true})
				}
			}
		}
	}
	s.since = since
	clear(s.created)
	sort.Slice(out, func(i, j int) bool { return compareCandidates(out[i], out[j]) < 0 })
	return out
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(
		compareBools(a.delayed, b.delayed),
		cmp.Compare(a.since, b.since),
		compareBools(!a.first, !b.first),
		compareBools(a.controller != nodes.SchedulerName, b.controller != nodes.SchedulerName),
		compareBools(isSimulated(a.controller), isSimulated(b.controller)),
		cmp.Compare(a.controller, b.controller),
		cmp.Compare(a.queue, b.queue),
		strings.Compare(a.canonical, b.canonical),
	)
}

// compareBools sorts false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// isSimulated reports whether a controller is one of the simulated nodes and their volumes.
func isSimulated(controller string) bool {
	return controller == nodes.SchedulerName || controller == nodes.KubeletName || controller == nodes.ProvisionerName
}
