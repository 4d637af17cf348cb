package nodes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// fakeEventWriter keeps what a recorder writes, with the time of it.
type fakeEventWriter struct {
	start time.Time
	lines []string
	names map[string]bool
	fail  error
	stuck bool
}

var _ eventWriter = (*fakeEventWriter)(nil)

func (w *fakeEventWriter) create(ctx context.Context, name string, o *eventRecord) error {
	if w.stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	w.names[name] = true
	w.lines = append(w.lines, fmt.Sprintf("%v create %s", time.Since(w.start), o.reason))
	return w.fail
}

func (w *fakeEventWriter) repetition(o *eventRecord, count int32) map[string]any {
	return map[string]any{o.reason: count}
}

func (w *fakeEventWriter) patch(_ context.Context, _, name string, data []byte) error {
	if !w.names[name] {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "events"}, name)
	}
	w.lines = append(w.lines, fmt.Sprintf("%v repeat %s", time.Since(w.start), data))
	return nil
}

func TestRecorder(t *testing.T) {
	tests := []struct {
		name   string
		reason string
		busy   time.Duration
		fail   error
		record func(record func(reason string))
		want   []string
	}{{
		name: "quiet", reason: "events wait until nothing was recorded for a moment",
		record: func(record func(string)) { record("A"); record("B") },
		want:   []string{"50ms create A", "50ms create B"},
	}, {
		name: "busy", reason: "they wait for the pods", busy: time.Second,
		record: func(record func(string)) { record("A") },
		want:   []string{"1s create A"},
	}, {
		name: "busy for long", reason: "but not forever", busy: time.Minute,
		record: func(record func(string)) { record("A") },
		want:   []string{"5s create A"},
	}, {
		name: "repeated", reason: "a repetition is counted",
		record: func(record func(string)) { record("A"); record("A"); record("B"); record("A") },
		want:   []string{"50ms create A", `50ms repeat {"A":2}`, "50ms create B", `50ms repeat {"A":3}`},
	}, {
		name: "refused", reason: "what was not created cannot be counted up", fail: errors.New("no"),
		record: func(record func(string)) { record("A"); record("A") },
		want:   []string{"50ms create A", "50ms create A"},
	}, {
		name: "a gap", reason: "the quiet period begins with the last event",
		record: func(record func(string)) {
			record("A")
			advanceTime(30 * time.Millisecond)
			record("B")
		},
		want: []string{"80ms create A", "80ms create B"},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &fakeEventWriter{start: time.Now(), names: map[string]bool{}, fail: tt.fail}
				r := newRecorder(w, clock.RealClock{}, func() bool { return time.Since(w.start) < tt.busy })
				stop, done := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					r.run(t.Context(), stop)
				}()
				tt.record(func(reason string) {
					r.record(&eventRecord{regarding: regarding(podOf("p"), ""), reason: reason, at: time.Now()})
				})
				advanceTime(time.Hour)
				close(stop)
				<-done
				if diff := cmp.Diff(tt.want, w.lines); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
				}
			})
		})
	}
}

func TestRecorderOfDeletedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeEventWriter{start: time.Now(), names: map[string]bool{}}
		r := newRecorder(w, clock.RealClock{}, func() bool { return false })
		write := func() {
			t.Helper()
			if err := r.write(t.Context(), &eventRecord{regarding: regarding(podOf("p"), ""), reason: "A",
				at: time.Now()}); err != nil {
				t.Errorf("after %q: %v", w.lines, err)
			}
		}
		write()
		write()
		clear(w.names) // kubectl delete events --all
		write()
		write()
		want := []string{"0s create A", `0s repeat {"A":2}`, "0s create A", `0s repeat {"A":2}`}
		if diff := cmp.Diff(want, w.lines); diff != "" {
			t.Errorf("what is gone is created again, and counted up from then on (-want +got):\n%s", diff)
		}
	})
}

func TestDeletedEventsComeAgain(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{NoEvents: true})
	writers := map[string]eventWriter{"kubelet": kubeletEvents{s.CoreV1()}, "scheduler": schedulerEvents{s.EventsV1()}}
	for name, w := range writers {
		t.Run(name, func(t *testing.T) {
			events := s.CoreV1().Events("default")
			r := newRecorder(w, clock.RealClock{}, func() bool { return false })
			o := &eventRecord{regarding: regarding(podOf(name), ""), reason: "Again", message: "and again", at: time.Now()}
			for range 2 {
				if err := r.write(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			if err := events.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := r.write(t.Context(), o); err != nil {
				t.Errorf("writing an event that was deleted: %v", err)
			}
			list, err := events.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Items) != 1 || list.Items[0].Reason != "Again" {
				t.Errorf("there are the events %v, want the deleted one again", list.Items)
			}
		})
	}
}

func TestRecorderStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeEventWriter{start: time.Now(), names: map[string]bool{}}
		r := newRecorder(w, clock.RealClock{}, func() bool { return true })
		stop := make(chan struct{})
		for range 3 {
			r.record(&eventRecord{regarding: regarding(podOf("p"), ""), reason: "A", at: time.Now()})
		}
		close(stop)
		r.run(t.Context(), stop)
		if want := []string{"0s create A", `0s repeat {"A":2}`, `0s repeat {"A":3}`}; cmp.Diff(want, w.lines) != "" {
			t.Errorf("at a stop %q were written, want %q at once", w.lines, want)
		}
	})
}

func TestRecorderGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := newRecorder(&fakeEventWriter{stuck: true}, clock.RealClock{}, func() bool { return false })
		r.record(&eventRecord{regarding: regarding(podOf("p"), ""), reason: "A", at: time.Now()})
		r.run(ctx, make(chan struct{})) // returns when ctx ends, or the bubble deadlocks
	})
}

func TestNoRecorder(*testing.T) {
	var r *recorder
	r.record(&eventRecord{})
}

// advanceTime lets time pass in a bubble of synctest.
func advanceTime(d time.Duration) { <-time.After(d) }
