package tap

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// passed are the changes that an ordering has handed on.
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
	o := &ordering[string]{tap: tap, pass: got.add, newest: func(gr schema.GroupResource) uint64 {
		v, _ := newest.Load(gr)
		n, _ := v.(uint64)
		return n
	}}
	release := o.release
	tap.handledOne.Store(&release)

	pods, maps := newSource(t), newSource(t)
	podInformer, mapInformer := podInformer(tap, pods), tap.observe(&corev1.ConfigMap{}, cache.NewSharedIndexInformer(maps, &corev1.ConfigMap{}, 0, cache.Indexers{}), 0)
	slow := make(chan struct{})
	var shown atomic.Int64
	handle := func(i *informer, wait <-chan struct{}) {
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			<-wait
			m := metadata(obj)
			o.add(m.GetName(), number(m.GetResourceVersion()))
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
	eventually(t, "the informers to have listed", func() bool { return podInformer.HasSynced() && mapInformer.HasSynced() })

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
		t.Errorf("handed on are %v before the pod, which is older than the second map", list)
	}
	close(slow)
	eventually(t, "all to be handed on", func() bool { return len(got.list()) == 3 })
	if list := got.list(); list[2] != "map-2" {
		t.Errorf("handed on are %v, want the second map last", list)
	}

	// What never comes is not waited for for ever.
	newest.Store(schema.GroupResource{Resource: "pods"}, uint64(9))
	newest.Store(schema.GroupResource{Resource: "configmaps"}, uint64(3))
	maps.Add(configMap("map-3"))
	eventually(t, "the third map to be handed on", func() bool { return len(got.list()) == 4 })
}
