package tap

import (
	"reflect"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func asObject(obj any) runtime.Object {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	o, _ := obj.(runtime.Object)
	return o
}

// compare returns the differences, redacted. An error is a difference without a path; only objects of no API have it.
func compare(old, updated runtime.Object) []inspect.Change {
	changes, err := inspect.Changes(old, updated)
	if err != nil {
		return []inspect.Change{{New: err.Error()}}
	}
	if updated == nil || reflect.ValueOf(updated).IsNil() {
		return redact(old, changes)
	}
	return redact(updated, changes)
}

// changeOf returns the difference of two versions of an object, which is computed on first use. Objects in an informer
// are never changed.
func changeOf(old, updated runtime.Object) *trace.Change {
	return trace.ChangeFrom(func() []inspect.Change { return compare(old, updated) })
}

// compareSeen returns the differences of two versions of an object that the session has seen.
func compareSeen(before, after seenObject) []inspect.Change {
	var objects [2]runtime.Object
	for n, k := range []seenObject{before, after} {
		obj, err := k.object()
		if err != nil {
			return []inspect.Change{{New: err.Error()}}
		}
		objects[n] = obj
	}
	return compare(sameForm(objects[0], objects[1]))
}

// sameForm reduces both objects to their metadata if one of them is only that.
func sameForm(a, b runtime.Object) (runtime.Object, runtime.Object) {
	_, ok := a.(*metav1.PartialObjectMetadata)
	if _, other := b.(*metav1.PartialObjectMetadata); !ok && !other {
		return a, b
	}
	x, y := metadata(a), metadata(b)
	if x == nil || y == nil {
		return a, b
	}
	return meta.AsPartialObjectMetadata(x), meta.AsPartialObjectMetadata(y)
}

// redacted replaces values that a trace must not show, since it goes to terminals, files and other people.
const redacted = "(hidden)"

// redact replaces the values of secret fields in the differences of an object of that kind: the trace shows only that
// they changed. It modifies the list.
func redact(of runtime.Object, changes []inspect.Change) []inspect.Change {
	secret := secretFields(of)
	for i := range changes {
		if !isBelow(changes[i].Path, secret) {
			continue
		}
		if changes[i].Old != nil {
			changes[i].Old = redacted
		}
		if changes[i].New != nil {
			changes[i].New = redacted
		}
	}
	return changes
}

// secretFields returns the paths of the fields whose values are not shown; nil for most kinds. The annotation is
// kubectl's copy of all fields. Metadata alone does not have the kind of the object, which may be a Secret.
func secretFields(of runtime.Object) []string {
	copied := []string{"metadata.annotations", "metadata.annotations[" + corev1.LastAppliedConfigAnnotation + "]"}
	switch of := of.(type) {
	case *corev1.Secret:
		return append(copied, "data", "stringData")
	case *metav1.PartialObjectMetadata:
		return copied
	case *authenticationv1.TokenRequest:
		return []string{"status.token", "status"}
	case *unstructured.Unstructured:
		switch of.GroupVersionKind() {
		case corev1.SchemeGroupVersion.WithKind("Secret"):
			return secretFields(&corev1.Secret{})
		case authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"):
			return secretFields(&authenticationv1.TokenRequest{})
		}
	}
	return nil
}

// isBelow reports whether a path is one of the fields, or is in one of the fields of data.
func isBelow(path string, fields []string) bool {
	for _, field := range fields {
		in, within := strings.CutPrefix(path, field)
		if within && (in == "" || strings.HasSuffix(field, "ata") && strings.ContainsAny(in[:1], ".[")) {
			return true
		}
	}
	return false
}
