package runlocal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// FieldManager is the field manager of what a Session itself writes: the objects that Apply creates, and their
// namespace.
const FieldManager = "kubectl-reconcile"

// Manifest is an object to be applied, and where it was read.
type Manifest struct {
	// Source is a file, a URL or "stdin".
	Source string
	Object *unstructured.Unstructured
}

// String names the manifest by its source and object: "web.yaml: deployment.apps/web".
func (m Manifest) String() string {
	return m.Source + ": " + objectText(m.Object.GroupVersionKind(), m.Object.GetName())
}

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

// UnknownKindError says that the API serves no such kind.
type UnknownKindError struct {
	Kind schema.GroupVersionKind
	// Known are the kinds that the API serves.
	Known []string
}

// Error implements error.
func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("no kind %q is served in version %q", e.Kind.Kind, e.Kind.GroupVersion())
}

// Apply creates the objects as their author: namespaces, CustomResourceDefinitions and StorageClasses first, so that the
// others and, in the sandbox, the controllers find them, else in the order given; objects that are there already are
// applied to (server-side). Objects without a namespace go to the one given. What the server alone sets (uid,
// resourceVersion, managedFields and the like) is left out. An object that is refused does not hinder the others: the
// error joins one error for each, which names it.
func (s *Session) Apply(ctx context.Context, namespace string, manifests []Manifest) ([]Applied, error) {
	needed, others := inOrder(manifests)
	first, err := s.applyAll(ctx, namespace, needed)
	errs := []error{err, s.waitEstablished(ctx, needed), s.waitSeen(ctx, first)}
	then, err := s.applyAll(ctx, namespace, others)
	return append(first, then...), errors.Join(append(errs, err)...)
}

func (s *Session) applyAll(ctx context.Context, namespace string, manifests []Manifest) ([]Applied, error) {
	var applied []Applied
	var errs []error
	for _, m := range manifests {
		a, err := s.applyOne(ctx, namespace, m)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m, err))
			continue
		}
		applied = append(applied, a)
	}
	return applied, errors.Join(errs...)
}

var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	crdKind       = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	// storageClassKind: the binder of volumes looks at a claim whose class it did not find again only 15 s later.
	storageClassKind = schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}
)

// EnsureNamespace creates the namespace if it is not there.
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

// inOrder tells what other objects need from the others.
func inOrder(manifests []Manifest) (needed, others []Manifest) {
	for _, m := range manifests {
		switch m.Object.GroupVersionKind().GroupKind() {
		case namespaceKind, crdKind, storageClassKind:
			needed = append(needed, m)
		default:
			others = append(others, m)
		}
	}
	return needed, others
}

func (s *Session) applyOne(ctx context.Context, namespace string, m Manifest) (Applied, error) {
	obj := authored(m.Object)
	mapping, err := s.mapping(obj.GroupVersionKind())
	if err != nil {
		return Applied{}, err
	}
	var client dynamic.ResourceInterface = s.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if obj.GetNamespace() == "" {
			obj.SetNamespace(namespace)
		}
		client = s.dynamic.Resource(mapping.Resource).Namespace(obj.GetNamespace())
	}
	result, err := client.Create(ctx, obj, metav1.CreateOptions{
		FieldManager: FieldManager, FieldValidation: metav1.FieldValidationStrict,
	})
	if apierrors.IsAlreadyExists(err) {
		o := metav1.ApplyOptions{FieldManager: FieldManager, Force: true}
		result, err = client.Apply(ctx, obj.GetName(), obj, o)
	}
	if err != nil {
		return Applied{}, err
	}
	return Applied{mapping.GroupVersionKind, mapping.Resource, result.GetNamespace(), result.GetName()}, nil
}

// authored is a copy of the object without what the server alone sets, so that an object that was read from a cluster
// can be applied here.
func authored(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	return out
}

// mapping finds the resource of a kind, and asks the API anew if it is not known: it may just have been defined.
func (s *Session) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if !meta.IsNoMatchError(err) {
		return mapping, err
	}
	s.mapper.Reset()
	if mapping, err = s.mapper.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
		return nil, &UnknownKindError{Kind: kind, Known: s.kinds()}
	}
	return mapping, err
}

// kinds lists the kinds that the API serves, as far as it can be asked.
func (s *Session) kinds() []string {
	lists, err := s.discovery.ServerPreferredResources()
	if err != nil {
		return nil
	}
	var out []string
	for _, list := range lists {
		for _, r := range list.APIResources {
			out = append(out, r.Kind)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// establishing bounds how long a CustomResourceDefinition may take to be served, and what others need to be seen.
const establishing = 10 * time.Second

// waitEstablished waits until the API serves the kinds that the manifests define.
func (s *Session) waitEstablished(ctx context.Context, manifests []Manifest) error {
	for _, m := range manifests {
		if m.Object.GroupVersionKind().GroupKind() != crdKind {
			continue
		}
		err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, establishing, true, func(ctx context.Context) (bool, error) {
			return s.established(ctx, m.Object.GetName())
		})
		if err != nil {
			return fmt.Errorf("%s: waiting for it to be served: %w", m, err)
		}
	}
	return nil
}

// waitSeen waits, in the sandbox, until the controllers that watch the kinds of these objects have seen them.
func (s *Session) waitSeen(ctx context.Context, applied []Applied) error {
	if s.server == nil {
		return nil
	}
	for _, a := range applied {
		err := wait.PollUntilContextTimeout(ctx, look, establishing, true, func(context.Context) (bool, error) {
			return s.handled(s.tap.State(), a.Resource.GroupResource()), nil
		})
		if err != nil {
			return fmt.Errorf("%s: waiting for the controllers to see it: %w", a, err)
		}
	}
	return nil
}

// established says whether the definition is in force and discovery tells of it, which comes a little later. One that is
// not there was refused: nothing is to be waited for then.
func (s *Session) established(ctx context.Context, name string) (bool, error) {
	crds := s.dynamic.Resource(schema.GroupVersionResource{Group: crdKind.Group, Version: "v1", Resource: "customresourcedefinitions"})
	crd, err := crds.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil || !hasCondition(crd, "Established") {
		return false, err
	}
	group, _, err := unstructured.NestedString(crd.Object, "spec", "group")
	if err != nil {
		return false, err
	}
	kind, _, err := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	if err != nil {
		return false, err
	}
	s.mapper.Reset()
	_, err = s.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	return err == nil, nil
}

// hasCondition says whether the object's condition of that type is true.
func hasCondition(obj *unstructured.Unstructured, name string) bool {
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == name && m["status"] == "True"
	})
}
