package tap

import (
	"context"
	"fmt"
	"go/build"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func testPod(name, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
	}
}

// newSource returns an API of one resource, whose versions count from 1.
func newSource(t *testing.T) *cachetesting.FakeControllerSource {
	s := cachetesting.NewFakeControllerSource()
	t.Cleanup(s.Shutdown)
	return s
}

// podInformer returns an observed informer of the source's pods, which the caller runs.
func podInformer(t *Tap, source *cachetesting.FakeControllerSource) *informer {
	return t.observe(&corev1.Pod{}, cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{}), 0)
}

// start runs the informer until the test ends.
func start(t *testing.T, i *informer) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { i.RunWithContext(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 2*time.Minute, true,
		func(context.Context) (bool, error) {
			return condition(), nil
		})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// recordedWatches returns the watch events, in short.
func recordedWatches(sink *eventLog) []string {
	var out []string
	for _, w := range details[*trace.Watch](sink) {
		var changes []string
		for _, c := range w.Change.Fields() {
			changes = append(changes, c.String())
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s/%s %s v%s initial=%t %s", w.Event, w.Namespace, w.Name,
			w.Resource, w.ResourceVersion, w.Initial, strings.Join(changes, "; "))))
	}
	return out
}

func TestWatchEventsAreToldOnceToAllHandlers(t *testing.T) {
	tap, sink := recording()
	source := newSource(t)
	source.Add(testPod("old", "a"))
	i := podInformer(tap, source)
	var mu sync.Mutex
	seen := map[*watchEvent]int{}
	note := func() {
		mu.Lock()
		defer mu.Unlock()
		seen[currentActivity().event]++
	}
	for range 3 {
		if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { note() }, UpdateFunc: func(any, any) { note() }, DeleteFunc: func(any) { note() },
		}); err != nil {
			t.Fatal(err)
		}
	}
	start(t, i)
	eventually(t, "the initial list", i.HasSynced)
	source.Add(testPod("web", "a"))
	source.Modify(testPod("web", "b"))
	source.Delete(testPod("web", "b"))
	pods := schema.GroupResource{Resource: "pods"}
	eventually(t, "all handlers", func() bool { return tap.State().Handled[pods] == 4 })

	want := []string{
		"ADDED default/old pods v1 initial=true",
		"ADDED default/web pods v2 initial=false",
		"MODIFIED default/web pods v3 initial=false spec.containers[name=c].image: a -> b",
		"DELETED default/web pods v4 initial=false",
	}
	if diff := cmp.Diff(want, recordedWatches(sink)); diff != "" {
		t.Errorf("watch events (-want +got):\n%s", diff)
	}
	mu.Lock()
	defer mu.Unlock()
	for event, n := range seen {
		if event == nil || n != 3 {
			t.Errorf("%d handlers saw event %+v, want 3 to see each", n, event)
		}
	}
	if len(seen) != 4 || i.events.Len() != 0 {
		t.Errorf("%d events were seen, %d are kept after the last handler", len(seen), i.events.Len())
	}
}

func TestHandledIsThatOfTheSlowestHandler(t *testing.T) {
	tap, _ := recording()
	source := newSource(t)
	i := podInformer(tap, source)
	release, entered := make(chan struct{}), make(chan struct{})
	slow, err := i.AddEventHandlerWithOptions(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
		close(entered)
		<-release
	}}, cache.HandlerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	start(t, i)
	eventually(t, "the initial list", i.HasSynced)
	source.Add(testPod("web", "a"))
	<-entered
	pods := schema.GroupResource{Resource: "pods"}
	if got := tap.State().Handled[pods]; got != 0 {
		t.Errorf("handled up to %d while a handler is still at 1", got)
	}
	close(release)
	eventually(t, "the slow handler", func() bool { return tap.State().Handled[pods] == 1 })
	if err := i.RemoveEventHandler(slow); err != nil {
		t.Fatal(err)
	}
	source.Add(testPod("late", "a"))
	eventually(t, "the other handlers", func() bool { return tap.State().Handled[pods] == 2 })
	if len(i.handlers) != 1 {
		t.Errorf("%d handlers are known, want the tap's own only", len(i.handlers))
	}
}

