package timeline

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// matchesKind reports whether a user may mean the kind of a stream by a name: its plural or singular name, a short
// name, a category or its kind, alone or followed by .GROUP or .VERSION.GROUP. Case does not matter.
func matchesKind(name string, s *replay.Stream) bool {
	name = strings.ToLower(name)
	for _, known := range namesOf(s) {
		rest, ok := strings.CutPrefix(name, known)
		switch {
		case !ok:
		case rest == "":
			return true
		case rest[0] != '.':
		case s.Group != "" && (strings.HasPrefix(s.Group, rest[1:]) || rest[1:] == s.Version+"."+s.Group):
			return true
		case rest[1:] == s.Version:
			return true
		}
	}
	return slices.Contains(s.Categories, name)
}

// namesOf returns the names of the kind of a stream, in lower case, with the usual short names of kinds of the API: a
// stream of `kubectl get` does not have them.
func namesOf(s *replay.Stream) []string {
	kind := strings.ToLower(s.Kind)
	out := append([]string{strings.ToLower(s.Resource), kind}, s.ShortNames...)
	if s.Singular != "" && s.Singular != kind {
		out = append(out, s.Singular)
	}
	if len(s.ShortNames) == 0 {
		out = append(out, cluster.ShortNames(s.GVK().GroupKind())...)
	}
	return slices.DeleteFunc(out, func(name string) bool { return name == "" })
}

// KindNames returns the names by which the kinds of streams may be named, for suggestions.
func KindNames(streams []replay.Stream) []string {
	var out []string
	for i := range streams {
		out = append(out, namesOf(&streams[i])...)
		out = append(out, streams[i].Categories...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// HasKind reports whether a user may mean the kind of one of the streams by a name.
func HasKind(name string, streams []replay.Stream) bool {
	return slices.ContainsFunc(streams, func(s replay.Stream) bool { return matchesKind(name, &s) })
}

// isKind reports whether a user may mean a kind by a name, where nothing but the kind is known: as for an owner or the
// object of an Event that was not recorded.
func isKind(name, apiVersion, kind string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || kind == "" {
		return false
	}
	return matchesKind(name, &replay.Stream{
		Group: gv.Group, Version: gv.Version, Kind: kind, Resource: cluster.GuessResource(kind),
	})
}
