package tap

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func cause(seq uint64) *trace.Cause { return &trace.Cause{Type: trace.CauseOther, Seq: seq} }

func seqs(list []trace.Cause) []uint64 {
	var out []uint64
	for _, c := range list {
		out = append(out, c.Seq)
	}
	return out
}

// at is a moment some milliseconds after the start of a test.
func at(ms int) time.Time { return time.UnixMilli(int64(1000 + ms)) }

// TestEveryTakenKeyHasItsCauses plays what the wrapped queue does and the tracker is told a moment later.
func TestEveryTakenKeyHasItsCauses(t *testing.T) {
	for _, test := range []struct {
		reason string
		play   func(l *queueTracker[string]) [][]uint64
		want   [][]uint64
	}{
		{"an addition while the key is worked on is a cause of the next reconcile only",
			func(l *queueTracker[string]) [][]uint64 {
				l.add("a", at(0), cause(1))
				first := l.take("a", at(1))
				l.add("a", at(2), cause(2))
				l.done("a", at(3))
				l.add("a", at(4), cause(3))
				return [][]uint64{seqs(first.causes), seqs(l.take("a", at(5)).causes)}
			}, [][]uint64{{1}, {2, 3}}},
		{"a key that was added without the tracker has no cause of another reconcile's",
			func(l *queueTracker[string]) [][]uint64 {
				l.add("a", at(0), cause(1))
				first := l.take("a", at(1))
				l.done("a", at(2))
				return [][]uint64{seqs(first.causes), seqs(l.take("a", at(3)).causes)}
			}, [][]uint64{{1}, nil}},
		{"a delay whose time is over is no cause before it has ended", func(l *queueTracker[string]) [][]uint64 {
			l.addAt("a", at(0), at(5), cause(1), 1)
			l.add("a", at(4), cause(2))
			first := l.take("a", at(5))
			fire(l, "a", at(6))
			l.done("a", at(7))
			return [][]uint64{seqs(first.causes), seqs(l.take("a", at(8)).causes)}
		}, [][]uint64{{2}, {1}}},
		{"a delay that ended before the key was taken for something else is one of its causes",
			func(l *queueTracker[string]) [][]uint64 {
				l.addAt("a", at(0), at(5), cause(1), 1)
				l.add("a", at(4), cause(2))
				fire(l, "a", at(5))
				first := l.take("a", at(6))
				l.done("a", at(7))
				l.add("a", at(8), cause(3))
				return [][]uint64{seqs(first.causes), seqs(l.take("a", at(9)).causes)}
			}, [][]uint64{{1, 2}, {3}}},
		{"of delays that the queue has merged, those at watch events are answered to",
			func(l *queueTracker[string]) [][]uint64 {
				l.addAt("a", at(0), at(5), cause(1), 0)
				seen := cause(2)
				seen.Watch = &trace.Watch{}
				l.addAt("a", at(0), at(500), seen, 0)
				fire(l, "a", at(5))
				return [][]uint64{seqs(l.take("a", at(6)).causes)}
			}, [][]uint64{{1, 2}}},
		{"of delays that the queue has merged, those whose time is over are the cause",
			func(l *queueTracker[string]) [][]uint64 {
				l.addAt("a", at(0), at(500), cause(1), 0)
				l.addAt("a", at(0), at(5), cause(2), 1)
				l.addAt("a", at(0), at(4), cause(3), 1)
				fire(l, "a", at(5))
				return [][]uint64{seqs(l.take("a", at(6)).causes)}
			}, [][]uint64{{2, 3}}},
	} {
		l := newQueueTracker(&sync.Mutex{}, text)
		if diff := cmp.Diff(test.want, test.play(l)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// TestLedgerBoundsDelays: what is merged into one delay may be any number, and the cause of the reconcile is not lost
// in it.
func TestLedgerBoundsDelays(t *testing.T) {
	l := newQueueTracker(&sync.Mutex{}, text)
	for n := range maxCauses + 5 {
		seen := cause(uint64(n + 1))
		seen.Watch = &trace.Watch{Object: trace.Object{Name: string(rune('a' + n))}}
		l.addAt("a", at(0), at(500+n), seen, 0)
	}
	l.addAt("a", at(0), at(700), cause(98), 1) // comes to nothing
	l.addAt("a", at(0), at(5), cause(99), 1)
	fire(l, "a", at(5))
	got := l.take("a", at(6))
	if len(got.causes) != maxCauses || got.causes[maxCauses-1].Seq != 99 || got.more != 6 {
		t.Errorf("causes %v and %d more, want 15 events and the timer that came first, and 6 events more",
			seqs(got.causes), got.more)
	}
}

// fire ends the delays of the key.
func fire(l *queueTracker[string], k string, now time.Time) { l.expireAll(k, now) }

func TestLedgerKeepsADelayThatIsAskedForAfterAnotherHasEnded(t *testing.T) {
	l := newQueueTracker(&sync.Mutex{}, text)
	first := l.addAt("a", at(0), at(5), cause(1), 0)
	second := l.addAt("a", at(5), at(500), cause(2), 0) // before the queue has noticed that the first is over
	if second == nil {
		t.Fatal("the second delay is lost")
	}
	for n, d := range []*delay[string]{first, second} {
		if !l.expire(d, d.due) {
			t.Fatalf("delay %d does not end", n+1)
		}
		if got := seqs(l.take("a", d.due).causes); !slices.Equal(got, []uint64{uint64(n + 1)}) {
			t.Errorf("causes %v at the end of delay %d", got, n+1)
		}
		l.done("a", d.due)
	}
}

func TestLedgerForgetsADelayThatASoonerOneReplaces(t *testing.T) {
	l := newQueueTracker(&sync.Mutex{}, text)
	later := l.addAt("a", at(0), at(500), cause(1), 0)
	sooner := l.addAt("a", at(1), at(5), cause(2), 0)
	if l.addAt("a", at(2), at(600), cause(3), 0) != nil {
		t.Error("a delay that ends later than another is not merged into it")
	}
	if !l.expire(sooner, at(5)) || l.expire(later, at(500)) {
		t.Error("the delay that ends first is not the only one to end")
	}
}

func TestLedgerCountsADelayAsQueuedFromItsTimeOn(t *testing.T) {
	l := newQueueTracker(&sync.Mutex{}, text)
	l.addAt("a", at(0), at(5), cause(1), 1)
	if s := l.state(at(4)); s.Queued != 0 || len(s.Delayed) != 1 {
		t.Errorf("before its time: %+v", s)
	}
	if s := l.state(at(5)); s.Queued != 1 || len(s.Delayed) != 0 {
		t.Errorf("at its time the queue may not know yet, which is no rest: %+v", s)
	}
}

func TestLedgerForgetsKeys(t *testing.T) {
	l := newQueueTracker(&sync.Mutex{}, text)
	for _, k := range []string{"a", "b", "c"} {
		l.add(k, at(0), cause(1))
		l.take(k, at(1))
		l.done(k, at(2))
	}
	if len(l.keys) != 0 {
		t.Errorf("%d keys are kept of which nothing is to be known", len(l.keys))
	}
}
