package playback

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// endless is a recording of so many records that none is kept: changes of the same pods, one after the other.
type endless struct {
	objects, events int64
	template        []byte
	next            int64
}

var _ replay.Recording = (*endless)(nil)

func newEndless(tb testing.TB, objects, events int64) *endless {
	tb.Helper()
	p := pod("NAME")
	p.Namespace, p.UID, p.ResourceVersion = "default", types.UID("uid-NAME"), "VERSION"
	for i := range 20 {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env,
			corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: "a value of some length, as there are in clusters"})
	}
	template, err := json.Marshal(p)
	if err != nil {
		tb.Fatal(err)
	}
	return &endless{objects: objects, events: events, template: template}
}

func (e *endless) total() int64 { return 3 + e.objects + e.events }

func (e *endless) Header() replay.Header { return replay.Header{Version: replay.FormatVersion} }

func (e *endless) Info() (replay.Info, error) {
	return replay.Info{
		Streams: []replay.Stream{*e.record(1).NewStream}, Records: e.total(), Events: e.events,
		First: e.record(1).Time, Last: e.record(e.total()).Time,
	}, nil
}

func (e *endless) Next() (*replay.Record, error) {
	if e.next >= e.total() {
		return nil, io.EOF
	}
	e.next++
	return e.record(e.next), nil
}

func (e *endless) Rewind() error {
	e.next = 0
	return nil
}

func (e *endless) Seek(m replay.Moment) (*replay.State, error) {
	to := m.Number
	switch {
	case m.Start:
		to = 3 + e.objects
	case m == replay.Moment{}:
		to = e.total()
	}
	state := &replay.State{}
	for n := int64(1); n <= min(to, 3+e.objects); n++ {
		state.Apply(e.record(n))
	}
	for n := max(to-e.objects+1, 4+e.objects); n <= to; n++ {
		state.Apply(e.record(n))
	}
	e.next = to
	return state, nil
}

// record returns a record by its number: a stream, its list, and then changes of its objects in turn.
func (e *endless) record(n int64) *replay.Record {
	r := &replay.Record{
		Number: n, Stream: 1, Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * 3600 * time.Microsecond),
	}
	switch n {
	case 1:
		s := stream("", "v1", "Pod", "pods")
		s.Number = 1
		r.Type, r.NewStream = replay.TypeStream, &s
	case 2:
		r.Type = replay.TypeListBegin
	case 3 + e.objects:
		r.Type, r.ResourceVersion = replay.TypeListEnd, fmt.Sprint(n)
	default:
		r.Type = replay.TypeModified
		if n < 3+e.objects {
			r.Type = replay.TypeListItem
		}
		r.Namespace, r.Name, r.ResourceVersion = "default", fmt.Sprintf("pod-%d", n%e.objects), fmt.Sprint(n)
		r.Object = bytes.ReplaceAll(bytes.ReplaceAll(e.template, []byte("NAME"), []byte(r.Name)), []byte("VERSION"),
			[]byte(r.ResourceVersion))
	}
	return r
}

func BenchmarkStart(b *testing.B) {
	r := recordRollout(b)
	for b.Loop() {
		s, err := Start(b.Context(), &r.Memory, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Stop(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkPlay plays events of a recording of 1,000,000, with a client that watches.
func BenchmarkPlay(b *testing.B) {
	e := newEndless(b, 2000, 1_000_000)
	b.SetBytes(int64(len(e.template)))
	s := serve(b, e, Options{At: replay.Moment{Start: true}})
	watched := watchRaw(b, s.Config(), "/api/v1/pods?watch=1&resourceVersion=2003")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for watched.lines.Scan() {
		}
	}()
	for b.Loop() {
		r, err := s.Next()
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Deliver(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.HeapAlloc)/1e6, "heap-MB")
	b.ReportMetric(float64(memory.Sys)/1e6, "sys-MB")
	if err := s.Stop(); err != nil {
		b.Fatal(err)
	}
	<-done
}

// BenchmarkSeekBack loads a state of 2000 objects, as a seek back does.
func BenchmarkSeekBack(b *testing.B) {
	e := newEndless(b, 2000, 1_000_000)
	s := serve(b, e, Options{At: replay.Moment{Number: 100_000}})
	to := int64(99_000)
	for b.Loop() {
		if err := s.Seek(b.Context(), replay.Moment{Number: to}); err != nil {
			b.Fatal(err)
		}
		to--
	}
}
