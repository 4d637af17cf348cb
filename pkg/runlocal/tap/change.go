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

// compare tells in place of a change that it could not be found, which only an object of no API does.
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

// changeOf compares two versions of an object when it is asked to. Objects in an informer are never changed.
func changeOf(old, updated runtime.Object) *trace.Change {
	return trace.ChangeFrom(func() []inspect.Change { return compare(old, updated) })
}

// compareSeen finds what changed between two versions.
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

// sameForm cuts both objects down to their metadata if one of them is nothing else.
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

// redacted stands for a value that a trace must not tell: it goes to terminals, files and whoever is shown them.
const redacted = "(hidden)"

// redact hides the values of what is secret in an object of that kind: that they have changed, and where, is told. It changes
// the list.
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

// secretFields are the paths of the fields of which no value is told; nil for most kinds. The annotation is kubectl's copy of
// all fields; an object's metadata alone, which does not tell the kind, may be that of a Secret.
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

// isBelow reports whether a path is that of one of the fields, or of something in a field of data.
func isBelow(path string, fields []string) bool {
	for _, field := range fields {
		in, within := strings.CutPrefix(path, field)
		if within && (in == "" || strings.HasSuffix(field, "ata") && strings.ContainsAny(in[:1], ".[")) {
			return true
		}
	}
	return false
}
