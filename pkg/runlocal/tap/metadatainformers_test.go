package tap

import (
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var (
	podResource    = corev1.SchemeGroupVersion.WithResource("pods")
	secretResource = corev1.SchemeGroupVersion.WithResource("secrets")
)

// everything is a controller that watches all by metadata; pods are another controller's too.
func everything(t *testing.T) (*Tap, *eventLog, *MetadataInformers) {
	t.Helper()
	tap, sink := recording()
	shared := tap.Informers(fake.NewClientset(), 0)
	shared.Core().V1().Pods().Informer()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	secret := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", UID: "u", ResourceVersion: "5"},
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	m := tap.Controller("collector").MetadataInformers(shared, metadatafake.NewSimpleMetadataClient(scheme, secret),
		mapper)
	return tap, sink, m
}

// TestMetadataInformersOfTwo has two controllers that watch all by metadata, at the same time: each has its own
// informers, and none is taken for one of whole objects.
func TestMetadataInformersOfTwo(t *testing.T) {
	tap, _, m := everything(t)
	other := tap.Controller("quota").MetadataInformers(m.shared, m.client, m.mapper)
	var got [2]informers.GenericInformer
	var running sync.WaitGroup
	for i, factory := range []*MetadataInformers{m, other} {
		running.Go(func() {
			var err error
			if got[i], err = factory.ForResource(secretResource); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for i, informer := range got {
		if _, ok := informer.(*metadataInformer); !ok {
			t.Errorf("the informer of controller %d is a %T", i, informer)
		}
	}
	if got[0] == got[1] {
		t.Error("the controllers share an informer of metadata")
	}
}

func TestMetadataInformersShare(t *testing.T) {
	tap, _, m := everything(t)
	pods, err := m.ForResource(podResource)
	if err != nil {
		t.Fatal(err)
	}
	if pods.Informer() != cache.SharedIndexInformer(tap.informers[0]) {
		t.Error("an informer of whole objects is there, and another one was made")
	}
	first, err := m.ForResource(secretResource)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.ForResource(secretResource); err != nil || again.Informer() != first.Informer() {
		t.Errorf("requested again, there is another informer, or %v", err)
	}
	if _, err := m.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "widgets"}); err == nil {
		t.Error("a resource whose kind is not known has an informer")
	}
}

func TestMetadataInformersOfTwoControllers(t *testing.T) {
	tap, _, m := everything(t)
	first, err := m.ForResource(secretResource)
	if err != nil {
		t.Fatal(err)
	}
	second, err := tap.Controller("quota").MetadataInformers(m.shared, m.client, m.mapper).ForResource(secretResource)
	if err != nil {
		t.Fatal(err)
	}
	if own, ok := second.(*metadataInformer); !ok || own.Informer() == first.Informer() {
		t.Errorf("the other controller has %T: nothing starts a shared informer that is requested so late", second)
	}
}

func TestMetadataInformersTellCausesOnly(t *testing.T) {
	tap, sink, m := everything(t)
	secrets, err := m.ForResource(secretResource)
	if err != nil {
		t.Fatal(err)
	}
	queue := plainQueue()
	q := WrapQueue(tap.Controller("collector"), "", queue, text)
	defer q.ShutDown()
	var mu sync.Mutex
	wanted, seen := false, 0
	_, err = secrets.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
		mu.Lock()
		defer mu.Unlock()
		seen++
		if wanted {
			q.Add("key")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	defer m.Wait()
	defer close(stop)
	m.Start(stop)
	eventually(t, "the first secret", func() bool { mu.Lock(); defer mu.Unlock(); return seen == 1 })
	if w := details[*trace.Watch](sink); len(w) != 0 {
		t.Errorf("it led to nothing, and was recorded: %+v", w[0])
	}
	mu.Lock()
	wanted = true
	mu.Unlock()
	tap.mu.Lock()
	i := tap.informers[1]
	tap.mu.Unlock()
	_, err = i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { q.Add("key") }})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := reconcileOnce(q, sink, nothing)
	recorded := details[*trace.Watch](sink)
	if len(recorded) != 1 || recorded[0].Kind != "Secret" || recorded[0].Name != "s" || len(got.Causes) != 1 ||
		got.Causes[0].Watch != recorded[0] {
		t.Errorf("recorded are %+v, the causes %+v", recorded, got.Causes)
	}
}

func TestMetadataInformersEnd(t *testing.T) {
	tap, _, m := everything(t)
	if _, err := m.ForResource(secretResource); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	m.Start(stop)
	m.StopUnserved(func(r schema.GroupVersionResource) bool { return r == secretResource })
	if _, watched := tap.State().Handled[secretResource.GroupResource()]; !watched {
		t.Error("what is served is kept")
	}
	m.StopUnserved(func(schema.GroupVersionResource) bool { return false })
	m.Wait() // the informer has ended before stop is closed
	if _, watched := tap.State().Handled[secretResource.GroupResource()]; watched {
		t.Error("what is not served any more is still waited for")
	}
	if !slices.ContainsFunc(tap.informers, func(i *informer) bool { return i.gvr == podResource }) {
		t.Error("what is shared is not for it to drop")
	}
	close(stop)
}

func TestHandledCountsWhatWasGoneBeforeTheStart(t *testing.T) {
	tap, _ := recording()
	source := newSource(t)
	source.Add(testPod("a", "nginx")) // version 1
	gone := testPod("b", "nginx")
	source.Add(gone)              // version 2
	source.Delete(gone)           // version 3, which no later watcher sees
	tap.Committed(t.Context(), 3) // as the API server does
	tap.Committed(t.Context(), 2)
	i := podInformer(tap, source)
	pods := schema.GroupResource{}
	pods.Resource = "pods"
	if got := tap.State().Handled[pods]; got != 0 {
		t.Errorf("before the start, %d is handled", got)
	}
	start(t, i)
	eventually(t, "the deletion to count as handled", func() bool { return tap.State().Handled[pods] == 3 })

	release := make(chan struct{})
	_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }})
	if err != nil {
		t.Fatal(err)
	}
	if got := tap.State().Handled[pods]; got != 0 {
		t.Errorf("a late handler has handled nothing, and %d is said to be handled", got)
	}
	close(release)
	eventually(t, "the late handler to have caught up", func() bool { return tap.State().Handled[pods] == 3 })
}