func TestAddKnowsItsEvent(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("replicaset")
	q := newQueue(c)
	defer q.ShutDown()
	source := newSource(t)
	i := podInformer(tap, source)
	h := &podHandlers{queue: q}
	err := c.Build(t.Context(), func(context.Context) error {
		_, err := i.AddEventHandlerWithResyncPeriod(cache.FilteringResourceEventHandler{
			FilterFunc: func(any) bool { return true },
			Handler: cache.ResourceEventHandlerFuncs{AddFunc: h.addPod,
				UpdateFunc: func(_, pod any) { h.enqueue(pod) }},
		}, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tap.writers.put(2, &reconcile{id: 7, c: tap.Controller("replicaset")})
	start(t, i)
	eventually(t, "the initial list", i.HasSynced)
	source.Add(testPod("web", "a"))
	eventually(t, "the addition", func() bool { return len(details[*trace.Enqueue](sink)) == 1 })
	source.Modify(testPod("web", "b"))
	eventually(t, "both additions", func() bool { return len(details[*trace.Enqueue](sink)) == 2 })

	start, _ := reconcileOnce(q, sink, nothing)
	var got []string
	for _, cause := range start.Causes {
		got = append(got, fmt.Sprintf("%s %d: %s %s, written by %s %d", cause.Type, cause.Seq, cause.Watch.Event,
			cause.Handler, cause.Watch.Writer, cause.Watch.WrittenBy))
	}
	want := []string{"watch 1: ADDED addPod > enqueue, written by  0",
		"watch 3: MODIFIED enqueue, written by replicaset 7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	for _, h := range i.handlers {
		if h.controller != nil && h.controller != c {
			t.Errorf("a handler is %q's", h.controller.name)
		}
	}
}

// podHandlers is a controller's part that informers call.
type podHandlers struct{ queue testQueue }

func (h *podHandlers) addPod(obj any)  { h.enqueue(obj) }
func (h *podHandlers) enqueue(obj any) { h.queue.Add(obj.(*corev1.Pod).Name) }

func TestResyncAndTombstone(t *testing.T) {
	tap, sink := recording()
	i := podInformer(tap, newSource(t))
	h := &handler{informer: i, next: cache.ResourceEventHandlerFuncs{}}
	pod := testPod("web", "a")
	pod.ResourceVersion = "7"
	h.OnUpdate(pod, pod)
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/web", Obj: pod})
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/gone"})
	want := []string{"RESYNC default/web pods v7 initial=false", "DELETED default/web pods v7 initial=false"}
	if diff := cmp.Diff(want, recordedWatches(sink)); diff != "" {
		t.Errorf("watch events (-want +got):\n%s", diff)
	}
}

// TestEveryInformerIsKnown compares the table of kinds with the resources that client-go's factory has informers for.
func TestEveryInformerIsKnown(t *testing.T) {
	tap, _ := recording()
	client := fake.NewClientset()
	plain, f := informers.NewSharedInformerFactory(client, 0), tap.Informers(client, 0)
	known := 0
	for gvr := range tap.kinds().byResource {
		if _, err := plain.ForResource(gvr); err != nil {
			continue
		}
		known++
		generic, err := f.ForResource(gvr)
		if err != nil {
			t.Errorf("%v: %v", gvr, err)
			continue
		}
		i, ok := generic.Informer().(*informer)
		if !ok || i.gvr != gvr {
			t.Errorf("the informer of %v is not observed as such: %+v", gvr, generic.Informer())
		}
	}
	found, err := build.Import("k8s.io/client-go/informers", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(found.Dir, "generic.go"))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Count(string(source), ".WithResource("); known != want {
		t.Errorf("%d of client-go's %d informers are known by resource: a kind's plural is not what it seems", known,
			want)
	}
}

func TestEveryWayToAnInformerIsObserved(t *testing.T) {
	tap, _ := recording()
	f := tap.Informers(fake.NewClientset(), 0)
	before := f.Core().V1().Pods().Informer()
	generic, err := f.ForResource(corev1.SchemeGroupVersion.WithResource("pods"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tap.informers) != 1 {
		t.Fatalf("there are %d informers of pods", len(tap.informers))
	}
	if _, err := before.AddEventHandler(cache.ResourceEventHandlerFuncs{}); err != nil {
		t.Fatal(err)
	}
	if _, err := generic.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{}); err != nil {
		t.Fatal(err)
	}
	if n := len(tap.informers[0].handlers); n != 3 {
		t.Errorf("%d handlers are observed, want both and the tap's own", n)
	}
	if _, err := f.ForResource(schema.GroupVersionResource{Resource: "unicorns"}); err == nil {
		t.Error("an unknown resource has an informer")
	}
}

// handlersOf registers handlers of a controller, that are resynced or not, and returns them as they are observed.
func handlersOf(t *testing.T, i *informer, c *Controller, resync ...time.Duration) []*handler {
	t.Helper()
	var out []*handler
	for _, period := range resync {
		err := c.Build(t.Context(), func(context.Context) error {
			registration, err := i.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{}, period)
			if err == nil {
				out = append(out, i.handlers[registration])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestEachRoundOfAResyncIsRecordedOnce: handlers without one do not take part in it.
func TestEachRoundOfAResyncIsRecordedOnce(t *testing.T) {
	tap, sink := recording()
	i := podInformer(tap, newSource(t))
	i.resync = time.Hour
	handlers := handlersOf(t, i, tap.Controller("deployment"), time.Hour, 0, time.Hour)
	pod := testPod("web", "a")
	pod.ResourceVersion = "7"
	const rounds = 6
	var seqs []uint64
	for range rounds {
		for _, h := range []*handler{handlers[0], handlers[2]} {
			d := h.begin(trace.Resync, pod, pod, false)
			seqs = append(seqs, currentActivity().event.seqNumber())
			d.end()
		}
	}
	if got := len(details[*trace.Watch](sink)); got != rounds {
		t.Errorf("%d events are recorded for %d rounds", got, rounds)
	}
	for n := range rounds {
		if seqs[2*n] != uint64(n+1) || seqs[2*n+1] != uint64(n+1) {
			t.Errorf("round %d is event %d for one handler and %d for the other", n+1, seqs[2*n], seqs[2*n+1])
		}
	}
	if kept := i.events.Len(); kept > 0 {
		t.Errorf("%d events are kept after the last handler", kept)
	}
}

// TestEventsThatNoHandlerWaitsForAreForgotten: of a run that has to do with some namespaces only.
func TestEventsThatNoHandlerWaitsForAreForgotten(t *testing.T) {
	tap, _ := keeping("shop")
	i := podInformer(tap, newSource(t))
	undivided := tap.Controller("podgc")
	undivided.IgnoreScope()
	all := append(handlersOf(t, i, tap.Controller("deployment"), 0, 0), handlersOf(t, i, undivided, 0)...)
	for own := range maps.Values(i.handlers) {
		if own.controller == nil {
			all = append(all, own)
		}
	}
	for n := range 100 {
		pod := testPod(fmt.Sprint("web-", n), "a")
		pod.ResourceVersion, pod.Namespace = fmt.Sprint(n+1), []string{"shop", "blog"}[n%2]
		for k := range all { // in any order
			all[(k+n)%len(all)].OnAdd(pod, false)
		}
	}
	if kept := i.events.Len(); kept > 0 {
		t.Errorf("%d of 100 events are kept after the last handler", kept)
	}
}
