package controllers

import (
	"context"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

const (
	// kindsLook is how often it is looked whether kinds may have changed. That costs next to nothing.
	kindsLook = 100 * time.Millisecond
	// kindsUnsure is for how long after a change discovery may lag behind it: it is asked at each turn. So it is after an error.
	kindsUnsure = 2 * time.Second
	// kindsUnasked is how long is waited when nobody knows of changes, as in kube-controller-manager.
	kindsUnasked = 30 * time.Second
)

// servedKinds tells the garbage collector which kinds the API serves. The collector asks again and again; it gets its
// answer when there may be another one.
type servedKinds struct {
	*discovery.DiscoveryClient
	changes func() uint64 // Deps.Kinds
	keep    func(served func(schema.GroupVersionResource) bool)

	// Used by the collector's one goroutine that asks.
	asked  bool
	last   uint64
	unsure time.Time

	mu        sync.RWMutex
	resources map[schema.GroupKind]string // such as "replicasets.apps"
}

func newServedKinds(client *discovery.DiscoveryClient, changes func() uint64, keep func(func(schema.GroupVersionResource) bool)) *servedKinds {
	return &servedKinds{DiscoveryClient: client, changes: changes, keep: keep, resources: map[schema.GroupKind]string{}}
}

// ServerPreferredResourcesWithContext implements discovery.ServerResourcesInterfaceWithContext. It waits until there may
// be another answer than the last.
func (k *servedKinds) ServerPreferredResourcesWithContext(ctx context.Context) ([]*metav1.APIResourceList, error) {
	if !k.wait(ctx) {
		return nil, ctx.Err()
	}
	lists, err := k.DiscoveryClient.ServerPreferredResourcesWithContext(ctx)
	if err != nil {
		k.unsure = time.Now().Add(kindsUnsure) // whatever was not told is asked for again, changes or none
		return lists, err
	}
	k.learn(lists)
	return lists, nil
}

// wait returns when discovery is to be asked, or with false when ctx has ended.
func (k *servedKinds) wait(ctx context.Context) bool {
	if k.changes == nil && k.asked {
		return pause(ctx, kindsUnasked)
	}
	for k.changes != nil {
		now := k.changes()
		if now != k.last {
			k.last, k.unsure = now, time.Now().Add(kindsUnsure)
			break
		}
		if !k.asked || time.Now().Before(k.unsure) {
			break
		}
		if !pause(ctx, kindsLook) {
			return false
		}
	}
	k.asked = true
	return ctx.Err() == nil
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// learn remembers the names of all resources, and lets go of those that are not served any more.
func (k *servedKinds) learn(lists []*metav1.APIResourceList) {
	served, resources := map[schema.GroupVersionResource]bool{}, map[schema.GroupKind]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // the collector says so
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			served[gv.WithResource(r.Name)] = true
			resources[schema.GroupKind{Group: gv.Group, Kind: r.Kind}] = schema.GroupResource{Group: gv.Group, Resource: r.Name}.String()
		}
	}
	k.mu.Lock()
	k.resources = resources
	k.mu.Unlock()
	k.keep(func(r schema.GroupVersionResource) bool { return served[r] })
}

// key spells what the collector works on as kubectl does: "replicasets.apps default/web-7d9".
func (k *servedKinds) key(of *tap.Identity) string {
	kind := schema.FromAPIVersionAndKind(of.APIVersion, of.Kind).GroupKind()
	k.mu.RLock()
	resource := k.resources[kind]
	k.mu.RUnlock()
	if resource == "" {
		resource = schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind)}.String()
	}
	if of.Namespace == "" {
		return resource + " " + of.Name
	}
	return resource + " " + of.Namespace + "/" + of.Name
}
