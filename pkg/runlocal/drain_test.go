package runlocal

import (
	"strings"
	"sync"
	"testing"

	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// balance is a trace.Sink that knows which reconciles are under way, and which were cut off.
type balance struct {
	mu     sync.Mutex
	open   map[trace.ReconcileID]string
	ended  int
	cutOff []string
	writes chan struct{} // gets one for the first writes
}

// Record implements trace.Sink.
func (b *balance) Record(e *trace.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch d := e.Detail.(type) {
	case *trace.Start:
		b.open[e.Reconcile] = e.Controller + " " + e.Key
	case *trace.End:
		delete(b.open, e.Reconcile)
		b.ended++
		if strings.Contains(d.Error, "context canceled") {
			b.cutOff = append(b.cutOff, e.Controller+" "+e.Key+": "+d.Error)
		}
	case *trace.Request:
		if d.IsWrite() && d.Resource == "pods" {
			select {
			case b.writes <- struct{}{}:
			default:
			}
		}
	}
}

// TestStopLetsReconcilesFinish: in the middle of making pods, nothing that was begun fails for the end.
func TestStopLetsReconcilesFinish(t *testing.T) {
	sink := &balance{open: map[trace.ReconcileID]string{}, writes: make(chan struct{}, 1)}
	s := start(t, Options{Nodes: 3, Recorder: trace.NewRecorder(clock.RealClock{}, sink)}, "deployment", "replicaset")
	if _, err := s.Apply(within(t), "default", manifests(t, deployment("a", 60), deployment("b", 60))); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sink.writes:
	case <-within(t).Done():
		t.Fatal("no pod is made")
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	sink.mu.Lock()
	defer sink.mu.Unlock()
	if len(sink.open) > 0 || len(sink.cutOff) > 0 || sink.ended == 0 {
		t.Errorf("of %d reconciles, not ended: %v; cut off: %v", sink.ended, sink.open, sink.cutOff)
	}
}
