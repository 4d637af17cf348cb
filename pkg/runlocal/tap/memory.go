package tap

// remembered is how many entries a generation of memory has at most.
const remembered = 1 << 14

// memory is a map that forgets: it keeps the latest entries, at least remembered of them and at most twice as many. Its
// zero value is empty. It is not safe for concurrent use.
type memory[K comparable, V any] struct {
	young, old map[K]V
	room       int // of a generation; 0 means remembered
}

func (m *memory[K, V]) get(k K) (V, bool) {
	if v, ok := m.young[k]; ok {
		return v, true
	}
	v, ok := m.old[k]
	return v, ok
}

func (m *memory[K, V]) put(k K, v V) {
	room := m.room
	if room == 0 {
		room = remembered
	}
	if len(m.young) >= room {
		m.old, m.young = m.young, nil
	}
	if m.young == nil {
		m.young = map[K]V{}
	}
	m.young[k] = v
}

func (m *memory[K, V]) drop(k K) {
	delete(m.young, k)
	delete(m.old, k)
}
