package recent_test

import (
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
)

// TestMap: the latest entries are kept, and those that are put again for longer.
func TestMap(t *testing.T) {
	m := recent.Map[int, string]{Capacity: 2}
	get := func(k int, want string) {
		t.Helper()
		if got, known := m.Get(k); got != want || known != (want != "") {
			t.Errorf("%d is %q, known: %t; want %q", k, got, known, want)
		}
	}
	get(1, "")
	m.Put(1, "a")
	m.Put(2, "b")
	m.Put(2, "c")
	get(1, "a") // putting an entry again evicts no other
	get(2, "c")
	m.Put(3, "d")
	m.Put(1, "e") // and is remembered for longer
	m.Put(4, "f")
	get(1, "e")
	get(2, "")
	get(3, "d")
	m.Put(1, "g")
	m.Delete(1) // old and young
	get(1, "")
	if m.Len() != 2 {
		t.Errorf("%d are remembered, want 3 and 4", m.Len())
	}
}

// TestDefaultCapacity: the zero value forgets, too.
func TestDefaultCapacity(t *testing.T) {
	var m recent.Map[int, int]
	for n := range 3 * recent.DefaultCapacity {
		m.Put(n, n)
	}
	if n := m.Len(); n < recent.DefaultCapacity || n > 2*recent.DefaultCapacity {
		t.Errorf("%d are remembered, want %d or some more", n, recent.DefaultCapacity)
	}
}
