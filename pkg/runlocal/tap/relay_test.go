package tap

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// change is a key that only its package can name, as the garbage collector's are.
type change struct{ object any }

// changeQueue is the queue of such keys.
type changeQueue = workqueue.TypedRateLimitingInterface[*change]

func newChangeQueue() changeQueue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[*change]())
}

// graph is a controller of two queues: what its handlers see it turns into keys.
type graph struct {
	changes changeQueue
	values  workqueue.TypedRateLimitingInterface[change]
	queue   testQueue
}

func newGraph(t *testing.T, c *Controller) *graph {
	t.Helper()
	g := &graph{changes: newChangeQueue(), queue: plainQueue()}
	if err := SwapRelay(c, g, "changes"); err != nil {
		t.Fatal(err)
	}
	if err := SwapQueue(c, g, "queue", text); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.changes.ShutDown()
		g.queue.ShutDown()
	})
	return g
}

// addToGraph is the handler of the graph.
func (g *graph) addToGraph(obj any) { g.changes.Add(&change{obj}) }

// processGraph works on one change.
func (g *graph) processGraph() {
	c, _ := g.changes.Get()
	defer g.changes.Done(c)
	g.queue.Add(c.object.(*corev1.Pod).Name)
}

func TestRelayHandsOnTheWatchEvent(t *testing.T) {
	tap, sink := recording()
	source := newSource(t)
	i := podInformer(tap, source)
	g := newGraph(t, tap.Controller("collector"))
	if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: g.addToGraph}); err != nil {
		t.Fatal(err)
	}
	start(t, i)
	source.Add(testPod("web", "nginx"))
	g.processGraph()
	got, _ := reconcileOnce(g.queue, sink, nothing)
	if len(got.Causes) != 1 || got.Causes[0].Watch == nil || got.Causes[0].Watch.Name != "web" || !strings.HasSuffix(got.Causes[0].Handler, "processGraph") {
		t.Errorf("the causes are %+v", got.Causes)
	}
	for _, e := range sink.list() {
		if strings.Contains(e.Key, "change") {
			t.Errorf("a change makes no events: %+v", e)
		}
	}
	if s := current(); s != noScope {
		t.Errorf("afterwards the goroutine is in scope %+v", s)
	}
}

func TestRelayHandsOnTheReconcile(t *testing.T) {
	tap, sink := recording()
	g := newGraph(t, tap.Controller("collector"))
	g.queue.Add("first")
	reconcileOnce(g.queue, sink, func(string) { g.changes.Add(&change{testPod("second", "nginx")}) })
	g.processGraph() // the first reconcile has ended
	got, _ := reconcileOnce(g.queue, sink, nothing)
	if len(got.Causes) != 1 || got.Causes[0].Type != trace.CauseReconcile || got.Causes[0].Reconcile != 1 {
		t.Errorf("the causes are %+v", got.Causes)
	}
}

func TestStateCountsWhatARelayHolds(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		tap := New(Options{})
		if recorded {
			tap, _ = recording()
		}
		g := newGraph(t, tap.Controller("collector"))
		held := func() QueueState { return tap.State().Controllers[0].Queues[0] }
		g.addToGraph(testPod("web", "nginx"))
		if s := held(); s.Queue != "changes" || s.Queued != 1 || s.Running != 0 || tap.State().Idle() {
			t.Errorf("one is queued: %+v", s)
		}
		c, _ := g.changes.Get()
		if s := held(); s.Queued != 0 || s.Running != 1 || tap.State().Idle() {
			t.Errorf("it is worked on: %+v", s)
		}
		g.changes.Done(c)
		if s := held(); s.Queued != 0 || s.Running != 0 || !tap.State().Idle() {
			t.Errorf("it is done: %+v", s)
		}
	}
}

func TestSwapRelayRefusesOtherQueues(t *testing.T) {
	tap, _ := recording()
	g := &graph{values: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[change]()), queue: plainQueue()}
	defer g.values.ShutDown()
	defer g.queue.ShutDown()
	for _, test := range []struct{ reason, field, err string }{
		{"upstream has renamed the field", "graphChanges", `has no field "graphChanges"`},
		{"upstream queues the changes themselves", "values", "not a queue of pointers"},
		{"upstream queues names", "queue", "not a queue of pointers"},
		{"the constructor has made no queue", "changes", "is not set"},
	} {
		err := SwapRelay(tap.Controller("collector"), g, test.field)
		if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), `"collector"`) {
			t.Errorf("%s: want an error that has %q, got %v", test.reason, test.err, err)
		}
	}
}

// nodeLike is like the garbage collector's.
type nodeLike struct {
	_        int
	identity reference
}

// reference is its objectReference.
type reference struct {
	metav1.OwnerReference
	Namespace string
}

func queueOf[K comparable](t *testing.T) workqueue.TypedRateLimitingInterface[K] {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[K]())
	t.Cleanup(q.ShutDown)
	return q
}

func TestIdentities(t *testing.T) {
	spell := func(i *Identity) string { return i.Kind + " " + i.Namespace + "/" + i.Name }
	key, err := Identities(queueOf[*nodeLike](t), spell)
	if err != nil {
		t.Fatal(err)
	}
	n := &nodeLike{identity: reference{OwnerReference: metav1.OwnerReference{Kind: "Pod", Name: "web"}, Namespace: "default"}}
	if got := key(n); got != "Pod default/web" {
		t.Errorf("the key is %q", got)
	}
	if got := key(nil); got != "" {
		t.Errorf("the key of nothing is %q", got)
	}
	for _, v := range []any{nil, 1, n, metav1.OwnerReference{}} {
		if i := IdentityOf(v); i != nil {
			t.Errorf("%v has identity %v", v, i)
		}
	}
	if i := IdentityOf(n.identity); i == nil || i.Name != "web" || i.Namespace != "default" {
		t.Errorf("the identity is %v", i)
	}
}

func TestIdentitiesRefusesOtherKeys(t *testing.T) {
	_, byName := Identities(queueOf[string](t), nil)
	_, without := Identities(queueOf[*change](t), nil)
	_, other := Identities(queueOf[*struct{ identity string }](t), nil)
	for reason, err := range map[string]error{"keys that are names": byName, "no identity": without, "an identity of another type": other} {
		if err == nil {
			t.Errorf("%s: no error", reason)
		}
	}
}
