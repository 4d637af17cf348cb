package playback

import (
	"errors"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// NotServed is something of a recording that is not served.
type NotServed struct {
	Kind     schema.GroupVersionKind
	Resource string
	// Namespace and Name are those of a single object; empty for a kind as a whole.
	Namespace, Name string
	// Err is why: api.ErrNotServed, ErrSameObjects, or that an object cannot be decoded.
	Err error
}

// ErrSameObjects is why a stream is not served: another one has the same objects, in another version or group.
var ErrSameObjects = errors.New("its objects were recorded as another kind too, as which they are served")

// kinds are the kinds of a recording, each of one or more streams.
type kinds struct {
	all      []*kind
	byStream map[int]*kind // only of streams that are played
	skipped  []NotServed   // streams that are not
	unloaded []NotServed   // kinds and objects that the API does not have
	failures int           // records that could not be delivered, of which unloaded has the first
}

// kind is a kind whose objects are served.
type kind struct {
	resource api.RecordedResource
	streams  []int
	served   bool
	// own is set for a kind whose objects are those of the clients alone, whatever was recorded of it.
	own bool
	// known are the versions of the objects, if streams may have the same ones; else nil. Each of these streams has a
	// change, which is played once.
	known map[objectName]uint64
}

type objectName struct{ namespace, name string }

// ownKinds returns the kinds that controllers write about themselves, not about the cluster: they can be written in a
// copy also if they were not recorded, and such writes do not end the playback. Recorded Leases would keep a controller
// from being elected, so in a copy there are none.
func ownKinds() []api.RecordedResource {
	return []api.RecordedResource{
		{Kind: coordinationv1.SchemeGroupVersion.WithKind("Lease"), Resource: "leases"},
		{Kind: corev1.SchemeGroupVersion.WithKind("Event"), Resource: "events"},
	}
}

// isOwn reports whether a kind is one of ownKinds.
func isOwn(gr schema.GroupResource) bool {
	return slices.ContainsFunc(ownKinds(), func(r api.RecordedResource) bool {
		return r.GroupResource() == api.StoredAs(gr)
	})
}

func newKinds(streams []replay.Stream, o Options) *kinds {
	k := &kinds{byStream: map[int]*kind{}}
	byResource := map[schema.GroupResource]*kind{}
	defer k.addEmpty(byResource, o.Empty)
	if o.Writable {
		defer k.addOwn(byResource)
	}
	for i := range streams {
		stream := &streams[i]
		name := api.StoredAs(stream.GroupResource())
		one := byResource[name]
		if one == nil {
			one = &kind{resource: api.RecordedResource{Kind: stream.GVK(), Resource: stream.Resource}}
			byResource[name] = one
			k.all = append(k.all, one)
		}
		if one.resource.Kind != stream.GVK() {
			k.skipped = append(k.skipped,
				NotServed{Kind: stream.GVK(), Resource: stream.Resource, Err: ErrSameObjects})
			continue
		}
		scope := api.RecordedScope{Namespace: stream.Namespace, Labels: stream.Labels, Fields: stream.Fields}
		if !slices.Contains(one.resource.Scopes, scope) {
			one.resource.Scopes = append(one.resource.Scopes, scope)
		}
		one.streams = append(one.streams, stream.Number)
		k.byStream[stream.Number] = one
	}
	return k
}

// addOwn adds ownKinds.
func (k *kinds) addOwn(byResource map[schema.GroupResource]*kind) {
	for _, r := range ownKinds() {
		one := byResource[r.GroupResource()]
		switch {
		case one == nil:
			k.all = append(k.all, &kind{resource: r, own: true})
		case r.Resource == "leases":
			one.own, one.resource.Scopes = true, nil
		}
	}
}

// addEmpty adds kinds of which there are no objects, unless they were recorded.
func (k *kinds) addEmpty(byResource map[schema.GroupResource]*kind, resources []schema.GroupResource) {
	for _, gr := range resources {
		gr = api.StoredAs(gr)
		if byResource[gr] != nil || slices.ContainsFunc(k.all, func(one *kind) bool {
			return one.resource.GroupResource() == gr
		}) {
			continue
		}
		if gvk, ok := builtInKind(gr); ok {
			k.all = append(k.all, &kind{resource: api.RecordedResource{Kind: gvk, Resource: gr.Resource}, own: true})
		}
	}
}

// builtInKind returns the kind of a resource that Kubernetes has, in its preferred version.
func builtInKind(gr schema.GroupResource) (schema.GroupVersionKind, bool) {
	for _, version := range legacyscheme.Scheme.PrioritizedVersionsForGroup(gr.Group) {
		for name := range legacyscheme.Scheme.KnownTypes(version) {
			kind := version.WithKind(name)
			if plural, _ := meta.UnsafeGuessKindToResource(kind); plural.Resource == gr.Resource {
				return kind, true
			}
		}
	}
	return schema.GroupVersionKind{}, false
}

// loaded is a state as the API is to have it.
type loaded struct {
	resources []api.RecordedResource
	objects   []api.StoredObject
}

// load returns a state for the API, whose objects change makes of those of the recording.
func (k *kinds) load(state *replay.State, change func([]byte) []byte) loaded {
	var out loaded
	for _, one := range k.all {
		for _, r := range one.begin(state) {
			out.objects = append(out.objects, one.stored(change(r.Object)))
		}
		out.resources = append(out.resources, one.resource)
	}
	return out
}

// begin makes the kind what it is in a state, and returns its objects.
func (one *kind) begin(state *replay.State) []*replay.Record {
	one.known = nil
	if one.own {
		one.resource.ResourceVersion = 1
		return nil
	}
	if len(one.streams) > 1 {
		one.known = map[objectName]uint64{}
	}
	newest := map[objectName]*replay.Record{}
	var version uint64
	complete := true
	for _, number := range one.streams {
		stream := state.Stream(number)
		if stream == nil {
			continue
		}
		version = max(version, snapshot.VersionNumber(stream.ResourceVersion))
		complete = complete && stream.Listed
	}
	for key, r := range state.Objects() {
		if !slices.Contains(one.streams, key.Stream) {
			continue
		}
		name := objectName{key.Namespace, key.Name}
		if other := newest[name]; other == nil || snapshot.IsNewer(r.ResourceVersion, other.ResourceVersion) {
			newest[name] = r
		}
	}
	objects := make([]*replay.Record, 0, len(newest))
	for name, r := range newest {
		objects = append(objects, r)
		v := snapshot.VersionNumber(r.ResourceVersion)
		if one.known != nil {
			one.known[name] = v
		}
		if complete {
			version = max(version, v)
		}
	}
	slices.SortFunc(objects, func(a, b *replay.Record) int { return a.Key().Compare(b.Key()) })
	one.resource.ResourceVersion = version
	return objects
}

func (one *kind) stored(data []byte) api.StoredObject {
	return api.StoredObject{Kind: one.resource.Kind, Resource: one.resource.Resource, JSON: data}
}

// isKnown reports whether the change of a record was played for another stream, and takes note of it if not.
func (one *kind) isKnown(r *replay.Record) bool {
	if one.known == nil {
		return false
	}
	name, version := objectName{r.Namespace, r.Name}, snapshot.VersionNumber(r.ResourceVersion)
	last, ok := one.known[name]
	if r.Type == replay.TypeDeleted {
		delete(one.known, name)
		return !ok
	}
	if ok && version != 0 && version <= last {
		return true
	}
	one.known[name] = version
	return false
}

// settle takes note of what the API does not have.
func (k *kinds) settle(server *api.Server, unloaded []api.UnloadedObject) {
	k.unloaded, k.failures = nil, 0
	for _, one := range k.all {
		one.served = server.ServesRecorded(one.resource.GroupResource())
		if !one.served {
			k.unloaded = append(k.unloaded, NotServed{
				Kind: one.resource.Kind, Resource: one.resource.Resource,
				Err: fmt.Errorf("%w in this version of Kubernetes", api.ErrNotServed),
			})
		}
	}
	for _, u := range unloaded {
		k.unloaded = append(k.unloaded,
			NotServed{Kind: u.Kind, Resource: u.Resource, Namespace: u.Namespace, Name: u.Name, Err: u.Err})
	}
}

// maxFailures is how many records that could not be delivered are kept.
const maxFailures = 100

// failed takes note of a record that could not be delivered.
func (k *kinds) failed(r *replay.Record, err error) {
	k.failures++
	one := k.byStream[r.Stream]
	if one == nil || k.failures > maxFailures {
		return
	}
	k.unloaded = append(k.unloaded, NotServed{
		Kind: one.resource.Kind, Resource: one.resource.Resource, Namespace: r.Namespace, Name: r.Name, Err: err,
	})
}

// notServed returns what is not served, kinds first.
func (k *kinds) notServed() []NotServed { return slices.Concat(k.skipped, k.unloaded) }
