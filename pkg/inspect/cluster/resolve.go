package cluster

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// UnknownKindError says that no kind has the name.
type UnknownKindError struct {
	// Name is what was asked for.
	Name string
	// Known are names that would have done: plural, singular and short ones and categories, sorted. It is for suggestions.
	Known []string
	// Incomplete are the groups whose kinds are unknown: the kind may be in one of them.
	Incomplete []Incomplete
}

func (e *UnknownKindError) Error() string { return fmt.Sprintf("no kind %q is served", e.Name) }

// Resolve finds the kind that a user means as kubectl does (mappingFor of k8s.io/cli-runtime/pkg/resource): by plural,
// singular or short name, or by kind, alone or as NAME.GROUP or NAME.VERSION.GROUP; the group may be the beginning of one. Of
// several the first in the server's order counts. Case does not matter. The error is an *UnknownKindError.
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

// ResolveAll is Resolve for names that may also be a category such as all, which stands for many kinds. Those are in the
// server's order, each in its preferred version.
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

// first returns the first kind served that has the wanted name.
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

// singular is the server's word, or a guess for old servers and aggregated ones that have none.
func (k *Kind) singular() string {
	if k.Singular != "" {
		return k.Singular
	}
	_, guess := meta.UnsafeGuessKindToResource(k.GroupVersionKind)
	return guess.Resource
}

func shortNames(k *Kind) []string { return k.ShortNames }

func kindNames(k *Kind) []string { return []string{strings.ToLower(k.Kind)} }

// names lists what may be asked for.
func (k *Kinds) names() []string {
	var out []string
	for i := range k.preferred {
		kind := &k.preferred[i]
		out = append(append(append(out, fullNames(kind)...), kind.ShortNames...), kind.Categories...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
