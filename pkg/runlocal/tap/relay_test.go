package tap

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// change is a key that only its package can name, as the garbage collector's are.
type change struct{ object any }

// changeQueue is the queue of such keys.
type changeQueue = workqueue.TypedRateLimitingInterface[*change]

func newChangeQueue() changeQueue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[*change]())
}

// graph is a controller of two queues: it makes keys of what its handlers see.
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
	if len(got.Causes) != 1 || got.Causes[0].Watch == nil || got.Causes[0].Watch.Name != "web" ||
		!strings.HasSuffix(got.Causes[0].Handler, "processGraph") {
		t.Errorf("the causes are %+v", got.Causes)
	}
	for _, e := range sink.list() {
		if strings.Contains(e.Key, "change") {
			t.Errorf("a change makes no events: %+v", e)
		}
	}
	if s := currentActivity(); s != noActivity {
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
		changes := func() QueueState { return tap.State().Controllers[0].Queues[0] }
		g.addToGraph(testPod("web", "nginx"))
		if s := changes(); s.Queue != "changes" || s.Queued != 1 || s.Running != 0 || tap.State().Idle() {
			t.Errorf("one is queued: %+v", s)
		}
		c, _ := g.changes.Get()
		if s := changes(); s.Queued != 0 || s.Running != 1 || tap.State().Idle() {
			t.Errorf("it is worked on: %+v", s)
		}
		g.changes.Done(c)
		if s := changes(); s.Queued != 0 || s.Running != 0 || !tap.State().Idle() {
			t.Errorf("it is done: %+v", s)
		}
	}
}

func TestSwapRelayRefusesOtherQueues(t *testing.T) {
	tap, _ := recording()
	g := &graph{values: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[change]()),
		queue: plainQueue()}
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
	n := &nodeLike{identity: reference{OwnerReference: metav1.OwnerReference{Kind: "Pod", Name: "web"},
		Namespace: "default"}}
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
	for reason, err := range map[string]error{"keys that are names": byName, "no identity": without,
		"an identity of another type": other} {
		if err == nil {
			t.Errorf("%s: no error", reason)
		}
	}
}

// passed are the changes that a changeOrder has passed on.
type passed struct {
	mu  sync.Mutex
	all []string
}

func (p *passed) add(k string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, k)
}

func (p *passed) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// TestOrderingHandsOnWhatWasWrittenFirst has two informers, of which the one that shows the older object is slow.
func TestOrderingHandsOnWhatWasWrittenFirst(t *testing.T) {
	tap, _ := recording()
	var newest sync.Map // schema.GroupResource -> uint64
	var got passed
	o := &changeOrder[string]{tap: tap, pass: got.add, newest: func(gr schema.GroupResource) uint64 {
		v, _ := newest.Load(gr)
		n, _ := v.(uint64)
		return n
	}}
	release := o.passReady
	tap.onHandled.Store(&release)

	pods, maps := newSource(t), newSource(t)
	podInformer, mapInformer := podInformer(tap, pods), tap.observe(&corev1.ConfigMap{},
		cache.NewSharedIndexInformer(maps, &corev1.ConfigMap{}, 0, cache.Indexers{}), 0)
	slow := make(chan struct{})
	var shown atomic.Int64
	handle := func(i *informer, wait <-chan struct{}) {
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			<-wait
			m := metadata(obj)
			o.add(m.GetName(), snapshot.VersionNumber(m.GetResourceVersion()))
			shown.Add(1)
		}})
		if err != nil {
			t.Fatal(err)
		}
		start(t, i)
	}
	quick := make(chan struct{})
	close(quick)
	handle(podInformer, slow)
	handle(mapInformer, quick)
	eventually(t, "the informers to have listed",
		func() bool { return podInformer.HasSynced() && mapInformer.HasSynced() })

	configMap := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	}
	newest.Store(schema.GroupResource{Resource: "pods"}, uint64(1))
	newest.Store(schema.GroupResource{Resource: "configmaps"}, uint64(2))
	pods.Add(testPod("pod-1", "nginx"))
	maps.Add(configMap("map-1"))
	maps.Add(configMap("map-2"))
	eventually(t, "both maps to be shown", func() bool { return shown.Load() == 2 })
	if list := got.list(); slices.Contains(list, "map-2") {
		t.Errorf("passed on are %v before the pod, which is older than the second map", list)
	}
	close(slow)
	eventually(t, "all to be passed on", func() bool { return len(got.list()) == 3 })
	if list := got.list(); list[2] != "map-2" {
		t.Errorf("passed on are %v, want the second map last", list)
	}

	// What never comes is not waited for for ever.
	newest.Store(schema.GroupResource{Resource: "pods"}, uint64(9))
	newest.Store(schema.GroupResource{Resource: "configmaps"}, uint64(3))
	maps.Add(configMap("map-3"))
	eventually(t, "the third map to be passed on", func() bool { return len(got.list()) == 4 })
}
