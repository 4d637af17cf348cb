package tap

import (
	"fmt"
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// Identity is what the garbage collector knows an object by: the type objectReference of its package.
type Identity struct {
	metav1.OwnerReference
	// Namespace is empty for an object that has none.
	Namespace string
}

// Identities returns a function that spells the keys of a queue of the garbage collector's nodes, which are pointers to a
// struct with a field identity that is never written once the node is queued. The queue only tells their type, which
// upstream does not export. The error says where upstream has put something else.
func Identities[K comparable](_ workqueue.TypedRateLimitingInterface[K], spell func(*Identity) string) (func(K) string, error) {
	key := reflect.TypeFor[K]()
	if key.Kind() != reflect.Pointer || key.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("the keys are of type %v, which is no pointer to a struct", key)
	}
	field, ok := key.Elem().FieldByName("identity")
	if want := reflect.TypeFor[Identity](); !ok || !field.Type.ConvertibleTo(want) {
		return nil, fmt.Errorf("%v has no field identity like %v", key.Elem(), want)
	}
	return func(k K) string {
		node := *(*unsafe.Pointer)(unsafe.Pointer(&k)) //nolint:gosec // K was found to be a pointer, just above
		if node == nil {
			return ""
		}
		return spell((*Identity)(unsafe.Add(node, field.Offset)))
	}, nil
}

// IdentityOf returns what a value of the garbage collector's own type says, as it logs it; nil for any other value.
func IdentityOf(v any) *Identity {
	value := reflect.ValueOf(v)
	if !value.IsValid() || value.Kind() != reflect.Struct || !value.Type().ConvertibleTo(reflect.TypeFor[Identity]()) {
		return nil
	}
	i, _ := reflect.TypeAssert[Identity](value.Convert(reflect.TypeFor[Identity]()))
	return &i
}
