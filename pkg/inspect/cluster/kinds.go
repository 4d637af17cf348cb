package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Kinds are the kinds that a server served when it was asked. Nothing changes them, so they may be used concurrently.
type Kinds struct {
	// served holds every version of every kind in the order in which names are resolved: groups as the server orders them,
	// the core group first; in a group the preferred version first.
	served     []Kind
	preferred  []Kind
	incomplete []Incomplete
}

// All returns every kind once, in its preferred version, sorted by Kind.Compare. The slice is the caller's.
func (k *Kinds) All() []Kind {
	out := slices.Clone(k.preferred)
	slices.SortFunc(out, Kind.Compare)
	return out
}

// Collected returns the kinds that the garbage collector watches, sorted: see Kind.Collected.
func (k *Kinds) Collected() []Kind {
	return slices.DeleteFunc(k.All(), func(kind Kind) bool { return !kind.Collected() })
}

// Incomplete returns the groups whose kinds are unknown, sorted; nil if there are none.
func (k *Kinds) Incomplete() []Incomplete { return slices.Clone(k.incomplete) }

// Serves reports whether the server has the resource in that version; true also if discovery of the version has failed, as it may
// have it then.
func (k *Kinds) Serves(r schema.GroupVersionResource) bool {
	return k.unknown(r.GroupVersion()) != nil || slices.ContainsFunc(k.served, func(s Kind) bool { return s.GVR() == r })
}

// GroupUnknownError says that it is not known whether a kind is served, for discovery of its group failed.
type GroupUnknownError struct {
	GroupVersion schema.GroupVersion
	// Message is why, as the server said it.
	Message string
}

func (e *GroupUnknownError) Error() string {
	return fmt.Sprintf("the kinds of %s are not known: %s", e.GroupVersion, e.Message)
}

// Lookup finds the kind of an owner reference, in any served version; without a version the preferred one. It returns false
// if the server has no such kind, and a *GroupUnknownError if that cannot be told. The kind's name must match exactly, or
// be all lower case, as for the mapper of the garbage collector (newDiscoveryRESTMapper of k8s.io/client-go/restmapper).
func (k *Kinds) Lookup(gvk schema.GroupVersionKind) (Kind, bool, error) {
	var found *Kind
	for i := range k.served {
		s := &k.served[i]
		if s.Group != gvk.Group || gvk.Version != "" && s.Version != gvk.Version {
			continue
		}
		if s.Kind != gvk.Kind && strings.ToLower(s.Kind) != gvk.Kind {
			continue
		}
		if found == nil || s.Version == found.Version { // of two resources of a kind the mapper takes the last
			found = s
		}
	}
	if found != nil {
		return *found, true, nil
	}
	if list, ok := k.list(gvk); ok {
		return list, true, nil
	}
	return Kind{}, false, k.unknown(gvk.GroupVersion())
}

// list makes up a kind for a list of a kind, at a path that the server answers with 404: so does the mapper, and to the garbage
// collector an owner of kind ConfigMapList is therefore missing, rather than of an unknown kind.
func (k *Kinds) list(gvk schema.GroupVersionKind) (Kind, bool) {
	item, isList := strings.CutSuffix(gvk.Kind, "List")
	if !isList {
		return Kind{}, false
	}
	for i := range k.served {
		s := &k.served[i]
		if s.Group != gvk.Group || gvk.Version != "" && s.Version != gvk.Version || item != "" && s.Kind != item {
			continue
		}
		kind := s.GroupVersion().WithKind(gvk.Kind)
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		return Kind{GroupVersionKind: kind, Resource: resource.Resource, Namespaced: item != "" && s.Namespaced}, true
	}
	return Kind{}, false
}

// unknown returns an error if discovery of the version, or without a version of any version of the group, failed.
func (k *Kinds) unknown(gv schema.GroupVersion) error {
	for _, i := range k.incomplete {
		if i.Group == gv.Group && (gv.Version == "" || i.Version == gv.Version) {
			return &GroupUnknownError{GroupVersion: schema.GroupVersion{Group: i.Group, Version: i.Version}, Message: i.Message}
		}
	}
	return nil
}

// newKinds arranges what discovery found. It is the order of newDiscoveryRESTMapper of k8s.io/client-go/restmapper, and the
// choice of versions of ServerPreferredResources of k8s.io/client-go/discovery.
func newKinds(
	groups []metav1.APIGroup, resources map[schema.GroupVersion]*metav1.APIResourceList, failed map[schema.GroupVersion]error,
) *Kinds {
	k := &Kinds{}
	for gv, err := range failed {
		k.incomplete = append(k.incomplete, Incomplete{Group: gv.Group, Version: gv.Version, Reason: ReasonDiscovery, Message: discoveryFailure(err)})
	}
	k.incomplete = SortIncomplete(k.incomplete)
	groups = slices.Clone(groups)
	slices.SortStableFunc(groups, func(a, b metav1.APIGroup) int { return cmp.Compare(core(b), core(a)) })
	for i := range groups {
		k.add(&groups[i], resources)
	}
	return k
}

// core is 1 for the core group, which comes first whatever the server says.
func core(g metav1.APIGroup) int {
	if g.Name == "" {
		return 1
	}
	return 0
}

func (k *Kinds) add(group *metav1.APIGroup, resources map[schema.GroupVersion]*metav1.APIResourceList) {
	have := map[string]bool{}
	for _, version := range versions(group) {
		list := resources[schema.GroupVersion{Group: group.Name, Version: version}]
		if list == nil {
			continue
		}
		kinds := kindsOf(schema.GroupVersion{Group: group.Name, Version: version}, list.APIResources)
		k.served = append(k.served, kinds...)
		for _, kind := range kinds {
			if !have[kind.Resource] {
				have[kind.Resource] = true
				k.preferred = append(k.preferred, kind)
			}
		}
	}
}

// versions of a group, the preferred one first.
func versions(group *metav1.APIGroup) []string {
	var out []string
	for _, v := range group.Versions {
		if v.Version == group.PreferredVersion.Version {
			out = slices.Insert(out, 0, v.Version)
		} else {
			out = append(out, v.Version)
		}
	}
	return out
}

// kindsOf makes kinds of what one version serves.
func kindsOf(gv schema.GroupVersion, resources []metav1.APIResource) []Kind {
	status := map[string]bool{}
	for i := range resources {
		if name, ok := strings.CutSuffix(resources[i].Name, "/status"); ok {
			status[name] = true
		}
	}
	var out []Kind
	for i := range resources {
		r := &resources[i]
		if strings.Contains(r.Name, "/") || r.Name == "" || r.Kind == "" {
			continue
		}
		out = append(out, Kind{
			GroupVersionKind: gv.WithKind(r.Kind),
			Resource:         r.Name, Singular: r.SingularName, Namespaced: r.Namespaced, HasStatus: status[r.Name],
			ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
		})
	}
	return out
}

// discoveryFailure says why nothing is known of a group. What client-go calls stale is an aggregated API whose server gave
// the API server no answer.
func discoveryFailure(err error) string {
	if stale := (discovery.StaleGroupVersionError{}); errors.As(err, &stale) {
		return "its API server does not answer"
	}
	return err.Error()
}
