package timeline

import (
	"errors"
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Tree is what belongs to some objects: they, their dependents, the dependents of these and so on, at any time. It
// knows what was added to it so far: ReadAhead adds all of a recording.
type Tree struct {
	roots   []Name
	members map[types.UID]bool
	// kinds has for each kind which of the roots may be of it.
	kinds map[treeKind][]bool
}

// treeKind is a kind of a stream, of which more names are known than of that of an owner.
type treeKind struct {
	schema.GroupVersionKind
	recorded bool
}

// NewTree returns the tree below objects. A Namespace that is empty means any.
func NewTree(roots []Name) *Tree {
	return &Tree{roots: roots, members: map[types.UID]bool{}, kinds: map[treeKind][]bool{}}
}

// rootsOf returns which of the roots may be of a kind, by matches.
func (t *Tree) rootsOf(kind treeKind, matches func(name string) bool) []bool {
	out, ok := t.kinds[kind]
	if ok {
		return out
	}
	out = make([]bool, len(t.roots))
	for i, root := range t.roots {
		out[i] = matches(root.Kind)
	}
	if len(t.kinds) < maxTreeKinds {
		t.kinds[kind] = out
	}
	return out
}

// maxTreeKinds bounds the kinds that are kept: owner references may have any.
const maxTreeKinds = 1000

// scan reads a source to its end, and adds what belongs to the tree, in whatever order the source has it. The error is
// that of the source; what was read before it was added.
func (t *Tree) scan(source replay.Source) error {
	streams := map[int]*replay.Stream{}
	dependents := map[types.UID]map[types.UID]bool{}
	err := eachRecord(source, func(r *replay.Record) {
		if r.Type == replay.TypeStream {
			streams[r.Stream] = r.NewStream
		}
		stream := streams[r.Stream]
		if !r.Type.HasObject() || stream == nil || isEventStream(stream) {
			return
		}
		uid := uidOf(r)
		if t.add(r, stream) {
			return
		}
		for _, owner := range ownersOf(r.Object) {
			if dependents[owner.UID] == nil {
				dependents[owner.UID] = map[types.UID]bool{}
			}
			dependents[owner.UID][uid] = true
		}
	})
	next := slices.Collect(maps.Keys(t.members))
	for len(next) > 0 {
		last := next[len(next)-1]
		next = next[:len(next)-1]
		for uid := range dependents[last] {
			if !t.members[uid] {
				t.members[uid] = true
				next = append(next, uid)
			}
		}
	}
	return err
}

// eachRecord calls f for each record until the end.
func eachRecord(source replay.Source, f func(*replay.Record)) error {
	return eachRecordUntil(source, func(r *replay.Record) bool {
		f(r)
		return false
	})
}

// eachRecordUntil calls f for each record until it returns true, or until the end.
func eachRecordUntil(source replay.Source, f func(*replay.Record) bool) error {
	for {
		r, err := source.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || f(r) {
			return err
		}
	}
}

// add adds the object of a record if it belongs to the tree, and reports whether it does.
func (t *Tree) add(r *replay.Record, stream *replay.Stream) bool {
	uid := uidOf(r)
	if uid != "" && t.members[uid] {
		return true
	}
	is := t.isRoot(r, stream) || t.isBelow(r)
	if is && uid != "" {
		t.members[uid] = true
	}
	return is
}

func (t *Tree) isRoot(r *replay.Record, stream *replay.Stream) bool {
	kinds := t.rootsOf(treeKind{stream.GVK(), true}, func(name string) bool { return matchesKind(name, stream) })
	for i, root := range t.roots {
		if kinds[i] && root.Name == r.Name &&
			(root.Namespace == "" || root.Namespace == r.Namespace || !stream.Namespaced) {
			return true
		}
	}
	return false
}

func (t *Tree) isBelow(r *replay.Record) bool {
	for _, owner := range ownersOf(r.Object) {
		if t.members[owner.UID] {
			return true
		}
		for i, root := range t.roots {
			if root.Name != owner.Name || root.Namespace != "" && root.Namespace != r.Namespace && r.Namespace != "" {
				continue
			}
			kind := treeKind{schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind), false}
			if t.rootsOf(kind, func(name string) bool { return isKind(name, owner.APIVersion, owner.Kind) })[i] {
				return true
			}
		}
	}
	return false
}

// has reports whether an object belongs to the tree, as far as is known.
func (t *Tree) has(o *Object) bool {
	return o.UID != "" && t.members[o.UID] ||
		slices.ContainsFunc(t.roots, func(root Name) bool { return root.is(o) })
}

// uidOf returns the UID of the object of a record.
func uidOf(r *replay.Record) types.UID {
	if r.UID != "" {
		return types.UID(r.UID)
	}
	return types.UID(rawjson.TextAt(r.Object, "metadata", "uid"))
}
