package render

// recent remembers what was put latest: room entries at least once there were as many, and at most twice that.
type recent[K comparable, V any] struct {
	room       int
	young, old map[K]V
}

const (
	// mostRecent bounds the keys and reconciles that are remembered: a run may last for weeks.
	mostRecent = 1 << 14
	// mostPutOff bounds the reconciles that were put off: the causes of each are remembered.
	mostPutOff = 1 << 12
)

func (r *recent[K, V]) get(k K) (V, bool) {
	if v, ok := r.young[k]; ok {
		return v, true
	}
	v, ok := r.old[k]
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	if _, ok := r.young[k]; !ok && len(r.young) >= r.room {
		r.old, r.young = r.young, nil
	}
	if r.young == nil {
		r.young = map[K]V{}
	}
	r.young[k] = v
}

func (r *recent[K, V]) drop(k K) {
	delete(r.young, k)
	delete(r.old, k)
}

// len counts an entry twice that was put again.
func (r *recent[K, V]) len() int { return len(r.young) + len(r.old) }
