package plan

import (
	"cmp"
	"sort"
	"strings"

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
	// canonical is the text of the key by which it is sorted.
	canonical string
}

// schedule keeps since when keys wait. Its methods must not be called concurrently.
type schedule struct {
	since map[queueKey]waiting
	names *names
}

// waiting is since when a key waits, for a delay only or not, and candidate.canonical, which takes long to make.
type waiting struct {
	since     int
	delayed   bool
	canonical string
}

// update takes what waits after the reconcile of that number, and returns it in the order in which it is to be
// reconciled: first what watch events have added, in the order of the reconciles that led to them, so that what was
// wished for earlier is not overtaken; then what delays have added or will add, for which isDue reports true. What one
// reconcile has added is sorted: controllers before simulated nodes, then by name.
func (s *schedule) update(after int, state tap.State, isDue func(queueKey, tap.DelayedKey) bool) []candidate {
	var out []candidate
	since := map[queueKey]waiting{}
	add := func(c candidate) {
		first, known := s.since[c.queueKey]
		if !known || first.delayed != c.delayed { // a delay that was there too, and may be over, is of no matter
			first.since, first.delayed = after, c.delayed
		}
		if !known {
			first.canonical = s.names.sortKey(c.key)
		}
		since[c.queueKey], c.since, c.canonical = first, first.since, first.canonical
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
	sort.Slice(out, func(i, j int) bool { return compareCandidates(out[i], out[j]) < 0 })
	return out
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(
		compareBools(a.delayed, b.delayed),
		cmp.Compare(a.since, b.since),
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
