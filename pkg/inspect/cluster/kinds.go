package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Kind is a kind of objects as a server serves it, in one version. It is immutable: copies share its slices.
type Kind struct {
	schema.GroupVersionKind
	// Resource is the plural name in the kind's URL; Singular is empty if the server does not have it.
	Resource, Singular string
	// Namespaced is false for cluster-scoped kinds.
	Namespaced bool
	// HasStatus reports whether the kind has the subresource status.
	HasStatus bool
	// ShortNames, Categories and Verbs are as the server lists them; each may be nil.
	ShortNames, Categories, Verbs []string
}

// GVR returns the group, version and resource, which name the kind in URLs.
func (k Kind) GVR() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.Resource) }

// GroupResource returns the name of the kind that is the same in all versions.
func (k Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// Can reports whether the kind supports the verb; it does not check the permissions of the user.
func (k Kind) Can(verb string) bool { return slices.Contains(k.Verbs, verb) }

// Collected reports whether the garbage collector watches the kind: the kind must support delete, list and watch, and
// Events are excluded. It mirrors GetDeletableResources of
// k8s.io/kubernetes/pkg/controller/garbagecollector/garbagecollector.go and DefaultIgnoredResources of
// k8s.io/kubernetes/pkg/controller/garbagecollector/graph_builder.go.
func (k Kind) Collected() bool {
	return k.Can("delete") && k.Can("list") && k.Can("watch") && !k.isEvent()
}

func (k Kind) isEvent() bool {
	return k.Resource == "events" && (k.Group == "" || k.Group == "events.k8s.io")
}

// String returns the kind as `kubectl get -o name` prints it: deployment.apps, pod.
func (k Kind) String() string {
	kind := strings.ToLower(k.Kind)
	if k.Group == "" {
		return kind
	}
	return kind + "." + k.Group
}

// Compare orders kinds by kind, group, resource and version, as trees and tables list them.
func (k Kind) Compare(other Kind) int {
	return cmp.Or(
		cmp.Compare(k.Kind, other.Kind),
		cmp.Compare(k.Group, other.Group),
		cmp.Compare(k.Resource, other.Resource),
		cmp.Compare(k.Version, other.Version),
	)
}

// Target is a kind to list.
type Target struct {
	Kind Kind
	// Namespace is the only one to read; empty reads all. It is ignored for cluster-scoped kinds.
	Namespace string
}

// namespace returns the only namespace to read; empty for all, and for cluster-scoped kinds.
func (t Target) namespace() string {
	if !t.Kind.Namespaced {
		return ""
	}
	return t.Namespace
}

// Compare orders targets by kind, then namespace.
func (t Target) Compare(other Target) int {
	return cmp.Or(t.Kind.Compare(other.Kind), cmp.Compare(t.Namespace, other.Namespace))
}

// Kinds are the kinds that a server served at the time of discovery. They are immutable and may be used concurrently.
type Kinds struct {
	// served has every version of every kind in the order in which names are resolved: groups as the server orders
	// them, the core group first; in a group the preferred version first.
	served     []Kind
	preferred  []Kind
	incomplete []Incomplete
}

// All returns every kind once, in its preferred version, sorted by Kind.Compare. The slice belongs to the caller.
func (k *Kinds) All() []Kind {
	out := slices.Clone(k.preferred)
	sort.Slice(out, func(i, j int) bool { return out[i].Compare(out[j]) < 0 })
	return out
}

// Collected returns the kinds that the garbage collector watches, sorted: see Kind.Collected.
func (k *Kinds) Collected() []Kind {
	return slices.DeleteFunc(k.All(), func(kind Kind) bool { return !kind.Collected() })
}

// With returns kinds which have others, too: those that the server does not serve and that users may ask for all the
// same. Of a kind that is served already, no other version is added.
func (k *Kinds) With(others []Kind) *Kinds {
	out := &Kinds{
		served: slices.Clone(k.served), preferred: slices.Clone(k.preferred), incomplete: k.incomplete,
	}
	for _, other := range others {
		there := func(s Kind) bool { return s.GroupResource() == other.GroupResource() }
		if !slices.ContainsFunc(k.served, there) {
			out.served, out.preferred = append(out.served, other), append(out.preferred, other)
		}
	}
	return out
}

// Incomplete returns the groups whose kinds are unknown, sorted; nil if there are none.
func (k *Kinds) Incomplete() []Incomplete { return slices.Clone(k.incomplete) }

// Serves reports whether the server has the resource in that version. It returns true also if discovery of the
// version failed, as the server may have it.
func (k *Kinds) Serves(r schema.GroupVersionResource) bool {
	return k.discoveryError(r.GroupVersion()) != nil ||
		slices.ContainsFunc(k.served, func(s Kind) bool { return s.GVR() == r })
}

// GroupUnknownError means that it is not known whether a kind is served, because discovery of its group failed.
type GroupUnknownError struct {
	GroupVersion schema.GroupVersion
	// Message is why discovery failed.
	Message string
}

func (e *GroupUnknownError) Error() string {
	return fmt.Sprintf("the kinds of %s are not known: %s", e.GroupVersion, e.Message)
}

// Lookup returns the kind of an owner reference, in any served version; without a version the preferred one. It
// returns false if the server has no such kind, and a *GroupUnknownError if discovery of its group failed. The kind's
// name must match exactly, or be all lower case, as for the mapper of the garbage collector (newDiscoveryRESTMapper
// of k8s.io/client-go/restmapper).
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
		if found == nil || s.Version == found.Version { // of two resources of a kind the mapper uses the last
			found = s
		}
	}
	if found != nil {
		return *found, true, nil
	}
	if list, ok := k.listKind(gvk); ok {
		return list, true, nil
	}
	return Kind{}, false, k.discoveryError(gvk.GroupVersion())
}

