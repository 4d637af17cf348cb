package tap

import (
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// changeOf compares two versions of an object when it is asked to. Objects in an informer are never changed.
func changeOf(old, updated runtime.Object) *trace.Change {
	return trace.ChangeFrom(func() []inspect.Change { return compare(old, updated) })
}

// compareKnown finds what changed between two versions.
func compareKnown(before, after known) []inspect.Change {
	var objects [2]runtime.Object
	for n, k := range []known{before, after} {
		obj, err := k.object()
		if err != nil {
			return []inspect.Change{{New: err.Error()}}
		}
		objects[n] = obj
	}
	return compare(alike(objects[0], objects[1]))
}

// alike cuts both objects down to their metadata if one of them is nothing else.
func alike(a, b runtime.Object) (runtime.Object, runtime.Object) {
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

// untold stands for a value that a trace must not tell: it goes to terminals, files and whoever is shown them.
const untold = "(hidden)"

// discreet hides the values of what is secret in an object of that kind: that they have changed, and where, is told. It changes
// the list.
func discreet(of runtime.Object, changes []inspect.Change) []inspect.Change {
	secret := secretFields(of)
	for i := range changes {
		if !isOneOf(changes[i].Path, secret) {
			continue
		}
		if changes[i].Old != nil {
			changes[i].Old = untold
		}
		if changes[i].New != nil {
			changes[i].New = untold
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

// isOneOf reports whether a path is that of one of the fields, or of something in a field of data.
func isOneOf(path string, fields []string) bool {
	for _, field := range fields {
		in, within := strings.CutPrefix(path, field)
		if within && (in == "" || strings.HasSuffix(field, "ata") && strings.ContainsAny(in[:1], ".[")) {
			return true
		}
	}
	return false
}
