package engine

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
)

// wrapping is an Observer that marks the context and counts what goes through the queue.
type wrapping struct {
	history
	added requestCounter
	taken requestCounter
}

type mark struct{}

func (w *wrapping) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, mark{}, "marked")
}

func (w *wrapping) Queue(q Queue) Queue { return &wrappedQueue{Queue: q, w: w} }

type wrappedQueue struct {
	Queue
	w *wrapping
}

func (q *wrappedQueue) Add(r Request) {
	q.w.added.increment(r)
	q.Queue.Add(r)
}

func (q *wrappedQueue) Get() (Request, bool) {
	r, down := q.Queue.Get()
	if !down {
		q.w.taken.increment(r)
	}
	return r, down
}

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wrapping{}
		var value any
		c := started(t, Options{Observer: w, Reconciler: Func(func(ctx context.Context, _ Request) (Result, error) {
			value = ctx.Value(mark{})
			return Result{}, nil
		})})
		c.Enqueue(web)
		synctest.Wait()
		if value != "marked" {
			t.Errorf("the reconcile's context has the value %v, want the observer's", value)
		}
		want := map[Request]int{web: 1}
		if diff := cmp.Diff(want, w.added.snapshot()); diff != "" {
			t.Errorf("added through the observer's queue (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, w.taken.snapshot()); diff != "" {
			t.Errorf("taken through the observer's queue (-want +got):\n%s", diff)
		}
		stopped(t, c)
	})
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged := make(chan string, 1)
		logger := funcr.New(func(_, args string) { logged <- args }, funcr.Options{})
		c, err := New(Options{Name: "test", BaseDelay: time.Hour,
			Reconciler: Func(func(context.Context, Request) (Result, error) {
				panicDeepInside()
				return Result{}, nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(klog.NewContext(t.Context(), logger)); err != nil {
			t.Fatal(err)
		}
		c.Enqueue(web)
		line := <-logged
		for _, part := range []string{`"error"="panic: oh"`, `"key"="default/web"`, "panicDeepInside"} {
			if !strings.Contains(line, part) {
				t.Errorf("the log does not contain %s:\n%s", part, line)
			}
		}
		stopped(t, c)
	})
}

func panicDeepInside() { panic("oh") }

func TestLen(t *testing.T) {
	c, err := New(Options{Name: "test", Reconciler: Func(nil)})
	if err != nil {
		t.Fatal(err)
	}
	c.Enqueue(web, web, Request{Name: "other"})
	if c.Len() != 2 {
		t.Errorf("Len() = %d, want 2: a request counts once", c.Len())
	}
	stopped(t, c)
}
