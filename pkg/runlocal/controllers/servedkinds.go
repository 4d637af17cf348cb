package controllers

import (
	"context"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// servedKinds tells the garbage collector which kinds the API serves. The collector asks again and again; it gets its
// answer when there may be another one.
type servedKinds struct {
	*discovery.DiscoveryClient
	turns kindTurns // used by the collector's one goroutine that asks
	keep  func(served func(schema.GroupVersionResource) bool)

	mu        sync.RWMutex
	resources map[schema.GroupKind]string // such as "replicasets.apps"
}

func newServedKinds(client *discovery.DiscoveryClient, changes func() uint64, keep func(func(schema.GroupVersionResource) bool)) *servedKinds {
	return &servedKinds{DiscoveryClient: client, turns: kindTurns{changes: changes}, keep: keep, resources: map[schema.GroupKind]string{}}
}

// ServerPreferredResourcesWithContext implements discovery.ServerResourcesInterfaceWithContext. It waits until there may
// be another answer than the last.
func (k *servedKinds) ServerPreferredResourcesWithContext(ctx context.Context) ([]*metav1.APIResourceList, error) {
	if !k.turns.wait(ctx) {
		return nil, ctx.Err()
	}
	lists, err := k.DiscoveryClient.ServerPreferredResourcesWithContext(ctx)
	if err != nil {
		k.turns.again()
		return lists, err
	}
	k.learn(lists)
	return lists, nil
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
