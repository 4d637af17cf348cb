package tap

import (
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// factory is an informer factory that hands out observed informers. Starting, waiting and shutting down are the wrapped
// factory's, which runs the informers behind them.
type factory struct {
	informers.SharedInformerFactory
	tap    *Tap
	resync time.Duration

	mu       sync.Mutex
	observed map[reflect.Type]*informer
}

var _ informers.SharedInformerFactory = (*factory)(nil)

// Informers returns a factory whose informers are observed, however they are asked for. client and resync are as for
// informers.NewSharedInformerFactory. The informers keep no managedFields. The watch events of two factories are told
// twice: a session needs one.
func (t *Tap) Informers(client kubernetes.Interface, resync time.Duration) informers.SharedInformerFactory {
	return &factory{
		SharedInformerFactory: informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(t.trim)),
		tap:                   t,
		resync:                resync,
		observed:              map[reflect.Type]*informer{},
	}
}

// InformerFor implements informers.SharedInformerFactory; every accessor of a group comes down to it.
func (f *factory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return f.observe(obj, f.SharedInformerFactory.InformerFor(obj, newFunc))
}

// observe returns the one wrapper of the informer of obj's type.
func (f *factory) observe(obj runtime.Object, next cache.SharedIndexInformer) *informer {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := reflect.TypeOf(obj)
	i := f.observed[t]
	if i == nil {
		i = f.tap.observe(obj, next, f.resync)
		f.observed[t] = i
	}
	return i
}

// ForResource implements informers.SharedInformerFactory.
func (f *factory) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := f.SharedInformerFactory.ForResource(resource)
	if err != nil {
		return nil, err
	}
	obj, err := f.tap.kinds().object(resource)
	if err != nil {
		return nil, err
	}
	// The wrapped factory has just made its informer of this type, if it had none; none is made here.
	next := f.SharedInformerFactory.InformerFor(obj, nil)
	return &genericInformer{GenericInformer: generic, informer: f.observe(obj, next)}, nil
}

// genericInformer replaces the informer of a wrapped one, whose lister reads the same store.
type genericInformer struct {
	informers.GenericInformer
	informer *informer
}

// Informer implements informers.GenericInformer.
func (g *genericInformer) Informer() cache.SharedIndexInformer { return g.informer }

// allNamespaces is the namespace of every informer here.
const allNamespaces = metav1.NamespaceAll
