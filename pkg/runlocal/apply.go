package runlocal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// FieldManager is the field manager of what a Session itself writes: the objects that Apply creates, and their
// namespace.
const FieldManager = "kubectl-reconcile"

// Applied is an object that the API took.
type Applied struct {
	Kind      schema.GroupVersionKind
	Resource  schema.GroupVersionResource
	Namespace string
	Name      string
}

// String spells the object as kubectl does: deployment.apps/web.
func (a Applied) String() string {
	return objectText(a.Kind, a.Name)
}

func objectText(kind schema.GroupVersionKind, name string) string {
	return strings.ToLower(kind.Kind+suffix(kind.Group)) + "/" + name
}

func suffix(group string) string {
	if group == "" {
		return ""
	}
	return "." + group
}

// Apply creates the objects as their author: those that others need first, and the others when, in the sandbox,
// admission and the controllers have seen those, and quotas are enforced; else in the order given. Objects that exist
// already are applied (server-side). Objects without a namespace go to the one given. What the server alone sets (uid,
// resourceVersion, managedFields and the like) is left out. An object that is refused does not hinder the others: the
// error joins one error for each, which names it; a kind that is not served is a *cluster.UnknownKindError. After an
// *UncountedQuotaError nothing else is applied.
func (s *Session) Apply(ctx context.Context, namespace string, manifests []Manifest) ([]Applied, error) {
	return s.ApplyWith(ctx, namespace, manifests, createOrApply)
}

// WriteFunc writes an object, and returns the server's answer.
type WriteFunc func(ctx context.Context, client dynamic.ResourceInterface, obj *unstructured.Unstructured) (
	*unstructured.Unstructured, error)

// ApplyWith is Apply with another way to write an object, such as KubectlApply.Write.
func (s *Session) ApplyWith(ctx context.Context, namespace string, manifests []Manifest, write WriteFunc) ([]Applied,
	error) {
	var applied []Applied
	var errs []error
	for when, objects := range groupByStage(manifests) {
		done, err := s.applyAll(ctx, namespace, objects, write)
		applied = append(applied, done...)
		errs = append(errs, err)
		if stage(when) == others {
			break
		}
		errs = append(errs, s.waitEstablished(ctx, objects))
		if err := s.waitCounted(ctx, done); err != nil {
			return applied, errors.Join(append(errs, err)...)
		}
		errs = append(errs, s.waitSeen(ctx, done))
		if stage(when) == namespacesFirst && s.releaseKeysOf(accountController) {
			errs = append(errs, s.waitSeen(ctx, done))
		}
	}
	return applied, errors.Join(errs...)
}

func (s *Session) applyAll(ctx context.Context, namespace string, manifests []Manifest, write WriteFunc) ([]Applied,
	error) {
	var applied []Applied
	var errs []error
	for _, m := range manifests {
		a, err := s.applyOne(ctx, namespace, m, write)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m, err))
			continue
		}
		applied = append(applied, a)
	}
	return applied, errors.Join(errs...)
}

// EnsureNamespace creates the namespace if it does not exist.
func (s *Session) EnsureNamespace(ctx context.Context, name string) error {
	namespaces := s.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	switch _, err := namespaces.Get(ctx, name, metav1.GetOptions{}); {
	case err == nil:
		return nil
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("looking for namespace %q: %w", name, err)
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	namespace.SetName(name)
	if _, err := namespaces.Create(ctx, namespace, metav1.CreateOptions{FieldManager: FieldManager}); err != nil {
		return fmt.Errorf("creating namespace %q: %w", name, err)
	}
	return nil
}

func (s *Session) applyOne(ctx context.Context, namespace string, m Manifest, write WriteFunc) (Applied, error) {
	obj := withoutServerFields(m.Object)
	kind, err := s.kind(ctx, obj.GroupVersionKind())
	if err != nil {
		return Applied{}, err
	}
	var client dynamic.ResourceInterface = s.dynamic.Resource(kind.GVR())
	if kind.Namespaced {
		if obj.GetNamespace() == "" {
			obj.SetNamespace(namespace)
		}
		client = s.dynamic.Resource(kind.GVR()).Namespace(obj.GetNamespace())
	}
	result, err := write(ctx, client, obj)
	if err != nil {
		return Applied{}, refusal(err, obj)
	}
	return Applied{kind.GroupVersionKind, kind.GVR(), result.GetNamespace(), result.GetName()}, nil
}

// createOrApply creates an object, or applies it (server-side) if it exists.
func createOrApply(ctx context.Context, client dynamic.ResourceInterface, obj *unstructured.Unstructured) (
	*unstructured.Unstructured, error) {
	result, err := client.Create(ctx, obj, metav1.CreateOptions{
		FieldManager: FieldManager, FieldValidation: metav1.FieldValidationStrict,
	})
	if apierrors.IsAlreadyExists(err) {
		o := metav1.ApplyOptions{FieldManager: FieldManager, Force: true}
		result, err = client.Apply(ctx, obj.GetName(), obj, o)
	}
	return result, err
}

// withoutServerFields is a copy of the object without what the server alone sets, so that an object that was read from
// a cluster can be applied here.
func withoutServerFields(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "selfLink",
		"managedFields"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	return out
}
