package engine

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStop(t *testing.T) {
	tests := []struct {
		name    string
		reason  string
		work    func(ctx context.Context)
		took    time.Duration // from Stop to Wait's return
		problem string
	}{{
		name:   "idle",
		reason: "nothing runs, nothing is waited for",
		work:   func(context.Context) {},
	}, {
		name:   "within the grace",
		reason: "a running reconcile finishes undisturbed",
		work: func(ctx context.Context) {
			select {
			case <-ctx.Done():
				panic("ended too early")
			case <-time.After(3 * time.Second):
			}
		},
		took: 2 * time.Second,
	}, {
		name:   "after the grace",
		reason: "then the context ends",
		work:   func(ctx context.Context) { <-ctx.Done() },
		took:   10 * time.Second,
	}, {
		name:    "deaf",
		reason:  "a reconcile that ignores its context does not delay the stop forever, and is named",
		work:    func(context.Context) { pass(time.Minute) },
		took:    20 * time.Second,
		problem: "default/web",
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				c := started(t, Options{Grace: 10 * time.Second,
					Reconciler: Func(func(ctx context.Context, _ Request) (Result, error) {
						calls++
						tt.work(ctx)
						return Result{RequeueAfter: time.Millisecond}, nil
					})})
				c.Enqueue(web)
				synctest.Wait()
				if tt.took > 0 {
					pass(time.Second)
					c.Enqueue(web, Request{Name: "queued"}) // one worker: these wait
				}
				begin := time.Now()
				c.Stop()
				c.Enqueue(Request{Name: "late"})
				err := c.Wait()
				if took := time.Since(begin); took != tt.took {
					t.Errorf("%s: took %v, want %v", tt.reason, took, tt.took)
				}
				switch {
				case tt.problem == "" && err != nil:
					t.Errorf("%s: Wait() = %v", tt.reason, err)
				case tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)):
					t.Errorf("%s: Wait() = %v, want one about %q", tt.reason, err, tt.problem)
				}
				pass(time.Hour)
				if calls != 1 {
					t.Errorf("%s: %d reconciles, want 1: what was queued is left undone", tt.reason, calls)
				}
			})
		})
	}
}

func TestContextEndsTheController(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		var value any
		ended := false
		c, err := New(Options{Name: "test", Reconciler: Func(func(ctx context.Context, _ Request) (Result, error) {
			value = ctx.Value(key{})
			pass(500 * time.Millisecond)
			ended = ctx.Err() != nil
			return Result{}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(ctx); err == nil {
			t.Error("a second Start() = nil")
		}
		c.Enqueue(web)
		synctest.Wait()
		cancel()
		if err := c.Wait(); err != nil {
			t.Errorf("Wait() = %v", err)
		}
		if value != "value" || ended {
			t.Errorf("the reconcile got value %v, ended %v; want the values of the context without its end", value,
				ended)
		}
	})
}

func TestEnqueueAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &history{start: time.Now()}
		c := started(t, Options{Observer: h, Reconciler: Func(func(context.Context, Request) (Result, error) {
			h.try()
			return Result{}, nil
		})})
		c.EnqueueAfter(web, time.Minute)
		c.EnqueueAfter(web, time.Second)
		pass(time.Hour)
		stopped(t, c)
		if len(h.tries) != 1 || h.tries[0] != time.Second {
			t.Errorf("reconciled after %v, want once after 1s: the earliest delay counts", h.tries)
		}
	})
}
