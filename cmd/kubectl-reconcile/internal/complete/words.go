package complete

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// Targets completes arguments as kubectl get takes them: TYPE[,TYPE…], then NAMEs that are not given yet; or TYPE/NAME.
func Targets(ctx context.Context, from Source, namespace string, args []string, typed string) []string {
	switch {
	case len(args) > 0 && !strings.Contains(args[0], "/"):
		return without(names(ctx, from, namespace, args[0]), args[1:])
	case strings.Contains(typed, "/"):
		return without(Objects(ctx, from, namespace, typed), args)
	case len(args) > 0: // beside TYPE/NAME, nothing else is allowed
		return withSlash(types(ctx, from, typed, false))
	}
	before := typed[:strings.LastIndex(typed, ",")+1]
	return prefixed(before, without(Types(ctx, from, typed[len(before):]), strings.Split(before, ",")))
}

// Selections completes arguments each of which is a comma list of TYPE and TYPE/NAME. more are other words that the
// only argument may be.
func Selections(
	ctx context.Context, from Source, namespace string, args []string, typed string, more ...string,
) []string {
	before := typed[:strings.LastIndex(typed, ",")+1]
	given, last := append(strings.Split(before, ","), args...), typed[len(before):]
	if strings.Contains(last, "/") {
		return prefixed(before, without(Objects(ctx, from, namespace, last), given))
	}
	words := without(Types(ctx, from, last), append(given, more...))
	if before == "" && len(args) == 0 {
		words = append(words, more...)
		slices.Sort(words)
	}
	return prefixed(before, words)
}

// Objects completes TYPE/NAME; as long as there is no slash, by TYPE and a slash.
func Objects(ctx context.Context, from Source, namespace, typed string) []string {
	typeName, _, slash := strings.Cut(typed, "/")
	if !slash {
		return withSlash(types(ctx, from, typed, false))
	}
	return prefixed(typeName+"/", names(ctx, from, namespace, typeName))
}

// names returns the names of the objects of the types of a comma list, each once.
func names(ctx context.Context, from Source, namespace, types string) []string {
	var out []string
	for name := range strings.SplitSeq(types, ",") {
		kinds := from.Resolve(ctx, name)
		if len(kinds) != 1 {
			continue // to list all kinds of a category takes too long
		}
		out = append(out, from.Names(ctx, target(kinds[0], namespace))...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Types returns the plural names of the kinds, with the group where two share a name, and the categories. If none of
// them begins as the word does, it returns the other names of the kinds; if the word has a dot, all with their groups.
func Types(ctx context.Context, from Source, word string) []string {
	return types(ctx, from, word, true)
}

func types(ctx context.Context, from Source, word string, categories bool) []string {
	kinds := from.Kinds(ctx)
	var out, others []string
	seen := map[string]int{}
	for _, k := range kinds {
		seen[k.Resource]++
		if categories {
			out = append(out, k.Categories...)
		}
		others = append(append(others, k.ShortNames...), cmp.Or(k.Singular, strings.ToLower(k.Kind)))
	}
	for _, k := range kinds {
		if k.Group != "" && (seen[k.Resource] > 1 || strings.Contains(word, ".")) {
			out = append(out, k.GroupResource().String())
		} else {
			out = append(out, k.Resource)
		}
	}
	if !slices.ContainsFunc(out, func(name string) bool { return strings.HasPrefix(name, word) }) {
		out = others
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// GroupVersionKinds returns the kinds as kubectl apply --prune-allowlist takes them: GROUP/VERSION/KIND, where the
// group may be core.
func GroupVersionKinds(ctx context.Context, from Source) []string {
	var out []string
	for _, k := range from.Kinds(ctx) {
		out = append(out, cmp.Or(k.Group, "core")+"/"+k.Version+"/"+k.Kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Fields completes the path of a field of the object that the arguments name, TYPE/NAME or TYPE NAME.
func Fields(ctx context.Context, from Source, namespace string, args []string, typed string) []string {
	typeName, name, ok := "", "", false
	switch len(args) {
	case 1:
		typeName, name, ok = strings.Cut(args[0], "/")
	case 2:
		typeName, name, ok = args[0], args[1], true
	}
	if !ok {
		return nil
	}
	kinds := from.Resolve(ctx, typeName)
	if len(kinds) != 1 {
		return nil
	}
	obj := from.Object(ctx, target(kinds[0], namespace), name)
	if obj == nil {
		return nil
	}
	return fields.CompletePath(typed, obj)
}

// without returns the words, in place, without those that have been given.
func without(words, given []string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return slices.Contains(given, word) })
}

// prefixed returns words with a prefix.
func prefixed(prefix string, words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = prefix + word
	}
	return out
}

// withSlash returns words with a slash at their ends.
func withSlash(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = word + "/"
	}
	return out
}
