package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// observer watches every resource of a control plane, and knows of each namespace what is in it and when that last
// changed. What a scenario has made elsewhere is counted to its namespace, and what is in no namespace otherwise to "".
// It may be used concurrently.
type observer struct {
	mu      sync.Mutex
	spaces  map[string]*space
	ticks   int // of the pulse
	adopted adopted
}

// space is what was seen of a namespace.
type space struct {
	step    int // that is being played; objects that come now are its
	changed int // tick of the last change
	objects map[types.UID]*seen
	gone    []*unstructured.Unstructured // the last states of objects that were deleted
	told    []telling

	recording bool
	versions  []Version
}

// seen is an object as it was last seen.
type seen struct {
	resource schema.GroupResource
	object   *unstructured.Unstructured
	step     int
	current  bool // its status was once that of its generation
}

// telling is an Event that was seen, for the history.
type telling struct {
	at   time.Time
	text string
}

// observe starts watching, until ctx ends, and waits until everything was listed.
func observe(ctx context.Context, resources []schema.GroupVersionResource, client dynamic.Interface) (
	*observer, error) {
	o := &observer{spaces: map[string]*space{}}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	var synced []cache.InformerSynced
	for _, r := range resources {
		registration, err := factory.ForResource(r).Informer().AddEventHandler(o.handler(r.GroupResource()))
		if err != nil {
			return nil, fmt.Errorf("watching %q: %w", r, err)
		}
		synced = append(synced, registration.HasSynced)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, fmt.Errorf("listing everything: %w", context.Cause(ctx))
	}
	return o, nil
}

// watched are the resources that can be watched, each in its preferred version. Events are served in two groups: one is
// enough.
func watched(client discovery.DiscoveryInterface) ([]schema.GroupVersionResource, error) {
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("reading which resources there are: %w", err)
	}
	var all []schema.GroupVersionResource
	var errs []error
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		errs = append(errs, err)
		for _, r := range list.APIResources {
			readable := slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
			if readable && version.Group != "events.k8s.io" && !strings.Contains(r.Name, "/") {
				all = append(all, version.WithResource(r.Name))
			}
		}
	}
	return all, errors.Join(errs...)
}

func (o *observer) handler(resource schema.GroupResource) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { o.saw(resource, obj) },
		UpdateFunc: func(_, obj any) { o.saw(resource, obj) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			o.lost(resource, obj)
		},
	}
}

func (o *observer) saw(resource schema.GroupResource, obj any) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.space(o.adopted.home(resource, u))
	s.changed = o.ticks
	if resource.Resource == "events" {
		s.told = append(s.told, telling{at: time.Now(), text: eventOf(u).String()})
	}
	known := s.objects[u.GetUID()]
	if known == nil {
		known = o.taken(u.GetUID())
	}
	if known == nil {
		known = &seen{resource: resource, step: s.step}
	}
	s.objects[u.GetUID()] = known
	s.record(resource, known.object, u)
	known.object = u
	known.current = known.current || isCurrent(u)
}

// taken takes an object out of the space where it was, as a volume that is bound to a claim is counted to the claim's;
// nil if it was in none. The lock must be held.
func (o *observer) taken(uid types.UID) *seen {
	for _, s := range o.spaces {
		if known := s.objects[uid]; known != nil {
			delete(s.objects, uid)
			return known
		}
	}
	return nil
}

func (o *observer) lost(resource schema.GroupResource, obj any) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.space(o.adopted.home(resource, u))
	s.changed = o.ticks
	s.gone = append(s.gone, u)
	delete(s.objects, u.GetUID())
	s.record(resource, u, nil)
}

// space returns the namespace's. The lock must be held.
func (o *observer) space(namespace string) *space {
	s := o.spaces[namespace]
	if s == nil {
		s = &space{objects: map[types.UID]*seen{}}
		o.spaces[namespace] = s
	}
	return s
}

// isCurrent reports whether the status is that of the object's generation.
func isCurrent(u *unstructured.Unstructured) bool {
	observed, found, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return err == nil && found && observed == u.GetGeneration()
}
