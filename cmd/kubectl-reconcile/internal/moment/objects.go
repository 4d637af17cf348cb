package moment

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Object is an object at a moment.
type Object struct {
	Kind   cluster.Kind
	Record *replay.Record
}

// Key identifies an object, in whatever version and by whatever stream it was recorded.
type Key struct {
	Resource        schema.GroupResource
	Namespace, Name string
}

// Key returns the key of the object.
func (o *Object) Key() Key {
	return Key{canonical(o.Kind.GroupResource()), o.Record.Namespace, o.Record.Name}
}

// Decode returns the object with its kind.
func (o *Object) Decode() (*unstructured.Unstructured, error) {
	fields := map[string]any{}
	if err := utiljson.Unmarshal(o.Record.Object, &fields); err != nil {
		return nil, fmt.Errorf("decoding %s %q: %w", o.Kind, o.Record.Name, err)
	}
	obj := &unstructured.Unstructured{Object: fields}
	obj.SetGroupVersionKind(o.Kind.GroupVersionKind)
	return obj, nil
}

// Objects returns the objects of a state, each once, sorted by kind, namespace and name.
func Objects(state *replay.State) []Object {
	at := map[Key]int{}
	var out []Object
	for key, r := range state.Objects() {
		one := Object{kindOf(&state.Stream(key.Stream).Stream), r}
		index, known := at[one.Key()]
		switch {
		case !known:
			at[one.Key()] = len(out)
			out = append(out, one)
		case snapshot.IsNewer(r.ResourceVersion, out[index].Record.ResourceVersion):
			out[index] = one
		}
	}
	slices.SortFunc(out, func(a, b Object) int {
		return cmp.Or(a.Kind.Compare(b.Kind), cmp.Compare(a.Record.Namespace, b.Record.Namespace),
			cmp.Compare(a.Record.Name, b.Record.Name))
	})
	return out
}

// kindOf returns the kind of a stream.
func kindOf(s *replay.Stream) cluster.Kind {
	return cluster.Kind{
		GroupVersionKind: s.GVK(), Resource: s.Resource, Singular: s.Singular, Namespaced: s.Namespaced,
		HasStatus: s.HasStatus, ShortNames: slices.Clone(s.ShortNames), Categories: slices.Clone(s.Categories),
		Verbs: slices.Clone(s.Verbs),
	}
}

// Kinds returns the kinds that were recorded up to any of several states, and those that a cluster has in any case.
// Names that were not recorded, as by imports, are those of the latter.
func Kinds(states ...*replay.State) *cluster.Kinds {
	kinds, usual := &cluster.Kinds{}, cluster.UsualKinds()
	for _, state := range states {
		for _, s := range state.Streams() {
			kind := kindOf(&s.Stream)
			for i := range usual {
				if usual[i].GroupResource() == kind.GroupResource() && len(kind.ShortNames) == 0 {
					kind.Singular, kind.ShortNames = usual[i].Singular, usual[i].ShortNames
				}
			}
			kinds = kinds.With([]cluster.Kind{kind})
		}
	}
	return kinds.With(usual)
}

// Recorded reports whether a kind was recorded up to any of several states.
func Recorded(kind cluster.Kind, states ...*replay.State) bool {
	return slices.ContainsFunc(states, func(state *replay.State) bool {
		return slices.ContainsFunc(state.Streams(), func(s *replay.StreamState) bool {
			return canonical(s.GroupResource()) == canonical(kind.GroupResource())
		})
	})
}
