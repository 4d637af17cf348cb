package controllers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
)

// collectorClient is the garbage collector's metadata client. It records how the API answers the lists that the
// collector's monitors begin with. While some kind cannot be listed, it fails two requests, which the collector
// retries: the one by which it would find an object of that kind absent, and the one by which it would end the
// orphaning of an owner's dependents, some of which may be of that kind.
type collectorClient struct {
	metadata.Interface
	lists *listResults
}

var _ metadata.Interface = collectorClient{}

// Resource implements metadata.Interface.
func (c collectorClient) Resource(resource schema.GroupVersionResource) metadata.Getter {
	next := c.Interface.Resource(resource)
	return collectorGetter{collectorResource{next, resource, c.lists}, next}
}

// collectorGetter is a collectorResource of all namespaces, from which one of a single namespace can be had.
type collectorGetter struct {
	collectorResource
	all metadata.Getter
}

// Namespace implements metadata.Getter.
func (g collectorGetter) Namespace(namespace string) metadata.ResourceInterface {
	return collectorResource{g.all.Namespace(namespace), g.resource, g.lists}
}

// collectorResource is the client of one resource.
type collectorResource struct {
	metadata.ResourceInterface
	resource schema.GroupVersionResource
	lists    *listResults
}

// List implements metadata.ResourceInterface.
func (r collectorResource) List(ctx context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	list, err := r.ResourceInterface.List(ctx, o)
	if o.Continue == "" || err != nil { // a further page belongs to the same list
		r.lists.record(r.resource, err, time.Now())
	}
	return list, err
}

// Watch implements metadata.ResourceInterface.
func (r collectorResource) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := r.ResourceInterface.Watch(ctx, o)
	if o.SendInitialEvents != nil && *o.SendInitialEvents {
		r.lists.record(r.resource, err, time.Now())
	}
	return w, err
}

// Get implements metadata.ResourceInterface.
func (r collectorResource) Get(
	ctx context.Context, name string, o metav1.GetOptions, subresources ...string,
) (*metav1.PartialObjectMetadata, error) {
	if err := r.lists.leftOut(r.resource); err != nil {
		return nil, fmt.Errorf("looking up %s %q, of which the collector cannot know all: %w",
			r.resource.GroupResource(), name, err)
	}
	return r.ResourceInterface.Get(ctx, name, o, subresources...)
}

// Patch implements metadata.ResourceInterface.
func (r collectorResource) Patch(
	ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string,
) (*metav1.PartialObjectMetadata, error) {
	if unlisted := r.lists.anyLeftOut(); unlisted != nil && endsOrphaning(pt, data) {
		owner, err := r.ResourceInterface.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if slices.Contains(owner.Finalizers, metav1.FinalizerOrphanDependents) {
			return nil, fmt.Errorf("orphaning the dependents of %s %q, "+
				"which may have some that the collector cannot know: %w",
				r.resource.GroupResource(), name, unlisted)
		}
	}
	return r.ResourceInterface.Patch(ctx, name, pt, data, o, subresources...)
}

// endsOrphaning reports whether a patch sets finalizers without "orphan", which keeps an owner until its dependents are
// orphaned: that of removeFinalizer in k8s.io/kubernetes/pkg/controller/garbagecollector/operations.go does.
func endsOrphaning(pt types.PatchType, data []byte) bool {
	var patch struct {
		Metadata struct{ Finalizers []string }
	}
	if pt != types.MergePatchType || !bytes.Contains(data, []byte(`"finalizers"`)) ||
		json.Unmarshal(data, &patch) != nil {
		return false
	}
	return !slices.Contains(patch.Metadata.Finalizers, metav1.FinalizerOrphanDependents)
}

// UnlistedKind is the error for a kind whose objects cannot be listed.
type UnlistedKind struct {
	Resource schema.GroupResource
	Err      error
}

// Error implements error.
func (k *UnlistedKind) Error() string {
	return fmt.Sprintf("%s cannot be listed: %v", k.Resource, k.Err)
}

// Unwrap returns the error of the lists.
func (k *UnlistedKind) Unwrap() error { return k.Err }

// errListUnfinished is the error of a list that is begun again and again and ends without an error each time.
var errListUnfinished = errors.New("its answers end before they are whole")

// listResults holds the API's answers to the lists of monitors that have not synced, and which kinds the collector does
// without because of them. The zero value is empty. Its methods may be called concurrently.
type listResults struct {
	mu           sync.Mutex
	byResource   map[schema.GroupVersionResource]*listResult
	kindsLeftOut map[schema.GroupVersionResource]error
}

// listResult is what the API answered to the lists of one resource.
type listResult struct {
	first time.Time // when the first list was answered
	count int
	err   error // of the last answer
}

// unfinishedLists is how many lists of a resource must have begun without an error, none of which has filled the
// monitor, before the resource counts as failing.
const unfinishedLists = 4

// record records the answer to a list. An error without an answer of the API, such as a refused connection, is ignored.
func (l *listResults) record(resource schema.GroupVersionResource, err error, now time.Time) {
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.byResource[resource]
	if a == nil {
		if l.byResource == nil {
			l.byResource = map[schema.GroupVersionResource]*listResult{}
		}
		a = &listResult{first: now}
		l.byResource[resource] = a
	}
	a.count++
	a.err = err
}

// failing returns why a resource whose monitor has not synced cannot be listed. It returns nil if no list has failed,
// or if the first answer came less than after before now and the error is not final.
func (l *listResults) failing(resource schema.GroupVersionResource, now time.Time, after time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.byResource[resource]
	switch {
	case a == nil || now.Sub(a.first) < after && !isFinal(a.err):
		return nil
	case a.err == nil && a.count >= unfinishedLists:
		return errListUnfinished
	}
	return a.err
}

// isFinal reports whether the error will not go away by trying again.
func isFinal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// forget drops the answers for a resource whose monitor has synced.
func (l *listResults) forget(resource schema.GroupVersionResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byResource, resource)
}

// everyResource is the name in place of the resources of an API version whose discovery failed.
const everyResource = "*"

// setLeftOut sets the kinds that the collector does without, and why. The map must not be changed afterwards.
func (l *listResults) setLeftOut(kinds map[schema.GroupVersionResource]error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kindsLeftOut = kinds
}

// leftOut returns why the collector does without a resource, in whichever version, as an *UnlistedKind; nil if it does
// not.
func (l *listResults) leftOut(resource schema.GroupVersionResource) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for left, err := range l.kindsLeftOut {
		if left.Group == resource.Group && (left.Resource == resource.Resource || left.Resource == everyResource) {
			return &UnlistedKind{Resource: resource.GroupResource(), Err: err}
		}
	}
	return nil
}

// anyLeftOut returns leftOut of the first resource by name that the collector does without; nil if there is none.
func (l *listResults) anyLeftOut() error {
	if all := l.allLeftOut(); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// resourcesLeftOut returns the resources that the collector does without, in no order.
func (l *listResults) resourcesLeftOut() []schema.GroupVersionResource {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.kindsLeftOut))
}

// allLeftOut returns the kinds that the collector does without, sorted.
func (l *listResults) allLeftOut() []UnlistedKind {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []UnlistedKind
	for resource, err := range l.kindsLeftOut {
		out = append(out, UnlistedKind{Resource: resource.GroupResource(), Err: err})
	}
	slices.SortFunc(out, func(a, b UnlistedKind) int { return compareResources(a.Resource, b.Resource) })
	return out
}
