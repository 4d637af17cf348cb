package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var web = Request{Namespace: "default", Name: "web"}

// history is an Observer that keeps outcomes, and the tries of a reconciler with their times.
type history struct {
	noObserver
	mu       sync.Mutex
	start    time.Time
	tries    []time.Duration
	outcomes []string
}

func (h *history) Outcome(o trace.Outcome, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := string(o)
	if err != nil {
		text += ": " + err.Error()
	}
	h.outcomes = append(h.outcomes, text)
}

func (h *history) try() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries = append(h.tries, time.Since(h.start))
	return len(h.tries)
}

// started returns a started Controller, which is stopped, orderly, when the test ends.
func started(t *testing.T, o Options) *Controller {
	t.Helper()
	o.Name = "test"
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func stopped(t *testing.T, c *Controller) {
	t.Helper()
	c.Stop()
	if err := c.Wait(); err != nil {
		t.Errorf("Wait() = %v", err)
	}
}

func TestRetries(t *testing.T) {
	ms := func(all ...int) (d []time.Duration) {
		for _, n := range all {
			d = append(d, time.Duration(n)*time.Millisecond)
		}
		return d
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web", errors.New("changed"))
	tests := []struct {
		name     string
		reason   string
		options  Options
		try      func(n int) (Result, error)
		tries    []time.Duration
		outcomes []string
	}{{
		name:     "success",
		reason:   "what succeeds is not repeated",
		try:      func(int) (Result, error) { return Result{}, nil },
		tries:    ms(0),
		outcomes: []string{"done"},
	}, {
		name:   "requeue after",
		reason: "a timer brings the request back, without counting as a failure",
		try: func(n int) (Result, error) {
			if n == 1 {
				return Result{RequeueAfter: time.Second}, nil
			}
			return Result{}, nil
		},
		tries:    ms(0, 1000),
		outcomes: []string{"done", "done"},
	}, {
		name:    "backoff",
		reason:  "delays double up to the maximum, and the request is dropped after its retries",
		options: Options{BaseDelay: 10 * time.Millisecond, MaxDelay: 30 * time.Millisecond, MaxRetries: 3},
		try:     func(int) (Result, error) { return Result{}, errors.New("boom") },
		tries:   ms(0, 10, 30, 60),
		outcomes: []string{
			"failed: boom", "failed: boom", "failed: boom", "gaveUp: boom",
		},
	}, {
		name:    "a success ends the row of failures",
		reason:  "after a success the delay starts from the first",
		options: Options{BaseDelay: 10 * time.Millisecond},
		try: func(n int) (Result, error) {
			switch n {
			case 1, 2, 4:
				return Result{}, errors.New("boom")
			case 3:
				return Result{RequeueAfter: 100 * time.Millisecond}, nil
			}
			return Result{}, nil
		},
		tries:    ms(0, 10, 30, 130, 140),
		outcomes: []string{"failed: boom", "failed: boom", "done", "failed: boom", "done"},
	}, {
		name:    "conflicts",
		reason:  "a few conflicts are retried soon, always after the same delay, and count no failures",
		options: Options{ConflictDelay: 7 * time.Millisecond, MaxRetries: 1},
		try: func(n int) (Result, error) {
			if n <= 3 {
				return Result{}, fmt.Errorf("updating: %w", conflict)
			}
			return Result{}, nil
		},
		tries: ms(0, 7, 14, 21),
		outcomes: []string{
			"failed: updating: " + conflict.Error(), "failed: updating: " + conflict.Error(),
			"failed: updating: " + conflict.Error(), "done",
		},
	}, {
		name:    "conflicts without end",
		reason:  "a reconciler that conflicts forever is no hot loop",
		options: Options{ConflictDelay: time.Millisecond, BaseDelay: 100 * time.Millisecond, MaxRetries: 1},
		try:     func(int) (Result, error) { return Result{}, conflict },
		tries:   ms(0, 1, 2, 3, 4, 5, 105),
		outcomes: []string{
			"failed: " + conflict.Error(), "failed: " + conflict.Error(), "failed: " + conflict.Error(),
			"failed: " + conflict.Error(), "failed: " + conflict.Error(), "failed: " + conflict.Error(),
			"gaveUp: " + conflict.Error(),
		},
	}, {
		name:    "panic",
		reason:  "a panic is retried as an error",
		options: Options{BaseDelay: 10 * time.Millisecond},
		try: func(n int) (Result, error) {
			if n == 1 {
				panic("oh")
			}
			return Result{}, nil
		},
		tries:    ms(0, 10),
		outcomes: []string{"panicked: panic: oh", "done"},
	}, {
		name:    "no limit of retries",
		reason:  "less than 0 means that nothing is given up",
		options: Options{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond, MaxRetries: -1},
		try: func(n int) (Result, error) {
			if n <= 20 {
				return Result{}, errors.New("boom")
			}
			return Result{}, nil
		},
		tries: ms(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20),
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &history{start: time.Now()}
				tt.options.Observer = h
				tt.options.Reconciler = Func(func(context.Context, Request) (Result, error) { return tt.try(h.try()) })
				c := started(t, tt.options)
				c.Enqueue(web)
				pass(time.Hour)
				stopped(t, c)
				if diff := cmp.Diff(tt.tries, h.tries); diff != "" {
					t.Errorf("%s: tries (-want +got):\n%s", tt.reason, diff)
				}
				if diff := cmp.Diff(tt.outcomes, h.outcomes); tt.outcomes != nil && diff != "" {
					t.Errorf("%s: outcomes (-want +got):\n%s", tt.reason, diff)
				}
			})
		})
	}
}

func TestDeduplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &history{start: time.Now()}
		var mu sync.Mutex
		atOnce, most := 0, 0
		c := started(t, Options{Workers: 4, Observer: h,
			Reconciler: Func(func(context.Context, Request) (Result, error) {
				h.try()
				mu.Lock()
				atOnce++
				most = max(most, atOnce)
				mu.Unlock()
				pass(time.Second)
				mu.Lock()
				atOnce--
				mu.Unlock()
				return Result{}, nil
			})})
		c.Enqueue(web, web, web)
		synctest.Wait()
		c.Enqueue(web, web) // while it runs: once more, afterwards
		pass(time.Minute)
		stopped(t, c)
		if diff := cmp.Diff([]time.Duration{0, time.Second}, h.tries); diff != "" {
			t.Errorf("tries (-want +got):\n%s", diff)
		}
		if most != 1 {
			t.Errorf("%d reconciles of one key ran at once, want 1", most)
		}
	})
}

func TestWorkersRunDifferentKeysAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &history{start: time.Now()}
		c := started(t, Options{Workers: 2, Observer: h,
			Reconciler: Func(func(context.Context, Request) (Result, error) {
				h.try()
				pass(time.Second)
				return Result{}, nil
			})})
		c.Enqueue(Request{Name: "a"}, Request{Name: "b"}, Request{Name: "c"})
		pass(time.Minute)
		stopped(t, c)
		if diff := cmp.Diff([]time.Duration{0, 0, time.Second}, h.tries); diff != "" {
			t.Errorf("tries (-want +got):\n%s", diff)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		reason  string
		options Options
	}{
		{"a reconciler is needed", Options{Name: "x"}},
		{"a name is needed", Options{Reconciler: Func(nil)}},
		{"less than no workers would never reconcile anything", Options{Name: "x", Reconciler: Func(nil), Workers: -1}},
	}
	for _, tt := range tests {
		if c, err := New(tt.options); err == nil {
			t.Errorf("New(%+v) returns no error: %s", tt.options, tt.reason)
			stopped(t, c)
		}
	}
}

func TestRequestString(t *testing.T) {
	for want, r := range map[string]Request{"default/web": web, "node-1": {Name: "node-1"}} {
		if got := r.String(); got != want {
			t.Errorf("%#v.String() = %q, want %q", r, got, want)
		}
	}
}

// pass lets time pass in a bubble of synctest.
func pass(d time.Duration) { <-time.After(d) }
