package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestLimiter(t *testing.T) {
	other := Request{Name: "other"}
	tests := []struct {
		name   string
		reason string
		do     func(l *limiter) []time.Duration
		want   []time.Duration // in milliseconds
		failed int
		total  int
	}{{
		name: "failures", reason: "without a conflict delays double",
		do:     func(l *limiter) []time.Duration { return []time.Duration{l.When(web), l.When(web)} },
		want:   []time.Duration{100, 200},
		failed: 2, total: 2,
	}, {
		name: "conflicts", reason: "they are soon, as long as there are few, and do not make failures slower",
		do: func(l *limiter) (all []time.Duration) {
			for range maxConflicts + 2 {
				l.conflict(web)
				all = append(all, l.When(web))
			}
			return all
		},
		want:   []time.Duration{3, 3, 3, 3, 3, 100, 200},
		failed: 2, total: maxConflicts + 2,
	}, {
		name: "alternating", reason: "a failure after a conflict is slow, and takes no conflict's delay",
		do: func(l *limiter) []time.Duration {
			l.conflict(web)
			soon := l.When(web)
			return []time.Duration{soon, l.When(web)}
		},
		want:   []time.Duration{3, 100},
		failed: 1, total: 2,
	}, {
		name: "another request", reason: "a conflict is one request's",
		do: func(l *limiter) []time.Duration {
			l.conflict(other)
			return []time.Duration{l.When(web)}
		},
		want:   []time.Duration{100},
		failed: 1, total: 1,
	}, {
		name: "forgotten", reason: "a success resets both counts",
		do: func(l *limiter) []time.Duration {
			for range maxConflicts {
				l.conflict(web)
				l.When(web)
			}
			l.When(web)
			l.conflict(web)
			l.Forget(web)
			slow := l.When(web)
			l.conflict(web)
			return []time.Duration{slow, l.When(web)}
		},
		want:   []time.Duration{100, 3},
		failed: 1, total: 2,
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLimiter(Options{BaseDelay: 100 * time.Millisecond, MaxDelay: time.Hour,
				ConflictDelay: 3 * time.Millisecond})
			for i := range tt.want {
				tt.want[i] *= time.Millisecond
			}
			if diff := cmp.Diff(tt.want, tt.do(l)); diff != "" {
				t.Errorf("%s: delays (-want +got):\n%s", tt.reason, diff)
			}
			if failed, total := l.failed(web), l.NumRequeues(web); failed != tt.failed || total != tt.total {
				t.Errorf("%s: %d failures of %d retries, want %d of %d", tt.reason, failed, total, tt.failed, tt.total)
			}
		})
	}
}

// returning is an Observer that records by which method requests come back to the queue.
type returning struct {
	noObserver
	ways []string // of the only worker
}

func (o *returning) Queue(q Queue) Queue { return &returningQueue{q, o} }

type returningQueue struct {
	Queue
	o *returning
}

func (q *returningQueue) AddRateLimited(r Request) {
	q.Queue.AddRateLimited(r)
	q.o.ways = append(q.o.ways, fmt.Sprintf("retry %d", q.NumRequeues(r)))
}

func (q *returningQueue) AddAfter(r Request, d time.Duration) {
	q.o.ways = append(q.o.ways, fmt.Sprintf("timer of %v", d))
	q.Queue.AddAfter(r, d)
}

func TestObserverSeesConflictsAsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []error{
			apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web", errors.New("changed")),
			errors.New("boom"),
			apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web", errors.New("changed")),
			nil,
		}
		tries := 0
		o := &returning{}
		c := started(t, Options{Observer: o, Reconciler: Func(func(context.Context, Request) (Result, error) {
			tries++
			if tries > len(answers) {
				return Result{}, nil
			}
			return Result{RequeueAfter: time.Minute}, answers[tries-1]
		})})
		c.Enqueue(web)
		pass(time.Hour)
		stopped(t, c)
		want := []string{"retry 1", "retry 2", "retry 3", "timer of 1m0s"}
		if diff := cmp.Diff(want, o.ways); diff != "" {
			t.Errorf("ways back (-want +got):\n%s", diff)
		}
	})
}
