package controllers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	gc "k8s.io/kubernetes/pkg/controller/garbagecollector"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// listFailureTimeout is how long the lists of a kind may fail before the garbage collector does without the kind.
const listFailureTimeout = 10 * time.Second

// servedKinds is the discovery client of the garbage collector, by which that decides which kinds to watch: those that
// the API serves, without those whose lists have been failing. The collector reads discovery in a loop; a call returns
// when there may be another answer than the last.
type servedKinds struct {
	*discovery.DiscoveryClient
	poller   kindPoller // used only by the goroutine that reads discovery
	onServed func(served func(schema.GroupVersionResource) bool)
	// listed reports whether an informer holds all objects of a resource, and watched whether the collector has been
	// given them. Both may be called concurrently.
	listed, watched func(schema.GroupVersionResource) bool
	// custom is Kinds.Custom; nil if that is not known.
	custom             func() []schema.GroupResource
	lists              *listResults
	listFailureTimeout time.Duration
	// unread is Deps.Unread. These kinds are watched, and count as left out all the same.
	unread []UnlistedKind

	mu             sync.RWMutex
	resources      map[schema.GroupKind]string   // such as "replicasets.apps"
	wanted         []schema.GroupVersionResource // what the collector is to watch
	discovered     map[schema.GroupResource]bool // all resources of the last answer of discovery
	failedVersions map[schema.GroupVersion]error // the API versions whose discovery failed
	discoveryDone  bool
	changes        uint64 // poller.lastChanges of the last answer
	version        uint64 // changes whenever wanted does
}

// ServerPreferredResourcesWithContext implements discovery.ServerResourcesInterfaceWithContext. It waits until the
// answer may differ from the last.
func (k *servedKinds) ServerPreferredResourcesWithContext(ctx context.Context) ([]*metav1.APIResourceList, error) {
	if !k.poller.wait(ctx) {
		return nil, ctx.Err()
	}
	changes := k.poller.lastChanges
	lists, err := k.DiscoveryClient.ServerPreferredResourcesWithContext(ctx)
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	switch {
	case err == nil:
		k.setServed(lists)
	case !partly || !sameVersions(failed, k.failedVersions):
		k.poller.retrySoon()
	}
	return k.watchable(lists, failed, changes), err
}

// sameVersions reports whether discovery failed for the same API versions.
func sameVersions(a, b map[schema.GroupVersion]error) bool {
	return maps.EqualFunc(a, b, func(error, error) bool { return true })
}

// setServed remembers the names of all resources, and stops the monitors of those that are no longer served.
func (k *servedKinds) setServed(lists []*metav1.APIResourceList) {
	served, resources := map[schema.GroupVersionResource]bool{}, map[schema.GroupKind]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // the collector logs it
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			served[gv.WithResource(r.Name)] = true
			resource := schema.GroupResource{Group: gv.Group, Resource: r.Name}
			resources[schema.GroupKind{Group: gv.Group, Kind: r.Kind}] = resource.String()
		}
	}
	k.mu.Lock()
	k.resources = resources
	k.mu.Unlock()
	k.onServed(func(r schema.GroupVersionResource) bool { return served[r] })
}

// watchable returns the lists without the kinds that cannot be listed, and remembers which are to be watched. Of an API
// version whose discovery failed no kind can be listed. Without any lists, because the API did not answer, nothing
// changes.
func (k *servedKinds) watchable(
	lists []*metav1.APIResourceList, failed map[schema.GroupVersion]error, changes uint64,
) []*metav1.APIResourceList {
	if len(lists) == 0 {
		return lists
	}
	now := time.Now()
	unlisted, known := k.leftOutBefore(), map[schema.GroupResource]bool{}
	for version, err := range failed {
		unlisted[version.WithResource(everyResource)] = err
	}
	var wanted []schema.GroupVersionResource
	var out []*metav1.APIResourceList
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			out = append(out, list)
			continue
		}
		kept := *list
		kept.APIResources = slices.DeleteFunc(slices.Clone(list.APIResources), func(r metav1.APIResource) bool {
			resource := gv.WithResource(r.Name)
			known[resource.GroupResource()] = true
			if !isWatched(list.GroupVersion, &r, resource) {
				return false
			}
			if !k.listed(resource) {
				if err := k.lists.failing(resource, now, k.listFailureTimeout); err != nil {
					unlisted[resource] = err
					return true
				}
			}
			wanted = append(wanted, resource)
			return false
		})
		out = append(out, &kept)
	}
	k.lists.setLeftOut(unlisted)
	k.mu.Lock()
	defer k.mu.Unlock()
	slices.SortFunc(wanted, func(a, b schema.GroupVersionResource) int { return cmp.Compare(a.String(), b.String()) })
	if !slices.Equal(k.wanted, wanted) {
		k.version++
	}
	k.wanted, k.discovered, k.failedVersions, k.discoveryDone, k.changes = wanted, known, failed, true, changes
	return out
}

// leftOutBefore returns the kinds that are left out whatever the API answers, which are in no version.
func (k *servedKinds) leftOutBefore() map[schema.GroupVersionResource]error {
	out := map[schema.GroupVersionResource]error{}
	for _, kind := range k.unread {
		out[kind.Resource.WithVersion("")] = kind.Err
	}
	return out
}

// isWatched reports whether the garbage collector watches a resource. It mirrors GetDeletableResources of
// k8s.io/kubernetes/pkg/controller/garbagecollector/garbagecollector.go.
func isWatched(version string, r *metav1.APIResource, resource schema.GroupVersionResource) bool {
	if _, ignored := gc.DefaultIgnoredResources()[resource.GroupResource()]; ignored {
		return false
	}
	return discovery.SupportsAllVerbs{Verbs: []string{"delete", "list", "watch"}}.Match(version, r)
}

// unlisted returns the kinds that the collector is to watch and has not been given all objects of, sorted. Custom
// resources that the API serves and discovery does not return yet are among them. version is that of the kinds to be
// watched; ok is false if kinds may have been added since discovery was last read.
func (k *servedKinds) unlisted() (waiting []schema.GroupResource, version uint64, ok bool) {
	version, ok = k.current()
	k.mu.RLock()
	wanted, known := k.wanted, k.discovered
	k.mu.RUnlock()
	for _, resource := range wanted {
		if k.watched(resource) {
			k.lists.forget(resource)
		} else {
			waiting = append(waiting, resource.GroupResource())
		}
	}
	if k.custom != nil {
		for _, resource := range k.custom() {
			if !known[resource] {
				waiting = append(waiting, resource)
			}
		}
	}
	slices.SortFunc(waiting, compareResources)
	return waiting, version, ok
}

// current returns the version of the kinds that the collector is to watch; ok is false if kinds may have been added
// since discovery was last read.
func (k *servedKinds) current() (version uint64, ok bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.version, k.discoveryDone && k.changes == k.poller.changes()
}

// mustPoll reports whether discovery is to be read although no kind was added or removed: because a kind that the
// collector waits for may have to be left out, or one that is left out can be listed.
func (k *servedKinds) mustPoll() bool {
	if waiting, _, ok := k.unlisted(); !ok || len(waiting) > 0 {
		return true
	}
	return slices.ContainsFunc(k.lists.resourcesLeftOut(),
		func(r schema.GroupVersionResource) bool { return r.Version != "" && k.listed(r) })
}

func compareResources(a, b schema.GroupResource) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
}

// key returns the text of a key of the collector, as kubectl names objects: "replicasets.apps default/web-7d9".
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
