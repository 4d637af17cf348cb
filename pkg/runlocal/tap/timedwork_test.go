package tap

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// evictor is a controller whose reconciles of nodes leave the deletion of pods to timers.
type evictor struct {
	tap   *Tap
	sink  *eventLog
	nodes testQueue
	work  *TimedWork
}

// inEvictor runs test in a bubble of time.
func inEvictor(t *testing.T, test func(t *testing.T, e *evictor)) {
	synctest.Test(t, func(t *testing.T) {
		e := &evictor{}
		e.tap, e.sink = recording()
		c := e.tap.Controller("taint-eviction")
		e.nodes, e.work = WrapQueue(c, "nodes", plainQueue(), text), c.TimedWork("pods")
		defer e.nodes.ShutDown()
		test(t, e)
	})
}

// handleNode is the reconcile of a node that plans a deletion.
func (e *evictor) handleNode(after time.Duration) {
	e.nodes.Add("node-1")
	k, _ := e.nodes.Get()
	e.work.Scheduled("default/web", after)
	e.nodes.Done(k)
}

// state is that of the work.
func (e *evictor) state() QueueState { return e.tap.State().Controllers[0].Queues[1] }

func TestPlannedWorkIsAReconcile(t *testing.T) {
	for _, test := range []struct {
		reason string
		after  time.Duration
		cause  string
	}{
		{"at once", 0, "reconcile retry=0 delay=0s by=1"},
		{"later", 5 * time.Minute, "timer retry=0 delay=5m0s by=1"},
	} {
		inEvictor(t, func(t *testing.T, e *evictor) {
			e.handleNode(test.after)
			pass(test.after)
			if err := e.work.Do("default/web", func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			starts, ends := details[*trace.Start](e.sink), details[*trace.End](e.sink)
			if diff := cmp.Diff([]string{test.cause}, outline(starts[1].Causes)); diff != "" {
				t.Errorf("%s: causes (-want +got):\n%s", test.reason, diff)
			}
			if h := starts[1].Causes[0].Handler; h != "handleNode" {
				t.Errorf("%s: added by %q", test.reason, h)
			}
			if starts[1].Queue != "pods" || ends[1].Outcome != trace.Done {
				t.Errorf("%s: %+v, %+v", test.reason, starts[1], ends[1])
			}
			if s := e.tap.State(); !s.Idle() || len(e.work.tracker.keys) != 0 {
				t.Errorf("%s: left over: %+v", test.reason, s)
			}
		})
	}
}

func TestStateOfPlannedWork(t *testing.T) {
	inEvictor(t, func(t *testing.T, e *evictor) {
		e.handleNode(time.Minute)
		want := QueueState{Queue: "pods", Delayed: []DelayedKey{
			{Key: "default/web", Since: time.Now(), Due: time.Now().Add(time.Minute)},
		}}
		if diff := cmp.Diff(want, e.state(), cmpopts.IgnoreFields(DelayedKey{}, "Handler")); diff != "" {
			t.Errorf("planned (-want +got):\n%s", diff)
		}
		e.work.Cancelled("default/web")
		e.work.Cancelled("default/never-planned")
		if diff := cmp.Diff(QueueState{Queue: "pods"}, e.state()); diff != "" {
			t.Errorf("cancelled (-want +got):\n%s", diff)
		}
		e.handleNode(0)
		if s := e.state(); s.Queued != 1 {
			t.Errorf("about to be done: %+v", s)
		}
		_ = e.work.Do("default/web", func() error {
			if s := e.state(); s.Queued != 0 || s.Running != 1 {
				t.Errorf("under way: %+v", s)
			}
			return nil
		})
	})
}

func TestWorkThatFails(t *testing.T) {
	inEvictor(t, func(t *testing.T, e *evictor) {
		gone := errors.New("it is gone")
		if err := e.work.Do("default/web", func() error { return gone }); !errors.Is(err, gone) {
			t.Errorf("got %v", err)
		}
		want := []*trace.End{{Queue: "pods", Outcome: trace.Failed, Error: "it is gone"}}
		if diff := cmp.Diff(want, details[*trace.End](e.sink)); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
	})
}

func TestWorkInOtherNamespacesIsNotDone(t *testing.T) {
	tap, sink := keeping("a", "")
	w := tap.Controller("taint-eviction").TimedWork("pods")
	w.Scheduled("b/web", 0)
	_ = w.Do("b/web", func() error {
		t.Error("it is done")
		return nil
	})
	if got := sink.list(); len(got) != 0 || !tap.State().Idle() {
		t.Errorf("recorded: %+v, state %+v", got, tap.State())
	}
}

func TestWorkThatNobodyLooksAt(t *testing.T) {
	tap := New(Options{})
	w := tap.Controller("taint-eviction").TimedWork("pods")
	w.Scheduled("default/web", time.Hour)
	if s := tap.State().Controllers[0].Queues[0]; len(s.Delayed) != 1 {
		t.Errorf("planned: %+v", s)
	}
	if err := w.Do("default/web", func() error { return nil }); err != nil || !tap.State().Idle() {
		t.Errorf("%v, state %+v", err, tap.State())
	}
}
