package tap

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// factory is an informer factory that returns observed informers. Starting, waiting and shutting down are the wrapped
// factory's, which runs the informers that are wrapped.
type factory struct {
	informers.SharedInformerFactory
	tap    *Tap
	resync time.Duration

	mu       sync.Mutex
	observed map[reflect.Type]*informer // by type of object, guarded by mu
}

var _ informers.SharedInformerFactory = (*factory)(nil)

// Informers returns a factory whose informers are observed, by whichever method they are requested. client and resync
// are as for informers.NewSharedInformerFactory. The informers store no managedFields. A session needs one factory: of
// two, watch events would be recorded twice.
func (t *Tap) Informers(client kubernetes.Interface, resync time.Duration) informers.SharedInformerFactory {
	shared := informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(t.trim))
	return &factory{
		SharedInformerFactory: shared,
		tap:                   t,
		resync:                resync,
		observed:              map[reflect.Type]*informer{},
	}
}

// InformerFor implements informers.SharedInformerFactory; all accessors of groups call it.
func (f *factory) InformerFor(
	obj runtime.Object, newFunc internalinterfaces.NewInformerFunc,
) cache.SharedIndexInformer {
	return f.observe(obj, f.SharedInformerFactory.InformerFor(obj, newFunc))
}

// observe returns the wrapper of the informer of obj's type, and makes it if there is none.
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

// genericInformer is a generic informer whose informer is observed. Its lister reads the same store.
type genericInformer struct {
	informers.GenericInformer
	informer *informer
}

// Informer implements informers.GenericInformer.
func (g *genericInformer) Informer() cache.SharedIndexInformer { return g.informer }

// allNamespaces is the namespace of every informer here.
const allNamespaces = metav1.NamespaceAll

// The accessors of the API groups, as client-go's informers/factory.go has them, but with the observing factory: an
// embedded factory would return informers that are not observed.

// Admissionregistration implements informers.SharedInformerFactory.
func (f *factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f, allNamespaces, nil)
}

// Internal implements informers.SharedInformerFactory.
func (f *factory) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f, allNamespaces, nil)
}

// Apps implements informers.SharedInformerFactory.
func (f *factory) Apps() apps.Interface { return apps.New(f, allNamespaces, nil) }

// Autoscaling implements informers.SharedInformerFactory.
func (f *factory) Autoscaling() autoscaling.Interface { return autoscaling.New(f, allNamespaces, nil) }

// Batch implements informers.SharedInformerFactory.
func (f *factory) Batch() batch.Interface { return batch.New(f, allNamespaces, nil) }

// Certificates implements informers.SharedInformerFactory.
func (f *factory) Certificates() certificates.Interface {
	return certificates.New(f, allNamespaces, nil)
}

// Coordination implements informers.SharedInformerFactory.
func (f *factory) Coordination() coordination.Interface {
	return coordination.New(f, allNamespaces, nil)
}

// Core implements informers.SharedInformerFactory.
func (f *factory) Core() core.Interface { return core.New(f, allNamespaces, nil) }

// Discovery implements informers.SharedInformerFactory.
func (f *factory) Discovery() discovery.Interface { return discovery.New(f, allNamespaces, nil) }

// Events implements informers.SharedInformerFactory.
func (f *factory) Events() events.Interface { return events.New(f, allNamespaces, nil) }

// Extensions implements informers.SharedInformerFactory.
func (f *factory) Extensions() extensions.Interface { return extensions.New(f, allNamespaces, nil) }

// Flowcontrol implements informers.SharedInformerFactory.
func (f *factory) Flowcontrol() flowcontrol.Interface { return flowcontrol.New(f, allNamespaces, nil) }

// Lifecycle implements informers.SharedInformerFactory.
func (f *factory) Lifecycle() lifecycle.Interface { return lifecycle.New(f, allNamespaces, nil) }

// Networking implements informers.SharedInformerFactory.
func (f *factory) Networking() networking.Interface { return networking.New(f, allNamespaces, nil) }

// Node implements informers.SharedInformerFactory.
func (f *factory) Node() node.Interface { return node.New(f, allNamespaces, nil) }

// Policy implements informers.SharedInformerFactory.
func (f *factory) Policy() policy.Interface { return policy.New(f, allNamespaces, nil) }

// Rbac implements informers.SharedInformerFactory.
func (f *factory) Rbac() rbac.Interface { return rbac.New(f, allNamespaces, nil) }

// Resource implements informers.SharedInformerFactory.
func (f *factory) Resource() resource.Interface { return resource.New(f, allNamespaces, nil) }

// Scheduling implements informers.SharedInformerFactory.
func (f *factory) Scheduling() scheduling.Interface { return scheduling.New(f, allNamespaces, nil) }

// Storage implements informers.SharedInformerFactory.
func (f *factory) Storage() storage.Interface { return storage.New(f, allNamespaces, nil) }

// Storagemigration implements informers.SharedInformerFactory.
func (f *factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f, allNamespaces, nil)
}

// kinds maps resources and Go types to kinds, for all types in client-go's scheme: typed objects have neither.
type kinds struct {
	byResource map[schema.GroupVersionResource]schema.GroupVersionKind
	byType     map[reflect.Type]schema.GroupVersionKind
}

// newKinds derives resource names from kinds by the rule that the API's authors follow. TestEveryInformerIsKnown
// compares them with the resources that client-go has informers for.
func newKinds() kinds {
	k := kinds{
		byResource: map[schema.GroupVersionResource]schema.GroupVersionKind{},
		byType:     map[reflect.Type]schema.GroupVersionKind{},
	}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		k.byResource[plural] = gvk
		if before, twice := k.byType[t]; !twice || gvk.String() < before.String() {
			k.byType[t] = gvk // options types are there in every group; objects are not
		}
	}
	return k
}

// kinds returns the table, which is made when it is first used.
func (t *Tap) kinds() kinds { return t.kindTable() }

// object returns an empty object of the resource's type.
func (k kinds) object(resource schema.GroupVersionResource) (runtime.Object, error) {
	gvk, ok := k.byResource[resource]
	if !ok {
		return nil, fmt.Errorf("finding the type of resource %q: it is not in client-go's scheme", resource)
	}
	return scheme.Scheme.New(gvk)
}

// of returns the kind and resource of a typed object, zero values for a type that is not in client-go's scheme.
func (k kinds) of(obj runtime.Object) (schema.GroupVersionKind, schema.GroupVersionResource) {
	t := reflect.TypeOf(obj)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	gvk, ok := k.byType[t]
	if !ok {
		return gvk, schema.GroupVersionResource{}
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return gvk, plural
}

// kind returns the kind of a resource, empty if it is not in client-go's scheme.
func (k kinds) kind(o *trace.Object) string {
	return k.byResource[schema.GroupVersionResource{Group: o.Group, Version: o.Version, Resource: o.Resource}].Kind
}
