package trace

import (
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"
)

// Sink receives the events of a Recorder, one at a time and in order of Seq. Record must not call the Recorder, and
// what it does slows the controllers down: see Buffer for a sink that takes its time.
type Sink interface {
	Record(*Event)
}

// Recorder numbers events and hands them to sinks. All its methods may be called concurrently, and on a nil
// *Recorder, which records nothing and costs next to nothing.
type Recorder struct {
	clock clock.PassiveClock
	sinks []Sink
	ids   atomic.Uint64

	mu  sync.Mutex // held while sinks get an event, so that they all see one order
	seq uint64
}

// NewRecorder returns a Recorder that stamps events by clk.
func NewRecorder(clk clock.PassiveClock, sinks ...Sink) *Recorder {
	return &Recorder{clock: clk, sinks: sinks}
}

// NextReconcile returns an id that was not given out before; 0 on a nil Recorder.
func (r *Recorder) NextReconcile() ReconcileID {
	if r == nil {
		return 0
	}
	return ReconcileID(r.ids.Add(1))
}

// Emit records an event of the controller, reconcile and key, each of which may be its zero value, and returns its Seq,
// 0 on a nil Recorder. The Detail must not be changed afterwards.
func (r *Recorder) Emit(controller string, id ReconcileID, key string, d Detail) uint64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	e := &Event{Seq: r.seq, Time: r.clock.Now(), Controller: controller, Reconcile: id, Key: key, Detail: d}
	for _, s := range r.sinks {
		s.Record(e)
	}
	return e.Seq
}
