package trace

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// ControllerSummary sums up the reconciles of one controller.
type ControllerSummary struct {
	Controller string `json:"controller"`
	Reconciles int    `json:"reconciles"`
	// Failed counts the reconciles that ended with an error, given up and panicked ones included.
	Failed int `json:"failed"`
	// PutOff counts those that ended early because a cache did not show yet what the controller wrote: see End.PutOff.
	// They are not among the Failed.
	PutOff int `json:"putOff"`
	// Retries counts the reconciles that happened because an earlier one of the key had failed.
	Retries int `json:"retries"`
	// GaveUp counts the keys given up after too many tries.
	GaveUp int `json:"gaveUp"`
	// Writes counts the write requests that were taken, Events not.
	Writes int `json:"writes"`
	// RefusedWrites counts those that had an error for an answer, or none, Events not. They are not among the Writes.
	RefusedWrites int `json:"refusedWrites"`
	// Unattributed counts those of both that no reconcile is known for.
	Unattributed int `json:"unattributedWrites"`
	// Events counts the API Events recorded.
	Events int `json:"events"`

	P50       Duration `json:"p50"`
	P99       Duration `json:"p99"`
	Longest   Duration `json:"longest"`
	WaitedP50 Duration `json:"waitedP50"`
	WaitedP99 Duration `json:"waitedP99"`
}

// Summary is a Sink that counts and times by controller. Its memory does not grow with the number of events.
type Summary struct {
	mu          sync.Mutex
	controllers map[string]*tally
}

type tally struct {
	ControllerSummary
	durations, waits histogram
}

// NewSummary returns an empty Summary.
func NewSummary() *Summary { return &Summary{controllers: map[string]*tally{}} }

// Record implements Sink.
func (s *Summary) Record(e *Event) {
	if e.Controller == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.controllers[e.Controller]
	if t == nil {
		t = &tally{ControllerSummary: ControllerSummary{Controller: e.Controller}}
		s.controllers[e.Controller] = t
	}
	t.record(e)
}

func (t *tally) record(e *Event) {
	switch d := e.Detail.(type) {
	case *Start:
		t.Reconciles++
		t.waits.add(time.Duration(d.QueueWait))
		if d.IsRetry() {
			t.Retries++
		}
	case *End:
		t.durations.add(time.Duration(d.Duration))
		switch {
		case d.PutOff != "":
			t.PutOff++
		case d.Outcome != Done:
			t.Failed++
		}
	case *Dropped:
		t.GaveUp++
	case *Request:
		t.request(e, d)
	}
}

func (t *tally) request(e *Event, d *Request) {
	switch {
	case !d.IsWrite():
	case d.Recorded != nil:
		t.Events++
	default:
		if d.Failed() {
			t.RefusedWrites++
		} else {
			t.Writes++
		}
		if e.Reconcile == 0 {
			t.Unattributed++
		}
	}
}

// Controllers returns a copy of the figures, by name of controller. It may be called at any time.
func (s *Summary) Controllers() []ControllerSummary {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]ControllerSummary, 0, len(s.controllers))
	for _, t := range s.controllers {
		c := t.ControllerSummary
		c.P50, c.P99, c.Longest = Duration(t.durations.quantile(0.5)), Duration(t.durations.quantile(0.99)), Duration(t.durations.longest)
		c.WaitedP50, c.WaitedP99 = Duration(t.waits.quantile(0.5)), Duration(t.waits.quantile(0.99))
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b ControllerSummary) int { return cmp.Compare(a.Controller, b.Controller) })
	return out
}

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
