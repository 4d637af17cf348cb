package trace

import (
	"math/bits"
	"sort"
	"sync"
	"time"
)

// ControllerSummary sums up the reconciles of one controller.
type ControllerSummary struct {
	Controller string `json:"controller"`
	Reconciles int    `json:"reconciles"`
	// Failed counts the reconciles that ended with an error, given up and panicked ones included.
	Failed int `json:"failed"`
	// Conflicts counts the write requests that were refused because the object had changed since the controller read
	// it, which reads it again. Neither they nor the reconciles that failed by one are counted in RefusedWrites and
	// Failed.
	Conflicts int `json:"conflicts"`
	// PutOff counts the reconciles that ended early because a cache did not show yet what the controller wrote: see
	// End.PutOff. They are not counted in Failed.
	PutOff int `json:"putOff"`
	// Retries counts the reconciles caused by a failure of an earlier one of the key.
	Retries int `json:"retries"`
	// GaveUp counts the keys that were given up after too many retries.
	GaveUp int `json:"gaveUp"`
	// Writes counts the successful write requests, without those of API Events.
	Writes int `json:"writes"`
	// RefusedWrites counts the write requests that failed, without those of API Events. They are not counted in Writes.
	RefusedWrites int `json:"refusedWrites"`
	// Unattributed counts the writes, of both kinds, that belong to no known reconcile.
	Unattributed int `json:"unattributedWrites"`
	// Events counts the API Events recorded.
	Events int `json:"events"`

	// P50, P99 and Longest are of the durations of reconciles, to within a thirty-second; WaitedP50 and WaitedP99 of
	// the times that keys could have been taken before they were.
	P50       Duration `json:"p50"`
	P99       Duration `json:"p99"`
	Longest   Duration `json:"longest"`
	WaitedP50 Duration `json:"waitedP50"`
	WaitedP99 Duration `json:"waitedP99"`
}

// Summary is a Sink that counts and times by controller. Its memory does not grow with the number of events. All its
// methods may be called concurrently.
type Summary struct {
	mu          sync.Mutex // guards controllers and all that is in it
	controllers map[string]*controllerTally
}

// controllerTally is the summary of one controller, with the distributions that its quantiles are computed from.
type controllerTally struct {
	ControllerSummary
	durations, waits histogram
	// running has what the reconciles that have not ended were refused by conflicts.
	running map[ReconcileID][]*Request
}

// NewSummary returns an empty Summary.
func NewSummary() *Summary { return &Summary{controllers: map[string]*controllerTally{}} }

// Record implements Sink.
func (s *Summary) Record(e *Event) {
	if e.Controller == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.controllers[e.Controller]
	if t == nil {
		t = &controllerTally{
			ControllerSummary: ControllerSummary{Controller: e.Controller}, running: map[ReconcileID][]*Request{},
		}
		s.controllers[e.Controller] = t
	}
	t.record(e)
}

func (t *controllerTally) record(e *Event) {
	switch d := e.Detail.(type) {
	case *Start:
		t.Reconciles++
		t.running[e.Reconcile] = nil
		t.waits.add(time.Duration(d.QueueWait))
		if d.IsRetry() {
			t.Retries++
		}
	case *End:
		t.durations.add(time.Duration(d.Duration))
		conflict := d.ConflictOf(t.running[e.Reconcile])
		delete(t.running, e.Reconcile)
		switch {
		case d.PutOff != "":
			t.PutOff++
		case d.Outcome != Done && conflict == nil:
			t.Failed++
		}
	case *Dropped:
		t.GaveUp++
	case *Request:
		t.request(e, d)
	}
}

func (t *controllerTally) request(e *Event, d *Request) {
	switch {
	case !d.IsWrite():
	case d.Recorded != nil:
		t.Events++
	default:
		switch {
		case d.IsConflict():
			t.Conflicts++
			if of, runs := t.running[e.Reconcile]; runs {
				t.running[e.Reconcile] = append(of, d)
			}
		case d.Failed():
			t.RefusedWrites++
		default:
			t.Writes++
		}
		if e.Reconcile == 0 {
			t.Unattributed++
		}
	}
}

// Controllers returns a copy of the figures, sorted by name of controller.
func (s *Summary) Controllers() []ControllerSummary {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]ControllerSummary, 0, len(s.controllers))
	for _, t := range s.controllers {
		c := t.ControllerSummary
		c.P50, c.P99 = Duration(t.durations.quantile(0.5)), Duration(t.durations.quantile(0.99))
		c.Longest = Duration(t.durations.longest)
		c.WaitedP50, c.WaitedP99 = Duration(t.waits.quantile(0.5)), Duration(t.waits.quantile(0.99))
		out = append(out, c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Controller < out[j].Controller })
	return out
}

// bucketsPerDoubling is the number of buckets for each doubling of a duration: a quantile is off by at most one part in
// that many.
const (
	bucketBits         = 5
	bucketsPerDoubling = 1 << bucketBits
)

// histogram counts durations in buckets whose width grows with the duration. The zero value is empty. Its methods must
// not be called concurrently.
type histogram struct {
	buckets [64 * bucketsPerDoubling]uint32
	total   uint64
	longest time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	h.buckets[bucket(uint64(d))]++
	h.total++
	h.longest = max(h.longest, d)
}

// bucket returns the bucket of a duration: one for each nanosecond below 2*bucketsPerDoubling, and above that
// bucketsPerDoubling for each doubling.
func bucket(ns uint64) int {
	doublings := max(bits.Len64(ns)-1-bucketBits, 0)
	return doublings*bucketsPerDoubling + int(ns>>doublings) //nolint:gosec // less than 2*bucketsPerDoubling
}

// middle returns the duration in the middle of a bucket.
func middle(b int) time.Duration {
	doublings := b/bucketsPerDoubling - 1
	if doublings <= 0 {
		return time.Duration(b)
	}
	return time.Duration(bucketsPerDoubling+b%bucketsPerDoubling)<<doublings + 1<<doublings/2
}

// quantile returns the duration that a share q of all do not exceed, to the width of a bucket; 0 if there are none. It
// never exceeds the longest.
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
