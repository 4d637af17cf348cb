package runlocal

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// ObjectStatus is an object and its status.
type ObjectStatus struct {
	Applied
	Status inspect.Status
	// Controller is the owner that manages an object which was not applied; nil if none does.
	Controller *metav1.OwnerReference
}

// Late reports whether the object is not as its spec asks. So is a custom resource whose kind has a status that no
// controller has written yet.
func (o ObjectStatus) Late() bool { return o.Status.NotReady() }

// Statuses reads the objects and judges each as the other commands do: by its own fields, and Services and Ingresses
// also by what they route requests to. One that does not exist any more has the status NotFound.
func (s *Session) Statuses(ctx context.Context, applied []Applied) ([]ObjectStatus, error) {
	j := judging{session: s}
	for _, a := range applied {
		if err := j.read(ctx, a); err != nil {
			return j.objects, err
		}
	}
	return j.objects, j.routes(ctx)
}

// PodsReady counts the pods that controllers act on and that have not ended and are not about to, and those of them
// that are ready, by the cache of the controllers: both are 0 if none of them watches pods.
func (s *Session) PodsReady() (ready, all int) {
	for _, obj := range s.tap.Cached(schema.GroupResource{Resource: "pods"}) {
		pod, ok := obj.(*corev1.Pod)
		if !ok || podutil.IsPodTerminal(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		all++
		if podutil.IsPodReady(pod) {
			ready++
		}
	}
	return ready, all
}

// judging gathers the statuses of objects.
type judging struct {
	session *Session
	objects []ObjectStatus
	routed  []treestatus.Routed
	at      []int // of each of routed, the index in objects
}

// read reads an object and judges it by its own fields.
func (j *judging) read(ctx context.Context, a Applied) error {
	obj, err := j.session.reader.Resource(a.Resource).Namespace(a.Namespace).Get(ctx, a.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		j.objects = append(j.objects, ObjectStatus{Applied: a, Status: inspect.Status{Status: "NotFound"}})
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", a, err)
	}
	j.add(ctx, a, obj)
	return nil
}

// add judges an object by its own fields, as of now.
func (j *judging) add(ctx context.Context, a Applied, obj *unstructured.Unstructured) {
	kind := cluster.Kind{
		GroupVersionKind: a.Kind, Resource: a.Resource.Resource, Namespaced: a.Namespace != "", HasStatus: true,
	}
	facts := treestatus.FactsOf(&kind, obj, nil)
	if facts.Unreported() && !j.session.hasStatus(ctx, a.Kind) {
		kind.HasStatus = false
		facts = treestatus.FactsOf(&kind, obj, nil)
	}
	facts.Report = facts.At(time.Now())
	if !facts.Backends.IsZero() {
		j.at = append(j.at, len(j.objects))
		id := cluster.ObjectID{Kind: &kind, Namespace: a.Namespace, Name: a.Name, UID: obj.GetUID()}
		j.routed = append(j.routed, treestatus.Routed{ObjectID: id, Facts: facts})
	}
	j.objects = append(j.objects, ObjectStatus{Applied: a, Status: facts.Status})
}

// routes judges the Services and Ingresses among the objects by what they route requests to.
func (j *judging) routes(ctx context.Context) error {
	if len(j.routed) == 0 {
		return nil
	}
	kinds, err := j.session.knownKinds(ctx)
	if err != nil {
		return err
	}
	// What is not known is not held against them.
	judged, _ := treestatus.JudgeRouted(ctx, j.session.judged, kinds, j.routed, false)
	for i, r := range j.routed {
		if facts := judged[r.UID]; facts != nil {
			j.objects[j.at[i]].Status = facts.Status
		}
	}
	return ctx.Err()
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
	j := judging{session: s}
	for _, r := range resources {
		err := s.eachOf(ctx, r, func(obj *unstructured.Unstructured) {
			if !known[object{r, obj.GetNamespace(), obj.GetName()}] {
				j.add(ctx, Applied{obj.GroupVersionKind(), r, obj.GetNamespace(), obj.GetName()}, obj)
				j.objects[len(j.objects)-1].Controller = metav1.GetControllerOf(obj)
			}
		})
		if err != nil {
			return j.objects, fmt.Errorf("listing %s: %w", r.GroupResource(), err)
		}
	}
	return j.objects, j.routes(ctx)
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

// hasStatus reports whether objects of a kind have a status to report, as far as is known: it has the subresource
// status, or its schema declares one.
func (s *Session) hasStatus(ctx context.Context, of schema.GroupVersionKind) bool {
	kind, err := s.kind(ctx, of)
	if err != nil || kind.HasStatus {
		return true
	}
	definition, err := s.reader.Resource(crdResource).Get(ctx, kind.GroupResource().String(), metav1.GetOptions{})
	if err != nil {
		return false
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	return slices.ContainsFunc(versions, func(v any) bool {
		version, _ := v.(map[string]any)
		_, declared, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "status")
		return declared && version["name"] == kind.Version
	})
}

// crdResource is that of CustomResourceDefinitions.
var crdResource = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}
