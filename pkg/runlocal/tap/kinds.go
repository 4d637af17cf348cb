package tap

import (
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// kinds tells resources from kinds and types, for all types that client-go knows. Typed objects carry neither.
type kinds struct {
	byResource map[schema.GroupVersionResource]schema.GroupVersionKind
	byType     map[reflect.Type]schema.GroupVersionKind
}

// newKinds derives resource names from kinds as the API's own authors do. TestEveryInformerIsKnown compares them with
// the resources that client-go has informers for.
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

// kinds returns the table, which is made when it is first asked for.
func (t *Tap) kinds() kinds { return t.kindTable() }

// lazyKinds is how a Tap gets its table.
func lazyKinds() func() kinds { return sync.OnceValue(newKinds) }

// object returns an empty object of the resource's type.
func (k kinds) object(resource schema.GroupVersionResource) (runtime.Object, error) {
	gvk, ok := k.byResource[resource]
	if !ok {
		return nil, fmt.Errorf("finding the type of resource %q: it is not in client-go's scheme", resource)
	}
	return scheme.Scheme.New(gvk)
}

// of tells kind and resource of a typed object, zero values for a type that client-go does not know.
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

// kind is that of a resource, empty if client-go does not know it.
func (k kinds) kind(o *trace.Object) string {
	return k.byResource[schema.GroupVersionResource{Group: o.Group, Version: o.Version, Resource: o.Resource}].Kind
}
