package seed

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Related is an object of Options.Related.
type Related struct {
	Root
	// Object is the object as it is to be written to the copy; nil if it stays as it is. It need not exist.
	Object *unstructured.Unstructured
}

// isWorkload reports whether a kind is one of those of which a namespace has the most objects, and which controllers
// find by owner references and labels alone: pods, and what makes them.
func isWorkload(resource schema.GroupResource) bool {
	switch resource.Group {
	case "":
		return resource.Resource == "pods" || resource.Resource == "replicationcontrollers"
	case "apps":
		return true
	case "batch":
		return true
	}
	return false
}

// affectsNoOthers reports whether workloads are reached from an object of a kind, which is none itself, by labels or by
// nothing.
func affectsNoOthers(resource schema.GroupResource) bool {
	switch resource.Group {
	case "":
		return slices.Contains([]string{"configmaps", "secrets", "services", "serviceaccounts"}, resource.Resource)
	case "policy":
		return resource.Resource == "poddisruptionbudgets"
	case "networking.k8s.io":
		return slices.Contains([]string{"ingresses", "networkpolicies"}, resource.Resource)
	case "rbac.authorization.k8s.io":
		return true
	}
	return false
}

// related are the workloads of the copied namespaces, by their metadata, and which of them are copied: what the
// objects of Options.Related own, what owns them, what is selected by the labels that they select by, what adopts
// them, and what is selected together with them by Services and budgets; of each whole trees of owners. A tree has what
// depends on an object otherwise, too: see linkDependents.
type related struct {
	members map[types.UID]*member
	groups  map[key]*group // by resource and namespace
	missing []cluster.Incomplete
	// owners and owned are the references between members and, when all other lists have been read, what these have.
	owners, owned map[types.UID][]types.UID
	// shared are the Services and budgets, when all other lists have been read.
	shared []selection
	// wanted are those that are copied, and what is in their trees.
	wanted map[types.UID]bool
}

// group is the members of a kind in a namespace.
type group struct {
	target  cluster.Target
	members int
	peeked  bool // the selectors of its members were read
}

// member is a workload.
type member struct {
	group  *group
	name   string
	labels labels.Set
	orphan bool // no controller owns it
	read   bool
	// selector is that of one which was not read, if it may adopt what is needed; nil if it is not known.
	selector labels.Selector
}

func newRelated() *related {
	return &related{
		members: map[types.UID]*member{}, groups: map[key]*group{},
		owners: map[types.UID][]types.UID{}, owned: map[types.UID][]types.UID{}, wanted: map[types.UID]bool{},
	}
}

// restricted reports whether the copy can be restricted to what Options.Related needs.
func (o *Options) restricted() bool {
	return len(o.Related) > 0 && !o.AllNamespaces && !slices.ContainsFunc(o.Related, func(root Related) bool {
		resource := root.Kind.GroupResource()
		return !isWorkload(resource) && !affectsNoOthers(resource)
	})
}

// membersPerObject is for how many objects whose metadata alone are read one counts that is read whole.
const membersPerObject = 10

// listMembers reads the metadata of all workloads.
func (r *reading) listMembers(ctx context.Context, targets []cluster.Target) {
	for _, t := range targets {
		r.related.groups[key{resource: t.Kind.GroupResource(), namespace: t.Namespace}] = &group{target: t}
	}
	// The error is that of ctx.
	r.related.missing, _ = r.o.Reader.ListMetadata(ctx, targets, func(
		t cluster.Target, obj *metav1.PartialObjectMetadata,
	) {
		g := r.related.groups[key{resource: t.Kind.GroupResource(), namespace: t.Namespace}]
		r.related.members[obj.UID] = &member{
			group: g, name: obj.Name, labels: obj.Labels, orphan: metav1.GetControllerOfNoCopy(obj) == nil,
		}
		r.related.link(obj.UID, obj.OwnerReferences)
		g.members++
		r.countMember()
	})
}

// countMember ends the step if the metadata of too many workloads were read.
func (r *reading) countMember() {
	if n := len(r.related.members); r.limit > 0 && n > r.limit*membersPerObject {
		r.cancel(&TooManyObjectsError{Limit: r.limit * membersPerObject, Most: r.related.most()})
	}
}

// readRelated reads the workloads that are needed, when all other lists have been read: all, if a namespace has a
// quota, which counts them, or is being deleted.
func (r *reading) readRelated(ctx context.Context, targets []cluster.Target) {
	if r.needsAll() {
		r.related = nil
		var running sync.WaitGroup
		for _, target := range targets {
			running.Go(func() { r.list(ctx, target, nil) })
		}
		running.Wait()
		return
	}
	r.incomplete = append(r.incomplete, r.related.missing...)
	r.listed += len(targets) - len(r.related.missing)
	for _, object := range r.objects {
		r.related.link(object.UID, object.owners)
	}
	r.linkDependents()
	r.findShared()
	r.wantRoots()
	for ctx.Err() == nil {
		r.readWanted(ctx)
		if !r.wantSelected() && !r.wantAdopters(ctx) {
			return
		}
	}
}

