package tap

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// timerLoop runs a loop whose iterations are a second apart, one for each of works, and returns what was recorded.
func timerLoop(t *testing.T, works ...func(ctx context.Context, c *Controller)) *eventLog {
	t.Helper()
	var sink *eventLog
	synctest.Test(t, func(t *testing.T) {
		var tap *Tap
		tap, sink = recording()
		c := tap.Controller("podgc")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		wait.UntilWithContext(c.TimerLoops(c.Context(ctx)), func(ctx context.Context) {
			works[n](ctx, c)
			if n++; n == len(works) {
				cancel()
			}
		}, time.Second)
		if s := currentActivity(); s != noActivity {
			t.Errorf("afterwards the goroutine is in scope %+v", s)
		}
		if !tap.State().Idle() {
			t.Errorf("afterwards: %+v", tap.State())
		}
	})
	return sink
}

func quietly(context.Context, *Controller) {}

// logLine logs a line.
func logLine(ctx context.Context, message string) { klog.FromContext(ctx).V(4).Info(message) }

func TestTurnsAreReconciles(t *testing.T) {
	sink := timerLoop(t,
		func(ctx context.Context, _ *Controller) { logLine(ctx, "first"); pass(time.Millisecond) },
		quietly,
		func(ctx context.Context, c *Controller) {
			web := testPod("web", "nginx")
			do(t, c, answering(http.StatusOK, encode(t, runtime.ContentTypeJSON, web)), http.MethodDelete,
				"/k8s/api/v1/namespaces/default/pods/web", nil)
			logLine(ctx, "third")
		},
		func(ctx context.Context, _ *Controller) { klog.FromContext(ctx).Error(errors.New("no"), "Failed") },
		func(ctx context.Context, _ *Controller) { klog.FromContext(ctx).Error(nil, "Setting initial state") },
	)
	type event struct {
		Reconcile trace.ReconcileID
		Type      trace.Type
	}
	var got []event
	for _, e := range sink.list() {
		got = append(got, event{e.Reconcile, e.Type()})
	}
	want := []event{
		{1, trace.TypeStart}, {1, trace.TypeLog}, {1, trace.TypeEnd},
		{2, trace.TypeStart}, {2, trace.TypeRequest}, {2, trace.TypeLog}, {2, trace.TypeEnd},
		{3, trace.TypeStart}, {3, trace.TypeLog}, {3, trace.TypeEnd},
		{4, trace.TypeStart}, {4, trace.TypeLog}, {4, trace.TypeEnd},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("an iteration of which nothing is recorded makes no reconcile; each other makes one (-want +got):\n%s",
			diff)
	}
	wantEnds := []*trace.End{
		{Outcome: trace.Done, Duration: trace.Duration(time.Millisecond)}, {Outcome: trace.Done,
			Writes: 1}, {Outcome: trace.Failed, Error: "no"}, {Outcome: trace.Done},
	}
	if diff := cmp.Diff(wantEnds, details[*trace.End](sink)); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	timer := &trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer}}}
	if diff := cmp.Diff([]*trace.Start{timer, timer, timer, timer}, details[*trace.Start](sink)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

// TestHeldTimerLoops: the first iteration of a loop is free, and each other one waits until it is released.
func TestHeldTimerLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap, _ := recording()
		tap.HoldKeys(true)
		c := tap.Controller("podgc")
		ctx, cancel := context.WithCancel(t.Context())
		n, done := 0, make(chan struct{})
		go func() {
			defer close(done)
			wait.UntilWithContext(c.HeldTimerLoops(c.Context(ctx)), func(context.Context) { n++ }, time.Millisecond)
		}()
		for want := 1; want < 4; want++ {
			pass(time.Second)
			synctest.Wait()
			if n != want {
				t.Errorf("%d iterations have run, want %d", n, want)
			}
			if got := heldKeys(tap); len(got) != 1 || got[0] != "" {
				t.Errorf("held are %q", got)
			}
			if tap.ReleaseKey("podgc", LoopQueue, "a") || !tap.ReleaseKey("podgc", LoopQueue, "") {
				t.Error("another key than the empty one is released, or not that")
			}
			if tap.State().IdleButHeld() {
				t.Error("a loop that goes on is work to do")
			}
		}
		cancel()
		<-done
	})
}

func TestTurnsTakeTheirGoroutinesAlong(t *testing.T) {
	sink := timerLoop(t, func(ctx context.Context, _ *Controller) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			logLine(ctx, "in parallel")
		}()
		<-done
	})
	for _, e := range sink.list() {
		if e.Reconcile != 1 {
			t.Errorf("of no iteration: %+v", e)
		}
	}
	if n := len(sink.list()); n != 3 {
		t.Errorf("%d events are recorded", n)
	}
}

func TestWhatATurnQueuesHasATimerForItsCause(t *testing.T) {
	var q testQueue
	sink := timerLoop(t, func(_ context.Context, c *Controller) {
		q = newQueue(c)
		enqueueWeb(q)
		finish(q.Get, q.Done)
		q.ShutDown()
	})
	start := details[*trace.Start](sink)[0]
	want := []trace.Cause{{Type: trace.CauseTimer, Handler: "enqueueWeb"}}
	if diff := cmp.Diff(want, start.Causes, cmpopts.IgnoreFields(trace.Cause{}, "Seq")); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if n := len(details[*trace.Start](sink)); n != 1 {
		t.Errorf("%d reconciles: the iteration itself does nothing", n)
	}
}

func TestLoopsOfWorkersAreNoTurns(t *testing.T) {
	sink := timerLoop(t, func(ctx context.Context, c *Controller) {
		q := newQueue(c)
		time.AfterFunc(time.Second, func() { enqueueWeb(q) })
		finish(q.Get, q.Done)
		logLine(ctx, "between two keys")
		q.ShutDown()
	})
	if n := len(details[*trace.Start](sink)); n != 1 {
		t.Errorf("%d reconciles begin; want the key's alone", n)
	}
	for _, e := range sink.list() {
		if _, ok := e.Detail.(*trace.Log); ok && e.Reconcile != 0 {
			t.Errorf("a line between two keys belongs to reconcile %d", e.Reconcile)
		}
	}
}

func TestTurnsLeaveOthersAlone(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("podgc")
	ctx, cancel := context.WithCancel(c.TimerLoops(c.Context(t.Context())))
	cancel()
	<-ctx.Done()
	logLine(ctx, "outside of any loop")
	if got := sink.list(); len(got) != 1 || got[0].Reconcile != 0 {
		t.Errorf("recorded: %+v", got)
	}
	if unseen := New(Options{}).Controller("podgc"); unseen.TimerLoops(ctx) != ctx {
		t.Error("a tap that records nothing needs no other context")
	}
}
