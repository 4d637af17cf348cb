// Package recent has a map that forgets what was put into it long ago, for programs that run for weeks. It knows no
// times: what is old is what others were put after.
package recent

import "iter"

// DefaultCapacity is the capacity of a Map that sets none.
const DefaultCapacity = 1 << 14

// Map is a map that forgets old entries: it holds at least the latest Capacity entries, and at most twice as many. The
// zero value is empty. It must not be used concurrently.
type Map[K comparable, V any] struct {
	// Capacity must not be changed once the map is used; 0 is DefaultCapacity.
	Capacity int

	young, old map[K]V
}

// Get returns an entry; false if there is none, or it was forgotten.
func (m *Map[K, V]) Get(k K) (V, bool) {
	if v, ok := m.young[k]; ok {
		return v, true
	}
	v, ok := m.old[k]
	return v, ok
}

// Put adds an entry or replaces it.
func (m *Map[K, V]) Put(k K, v V) {
	capacity := m.Capacity
	if capacity == 0 {
		capacity = DefaultCapacity
	}
	if _, ok := m.young[k]; !ok && len(m.young) >= capacity {
		m.old, m.young = m.young, nil
	}
	if m.young == nil {
		m.young = map[K]V{}
	}
	m.young[k] = v
}

// Delete removes an entry, if it is there.
func (m *Map[K, V]) Delete(k K) {
	delete(m.young, k)
	delete(m.old, k)
}

// All yields the entries that are held, in no order. The map must not be changed meanwhile.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range m.young {
			if !yield(k, v) {
				return
			}
		}
		for k, v := range m.old {
			if _, replaced := m.young[k]; !replaced && !yield(k, v) {
				return
			}
		}
	}
}

// Len returns how many entries are held; one that was put again may count twice.
func (m *Map[K, V]) Len() int { return len(m.young) + len(m.old) }