// listKind returns a made-up kind for the list of a kind, at a path that the server answers with 404. The mapper does
// the same: to the garbage collector an owner of kind ConfigMapList does not exist, rather than being of an unknown
// kind.
func (k *Kinds) listKind(gvk schema.GroupVersionKind) (Kind, bool) {
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

// discoveryError returns an error if discovery of the version, or without a version of any version of the group,
// failed.
func (k *Kinds) discoveryError(gv schema.GroupVersion) error {
	for _, i := range k.incomplete {
		if i.Group == gv.Group && (gv.Version == "" || i.Version == gv.Version) {
			unknown := schema.GroupVersion{Group: i.Group, Version: i.Version}
			return &GroupUnknownError{GroupVersion: unknown, Message: i.Message}
		}
	}
	return nil
}

// newKinds returns the result of discovery. Its order mirrors newDiscoveryRESTMapper of
// k8s.io/client-go/restmapper/discovery.go, and its preferred versions mirror ServerPreferredResourcesWithContext of
// k8s.io/client-go/discovery/discovery_client.go.
func newKinds(
	groups []metav1.APIGroup,
	resources map[schema.GroupVersion]*metav1.APIResourceList,
	failed map[schema.GroupVersion]error,
) *Kinds {
	k := &Kinds{}
	for gv, err := range failed {
		k.incomplete = append(k.incomplete, Incomplete{
			Group: gv.Group, Version: gv.Version, Reason: ReasonDiscovery, Message: discoveryFailure(err),
		})
	}
	k.incomplete = SortIncomplete(k.incomplete)
	groups = slices.Clone(groups)
	sort.SliceStable(groups, func(i, j int) bool { return core(groups[j]) < core(groups[i]) })
	for i := range groups {
		k.add(&groups[i], resources)
	}
	return k
}

// core returns 1 for the core group, which comes first whatever the server's order, else 0.
func core(g metav1.APIGroup) int {
	if g.Name == "" {
		return 1
	}
	return 0
}

// add appends the kinds of a group to served, and to preferred those of the first version that has them.
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

// versions returns the versions of a group, the preferred one first.
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

// kindsOf returns the kinds of one version.
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

// discoveryFailure returns why discovery of a group failed. A group that client-go calls stale is an aggregated API
// whose server did not answer the API server.
func discoveryFailure(err error) string {
	if stale := (discovery.StaleGroupVersionError{}); errors.As(err, &stale) {
		return "its API server does not answer"
	}
	return err.Error()
}

// UnknownKindError means that no kind has the name that was to be resolved, or that the kind of a manifest is not
// served.
type UnknownKindError struct {
	// Name is the name that was to be resolved; of a manifest, the version and kind: "apps/v1 Deployment".
	Name string
	// Kind is that of a manifest; empty if a name was to be resolved.
	Kind schema.GroupVersionKind
	// Known are all names that can be resolved, for suggestions: plural, singular and short names and categories,
	// sorted; for the kind of a manifest, the versions and kinds.
	Known []string
	// Incomplete are the groups for which discovery failed: the kind may be in one of them.
	Incomplete []Incomplete
}

func (e *UnknownKindError) Error() string {
	if e.Kind.Kind != "" {
		return fmt.Sprintf("no kind %q is served in version %q", e.Kind.Kind, e.Kind.GroupVersion())
	}
	return fmt.Sprintf("no kind %q is served", e.Name)
}

// Unknown returns the error of the kind of a manifest that Lookup does not find.
func (k *Kinds) Unknown(kind schema.GroupVersionKind) *UnknownKindError {
	name := func(gvk schema.GroupVersionKind) string { return gvk.GroupVersion().String() + " " + gvk.Kind }
	out := &UnknownKindError{Name: name(kind), Kind: kind, Incomplete: k.Incomplete()}
	for i := range k.preferred {
		out.Known = append(out.Known, name(k.preferred[i].GroupVersionKind))
	}
	slices.Sort(out.Known)
	out.Known = slices.Compact(out.Known)
	return out
}

// Resolve returns the kind for a name as kubectl does: by plural, singular or short name, or by kind, alone or as
// NAME.GROUP or NAME.VERSION.GROUP; a prefix of the group is enough. Of several kinds the first in the server's order
// is returned. Case does not matter. It mirrors Builder.mappingFor of k8s.io/cli-runtime/pkg/resource/builder.go. The
// error is an *UnknownKindError.
func (k *Kinds) Resolve(arg string) (Kind, error) {
	full, partial := schema.ParseResourceArg(strings.ToLower(arg))
	wanted := []schema.GroupVersionResource{partial.WithVersion("")}
	if full != nil {
		wanted = slices.Insert(wanted, 0, *full)
	}
	for _, names := range []func(*Kind) []string{fullNames, shortNames, kindNames} {
		for _, sameGroup := range []func(group, want string) bool{isGroup, strings.HasPrefix} {
			for _, w := range wanted {
				if kind, ok := k.first(w, names, sameGroup); ok {
					return kind, nil
				}
			}
		}
	}
	return Kind{}, &UnknownKindError{Name: arg, Known: k.names(), Incomplete: k.Incomplete()}
}

// ResolveAll is Resolve for names that may also be a category such as all, which has many kinds. These are returned
// in the server's order, each in its preferred version.
func (k *Kinds) ResolveAll(arg string) ([]Kind, error) {
	var out []Kind
	for i := range k.preferred {
		if slices.Contains(k.preferred[i].Categories, strings.ToLower(arg)) {
			out = append(out, k.preferred[i])
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	kind, err := k.Resolve(arg)
	if err != nil {
		return nil, err
	}
	return []Kind{kind}, nil
}

// first returns the first served kind with the wanted name, and whether there is one.
func (k *Kinds) first(
	want schema.GroupVersionResource, names func(*Kind) []string, sameGroup func(group, want string) bool,
) (Kind, bool) {
	for i := range k.served {
		s := &k.served[i]
		if want.Version != "" && s.Version != want.Version || want.Group != "" && !sameGroup(s.Group, want.Group) {
			continue
		}
		if want.Resource != "" && slices.Contains(names(s), want.Resource) {
			return *s, true
		}
	}
	return Kind{}, false
}

func isGroup(group, want string) bool { return group == want }

func fullNames(k *Kind) []string { return []string{k.Resource, k.singular()} }

// singular returns the server's singular name, or a guess for old and aggregated servers, which may have none.
func (k *Kind) singular() string {
	return cmp.Or(k.Singular, strings.ToLower(k.Kind))
}

func shortNames(k *Kind) []string { return k.ShortNames }

func kindNames(k *Kind) []string { return []string{strings.ToLower(k.Kind)} }

// names returns all names that can be resolved, sorted.
func (k *Kinds) names() []string {
	var out []string
	for i := range k.preferred {
		kind := &k.preferred[i]
		out = append(append(append(out, fullNames(kind)...), kind.ShortNames...), kind.Categories...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
