package trace

import (
	"math/bits"
	"time"
)

// steps is the number of buckets in each doubling of a duration: a quantile is off by at most 1/steps.
const (
	stepBits = 5
	steps    = 1 << stepBits
)

// histogram counts durations in buckets whose width grows with the duration. The zero value is empty.
type histogram struct {
	buckets [64 * steps]uint32
	total   uint64
	longest time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	h.buckets[bucket(uint64(d))]++
	h.total++
	h.longest = max(h.longest, d)
}

// bucket maps nanoseconds below 2*steps to a bucket each, and above that every doubling to steps buckets.
func bucket(ns uint64) int {
	doublings := max(bits.Len64(ns)-1-stepBits, 0)
	return doublings*steps + int(ns>>doublings) //nolint:gosec // less than 2*steps
}

// middle is the duration in the middle of a bucket.
func middle(b int) time.Duration {
	doublings := b/steps - 1
	if doublings <= 0 {
		return time.Duration(b)
	}
	return time.Duration(steps+b%steps)<<doublings + 1<<doublings/2
}

// quantile is the duration that q of all are at most, to the width of a bucket; 0 if there are none. It never exceeds
// the longest.
func (h *histogram) quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.total))
	var seen uint64
	for b, n := range h.buckets {
		if seen += uint64(n); n > 0 && seen > rank {
			return min(middle(b), h.longest)
		}
	}
	return h.longest
}
