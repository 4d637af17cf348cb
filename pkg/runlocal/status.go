package runlocal

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// ObjectStatus is an object and its status.
type ObjectStatus struct {
	Applied
	Status inspect.Status
	// Controller is the owner that manages an object which was not applied; nil if none does.
	Controller *metav1.OwnerReference
}

// Late reports whether the object is not as its spec asks and can be waited for. A custom resource to which nothing has
// written a status is neither: no controller of its kind runs here, which would report one.
func (o ObjectStatus) Late() bool { return o.Status.NotReady() && !o.Status.Unreported() }

// Statuses reads the objects and judges each. One that does not exist any more has the status NotFound.
func (s *Session) Statuses(ctx context.Context, applied []Applied) ([]ObjectStatus, error) {
	out := make([]ObjectStatus, 0, len(applied))
	for _, a := range applied {
		status, err := s.status(ctx, a)
		if err != nil {
			return out, err
		}
		out = append(out, ObjectStatus{Applied: a, Status: status})
	}
	return out, nil
}

func (s *Session) status(ctx context.Context, a Applied) (inspect.Status, error) {
	obj, err := s.reader.Resource(a.Resource).Namespace(a.Namespace).Get(ctx, a.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return inspect.Status{Status: "NotFound"}, nil
	case err != nil:
		return inspect.Status{}, fmt.Errorf("reading %s: %w", a, err)
	}
	return s.statusOf(obj, a.Resource), nil
}

// Others lists all objects of the resources, of all namespaces, that are not among those applied, and judges each.
func (s *Session) Others(ctx context.Context, resources []schema.GroupVersionResource,
	applied []Applied) ([]ObjectStatus, error) {
	type object struct {
		resource        schema.GroupVersionResource
		namespace, name string
	}
	known := map[object]bool{}
	for _, a := range applied {
		known[object{a.Resource, a.Namespace, a.Name}] = true
	}
	var out []ObjectStatus
	for _, r := range resources {
		err := s.eachOf(ctx, r, func(obj *unstructured.Unstructured) {
			if !known[object{r, obj.GetNamespace(), obj.GetName()}] {
				a := Applied{obj.GroupVersionKind(), r, obj.GetNamespace(), obj.GetName()}
				owner := metav1.GetControllerOf(obj)
				out = append(out, ObjectStatus{Applied: a, Status: s.statusOf(obj, r), Controller: owner})
			}
		})
		if err != nil {
			return out, fmt.Errorf("listing %s: %w", r.GroupResource(), err)
		}
	}
	return out, nil
}

// eachOf calls do with all objects of the resource, of all namespaces. It reads a page at a time: 10,000 pods at once
// are 400 MB.
func (s *Session) eachOf(ctx context.Context, r schema.GroupVersionResource,
	do func(*unstructured.Unstructured)) error {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return s.reader.Resource(r).List(ctx, o)
	})
	pages.PageBufferSize = 0
	return pages.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			do(u)
		}
		return nil
	})
}

// statusOf judges an object of a session, as the other commands do.
func (s *Session) statusOf(obj *unstructured.Unstructured, resource schema.GroupVersionResource) inspect.Status {
	status := inspect.StatusOf(obj)
	if status.Unreported() {
		return status.ForKind(s.hasStatus(resource))
	}
	return status
}

// hasStatus reports whether the resource has the subresource status, as far as is known.
func (s *Session) hasStatus(resource schema.GroupVersionResource) bool {
	served, err := s.discovery.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	return err != nil || slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool {
		return r.Name == resource.Resource+"/status"
	})
}
