package tap

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestHeldReconcileEndsWithItsLastRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap, sink := recording()
		c := tap.Controller("binder")
		q := newQueue(c)
		defer q.ShutDown()
		q.Add("default/data")
		k, _ := q.Get()
		first, second := c.BeginAsyncWork(), c.BeginAsyncWork()
		var seen []trace.ReconcileID
		go func() {
			pass(time.Second)
			seen = append(seen, currentActivity().reconcile.id)
			first()
			first()
			pass(time.Second)
			second()
		}()
		q.Done(k)
		if r := currentActivity().reconcile; r != nil {
			t.Errorf("the worker still belongs to reconcile %d", r.id)
		}
		if s := tap.State(); s.Idle() || s.Controllers[0].AsyncWork != 2 || s.Controllers[0].Queues[0].Running != 0 {
			t.Errorf("before the work ended the state is %+v", s)
		}
		pass(1500 * time.Millisecond)
		if ends := details[*trace.End](sink); len(ends) != 0 {
			t.Error("it ended before its last release")
		}
		pass(time.Second)
		ends := details[*trace.End](sink)
		if len(ends) != 1 || time.Duration(ends[0].Duration) != 2*time.Second ||
			!slices.Equal(seen, []trace.ReconcileID{1}) {
			t.Errorf("ends %+v, and its goroutine saw reconciles %v", ends, seen)
		}
		if !tap.State().Idle() {
			t.Error("asynchronous work is left")
		}
	})
}

func TestHeldKeyCanBeTakenAgain(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("binder")
	q := newQueue(c)
	defer q.ShutDown()
	var releases []func()
	for range 2 {
		q.Add("default/data")
		k, _ := q.Get()
		releases = append(releases, c.BeginAsyncWork())
		q.Done(k)
	}
	releases[1]()
	releases[0]()
	var order []trace.ReconcileID
	for _, e := range sink.list() {
		if _, ok := e.Detail.(*trace.End); ok {
			order = append(order, e.Reconcile)
		}
	}
	if diff := cmp.Diff([]trace.ReconcileID{2, 1}, order); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

func TestHoldOutsideOfItsReconciles(t *testing.T) {
	tap, _ := recording()
	q := newQueue(tap.Controller("binder"))
	defer q.ShutDown()
	q.Add("default/data")
	k, _ := q.Get()
	defer q.Done(k)
	for name, c := range map[string]*Controller{"another controller": tap.Controller("other")} {
		release := c.BeginAsyncWork()
		if c.asyncWork.Load() != 0 {
			t.Errorf("%s holds a reconcile that is not its own", name)
		}
		release()
	}
}

// TestHandedKeysBeginWithTheirLine has one goroutine take keys and another work on them, as pvc-protection does.
func TestHandedKeysBeginWithTheirLine(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("protection")
	c.SetTraits(ControllerTraits{ErrorLevel: 4, BegunKey: func(message string, values []any) string {
		if message == "Processing" {
			return values[1].(string)
		}
		return ""
	}})
	logger := klog.FromContext(c.Context(t.Context()))
	q := newQueue(c)
	defer q.ShutDown()
	for _, key := range []string{"default/a", "default/b", "default/c"} {
		q.Add(key)
		q.Get()
	}
	if r := currentActivity().reconcile; r != nil || len(details[*trace.Start](sink)) != 0 {
		t.Error("the goroutine that takes the keys works on none")
	}
	for _, key := range []string{"default/b", "default/a"} {
		logger.V(4).Info("Processing", "key", key)
		logger.V(2).Info("Looking", "key", key)
		q.Done(key)
	}
	q.Done("default/c") // whose line did not come
	want := []string{
		"default/b Start", "default/b Processing", "default/b Looking", "default/b End",
		"default/a Start", "default/a Processing", "default/a Looking", "default/a End",
		"default/c Start", "default/c End",
	}
	var got []string
	for _, e := range sink.list() {
		switch d := e.Detail.(type) {
		case *trace.Start:
			got = append(got, e.Key+" Start")
		case *trace.Log:
			got = append(got, e.Key+" "+d.Message)
		case *trace.End:
			got = append(got, e.Key+" End")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestSwapNamesTheField(t *testing.T) {
	tap, _ := recording()
	c := tap.Controller("binder")
	target := &struct{ clock func() int }{func() int { return 1 }}
	double := func(f func() int) func() int { return func() int { return 2 * f() } }
	if err := SwapField(c, target, "clock", double); err != nil || target.clock() != 2 {
		t.Errorf("the clock shows %d, or: %v", target.clock(), err)
	}
	err := SwapField(c, target, "watch", double)
	if want := `observing field "watch" of controller "binder": struct { clock func() int } has no field "watch"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