// wantRoots marks the trees of the objects of Options.Related as needed, and those of owners that they are to have.
func (r *reading) wantRoots() {
	roots := map[key]bool{}
	for _, root := range r.o.Related {
		k := key{root.Kind.GroupResource(), root.Namespace, root.Name}
		roots[k] = true
		if object, ok := r.objects[k]; ok {
			r.related.want(object.UID)
		}
		if root.Object != nil {
			for _, owner := range root.Object.GetOwnerReferences() {
				r.related.want(owner.UID)
			}
		}
	}
	for uid, m := range r.related.members {
		if roots[key{m.group.target.Kind.GroupResource(), m.group.target.Namespace, m.name}] {
			r.related.want(uid)
		}
	}
}

const (
	// fewMembers is up to how many workloads of a kind in a namespace are read one by one, rather than by a list.
	fewMembers = 4
	// listedPerNeeded is how many objects a list may have for each one that is needed.
	listedPerNeeded = 10
)

// readWanted reads the workloads that are needed and were not read: those of a kind by a list, unless they are few of
// it. One that is gone is not there.
func (r *reading) readWanted(ctx context.Context) {
	names := map[*group]map[string]bool{}
	for uid, m := range r.related.members {
		if m.read || !r.related.wanted[uid] {
			continue
		}
		m.read = true
		if names[m.group] == nil {
			names[m.group] = map[string]bool{}
		}
		names[m.group][m.name] = true
	}
	var running sync.WaitGroup
	for g, needed := range names {
		if len(needed) > fewMembers && len(needed)*listedPerNeeded >= g.members {
			running.Go(func() { r.list(ctx, g.target, needed) })
			continue
		}
		for name := range needed {
			running.Go(func() { _ = r.get(ctx, g.target.Kind, g.target.Namespace, name) }) // recorded
		}
	}
	running.Wait()
}

// needsAll reports whether controllers look at all workloads of a namespace.
func (r *reading) needsAll() bool {
	for k, object := range r.objects {
		switch k.resource {
		case schema.GroupResource{Resource: "resourcequotas"}:
			return true
		case namespaces:
			var one metav1.PartialObjectMetadata
			if json.Unmarshal(object.JSON, &one) != nil || one.DeletionTimestamp != nil {
				return true
			}
		case claims: // one that is being deleted stays while a pod uses it
			var one metav1.PartialObjectMetadata
			if json.Unmarshal(object.JSON, &one) != nil || one.DeletionTimestamp != nil {
				return true
			}
		}
	}
	return false
}

// link notes the owners of an object; none of one without a uid, which other API servers may have.
func (c *related) link(uid types.UID, owners []metav1.OwnerReference) {
	if uid == "" {
		return
	}
	for _, owner := range owners {
		c.owners[uid] = append(c.owners[uid], owner.UID)
		c.owned[owner.UID] = append(c.owned[owner.UID], uid)
	}
}

// want marks an object, what owns it, and what all these own, as needed, whatever their kinds.
func (c *related) want(uid types.UID) {
	for next := []types.UID{uid}; len(next) > 0; {
		last := len(next) - 1
		uid, next = next[last], next[:last]
		if !c.wanted[uid] {
			c.wanted[uid] = true
			next = append(append(next, c.owners[uid]...), c.owned[uid]...)
		}
	}
}

// most are the kinds with the most workloads, the largest first.
func (c *related) most() []KindCount {
	byKind := map[schema.GroupResource]KindCount{}
	for k, g := range c.groups {
		byKind[k.resource] = KindCount{g.target.Kind, byKind[k.resource].Objects + g.members}
	}
	return mostOf(slices.Collect(maps.Values(byKind)))
}

// dropUnrelated removes what belongs to workloads that are not copied: what they own, and what that owns, what selects
// them, which would be without pods in the copy, and what depends on either.
func (r *reading) dropUnrelated(context.Context) error {
	if r.related == nil {
		return nil
	}
	var left []types.UID
	for uid := range r.related.members {
		if !r.related.wanted[uid] {
			left = append(left, uid)
		}
	}
	r.unrelated = map[key]bool{}
	r.skipped = len(left)
	for _, s := range r.related.shared {
		if !r.related.wanted[s.of] && r.related.selectsLeft(&s) {
			left = append(left, s.of)
		}
	}
	objects := make(map[types.UID]key, len(r.objects))
	for k, object := range r.objects {
		objects[object.UID] = k
	}
	dropped := map[types.UID]bool{} // owners may be owned by what they own
	for len(left) > 0 {
		last := len(left) - 1
		uid := left[last]
		left = left[:last]
		if uid == "" || dropped[uid] { // without a uid, nothing is an owner
			continue
		}
		dropped[uid] = true
		left = append(left, r.related.owned[uid]...)
		if k, there := objects[uid]; there {
			delete(r.objects, k)
			delete(r.uids, uid)
			r.unrelated[k] = true
			r.skipped++
		}
	}
	return nil
}
