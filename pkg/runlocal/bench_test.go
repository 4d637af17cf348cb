package runlocal

import (
	"fmt"
	"io"
	"testing"

	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// session starts a session for a benchmark, with the controllers of Deployments if none are named.
func session(b *testing.B, recorder *trace.Recorder, names ...string) *Session {
	b.Helper()
	if len(names) == 0 {
		names = []string{"deployment", "replicaset"}
	}
	selected, err := controllers.Select(names)
	if err != nil {
		b.Fatal(err)
	}
	s, err := Start(b.Context(), Options{
		API: api.Options{DefaultServiceAccounts: true}, Controllers: selected, Nodes: 20, Recorder: recorder,
	})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func stop(b *testing.B, s *Session) {
	b.Helper()
	if err := s.Stop(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStart times a session from nothing to running controllers.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s := session(b, nil)
		b.StopTimer()
		stop(b, s)
		b.StartTimer()
	}
}

// BenchmarkSettled times a session from nothing to having nothing to do: with the garbage collector, which then watches
// all kinds, and without.
func BenchmarkSettled(b *testing.B) {
	for name, selected := range map[string][]string{"all": {"*"}, "deployments": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := session(b, nil, selected...)
				if err := s.WaitSettled(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				stop(b, s)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkThousandPods times 50 Deployments of 20 replicas from their creation to Ready, by what becomes of the trace.
// The cases run side by side in one process, so that their difference is the cost of tracing.
func BenchmarkThousandPods(b *testing.B) {
	b.Run("untraced", func(b *testing.B) { benchmarkPods(b) })
	b.Run("summary", func(b *testing.B) { benchmarkPods(b, trace.NewSummary()) })
	b.Run("ndjson", func(b *testing.B) {
		buffer := trace.NewBuffer(1<<16, trace.NewWriter(io.Discard))
		benchmarkPods(b, trace.NewSummary(), buffer)
		if err := buffer.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}

func benchmarkPods(b *testing.B, sinks ...trace.Sink) {
	var recorder *trace.Recorder
	if len(sinks) > 0 {
		recorder = trace.NewRecorder(clock.RealClock{}, sinks...)
	}
	for b.Loop() {
		b.StopTimer()
		s := session(b, recorder)
		b.StartTimer()
		thousandPods(b, s)
		b.StopTimer()
		stop(b, s)
		b.StartTimer()
	}
}

func thousandPods(b *testing.B, s *Session) {
	b.Helper()
	var texts []string
	for i := range 50 {
		texts = append(texts, deployment(fmt.Sprintf("d%02d", i), 20))
	}
	applied, err := s.Apply(b.Context(), "default", manifests(b, texts...))
	if err != nil {
		b.Fatal(err)
	}
	if err := s.WaitReady(b.Context(), applied); err != nil {
		b.Fatal(err)
	}
}
