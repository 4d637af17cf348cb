package recorder

import (
	"maps"
	"slices"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Trouble is a selection that cannot be recorded.
type Trouble struct {
	// Incomplete has the kind, and why. Its Reason is empty if the selection is recorded again.
	cluster.Incomplete
	// Listed reports whether the selection was recorded before: as a list, and if Watched is true as changes, too.
	Listed, Watched bool
	// Ended reports whether it is not tried again.
	Ended bool
}

// troubles are those of all streams.
type troubles struct {
	notify func(Trouble)

	mu      sync.Mutex // guards current, and calls of notify
	current map[*stream]Trouble
}

// set remembers the trouble of a stream, and notifies of it if its reason is another one than before.
func (t *troubles) set(s *stream, trouble Trouble) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.current[s]
	if t.current == nil {
		t.current = map[*stream]Trouble{}
	}
	t.current[s] = trouble
	if t.notify != nil && (!known || before.Reason != trouble.Reason || before.Ended != trouble.Ended) {
		t.notify(trouble)
	}
}

// clear remembers that a stream has no trouble any more.
func (t *troubles) clear(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	trouble, known := t.current[s]
	if !known {
		return
	}
	delete(t.current, s)
	if t.notify != nil {
		trouble.Reason, trouble.Message = "", ""
		t.notify(trouble)
	}
}

// ended returns how many streams are not tried again.
func (t *troubles) ended() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, trouble := range t.current {
		if trouble.Ended {
			n++
		}
	}
	return n
}

func (t *troubles) all() []Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	byKind := func(a, b Trouble) int { return a.Compare(b.Incomplete) }
	return slices.SortedFunc(maps.Values(t.current), byKind)
}
