package tap

import (
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eventLog is a sink that keeps everything.
type eventLog struct {
	mu  sync.Mutex
	all []*trace.Event
}

// Record implements trace.Sink.
func (e *eventLog) Record(event *trace.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *eventLog) list() []*trace.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// details returns the details of one type, in order.
func details[D trace.Detail](e *eventLog) []D {
	var out []D
	for _, event := range e.list() {
		if d, ok := event.Detail.(D); ok {
			out = append(out, d)
		}
	}
	return out
}

// recording returns a Tap that records to the sink.
func recording() (*Tap, *eventLog) {
	sink := &eventLog{}
	return New(Options{Recorder: trace.NewRecorder(clock.RealClock{}, sink)}), sink
}

func text(s string) string { return s }
