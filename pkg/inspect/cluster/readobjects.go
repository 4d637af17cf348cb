package cluster

import (
	"context"
	"maps"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ObjectReader reads objects in full. Reader implements it.
type ObjectReader interface {
	Object(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error)
	ListObjects(ctx context.Context, target Target, o ListOptions, each func(*unstructured.Unstructured) error) error
}

var _ ObjectReader = (*Reader)(nil)

// ObjectID identifies an object that was listed before.
type ObjectID struct {
	// Kind must not be nil.
	Kind *Kind
	// Namespace is empty for cluster-scoped kinds.
	Namespace, Name string
	UID             types.UID
	// Labels are those that it had; nil if that is not known.
	Labels map[string]string
}

// ReadOptions choose how ReadObjects reads.
type ReadOptions struct {
	// Whole keeps every field of listed objects: see ListOptions.Whole. Objects read one by one are always whole.
	Whole bool
	// Existing returns how many objects of a kind that have all these labels are known to exist in a namespace, which
	// decides whether a list is cheaper than single reads. If it is nil, all but single objects are read by lists.
	Existing func(kind *Kind, namespace string, having map[string]string) int
	// AllNamespaces reports that Existing knows the objects of all namespaces. Then many lists of one kind may be read
	// as one.
	AllNamespaces bool
}

const (
	// listWorthwhile is how many times more objects a list may hold than are wanted of it, to be cheaper than single
	// reads.
	listWorthwhile = 20
	// manyReads is of how many objects on single reads are avoided, if labels that all of them have, and few others,
	// make a list possible.
	manyReads = 32
	// joinWorthwhile is the least number of lists of a kind that are read as one list of all namespaces. A user who may
	// read the single lists may not be permitted that one.
	joinWorthwhile = 4
	// handlers is how many goroutines handle the objects of a list while the next ones arrive, handlerBacklog how many
	// objects may wait for them.
	handlers       = 2
	handlerBacklog = 256
)

// ReadObjects reads objects in full, by a list of their kind and namespace where that is cheaper, else one by one. It
// calls handle with the index in ids of each object, and with nil for one that no longer exists: also if another object
// has its name by now. Handle is called from several goroutines at once; it must not wait for requests of r.
//
// It returns what could not be read, sorted; handle is not called for those objects. When ctx ends some are missing
// without a word, and so the caller must check ctx.
func ReadObjects(
	ctx context.Context, r ObjectReader, ids []ObjectID, o ReadOptions, handle func(int, *unstructured.Unstructured),
) []Incomplete {
	read := &objectsRead{reader: r, ids: ids, options: o, handle: handle}
	var running sync.WaitGroup
	for _, l := range read.lists() {
		running.Go(func() { read.list(ctx, l) })
	}
	running.Wait()
	return SortIncomplete(read.incomplete)
}

// ReadEach is ReadObjects without lists. The reader bounds how many reads are under way at a time.
func ReadEach(
	ctx context.Context, r ObjectReader, ids []ObjectID, handle func(int, *unstructured.Unstructured),
) []Incomplete {
	read := &objectsRead{reader: r, ids: ids, handle: handle}
	all := make([]int, len(ids))
	for i := range ids {
		all[i] = i
	}
	read.each(ctx, all)
	return SortIncomplete(read.incomplete)
}

// objectsRead is one call of ReadObjects.
type objectsRead struct {
	reader  ObjectReader
	ids     []ObjectID
	options ReadOptions
	handle  func(int, *unstructured.Unstructured)

	mu         sync.Mutex // guards incomplete
	incomplete []Incomplete
}

// listKey is a list that may be read; the empty namespace is for cluster-scoped kinds, or all namespaces.
type listKey struct {
	resource  schema.GroupVersionResource
	namespace string
}

// objectList is what is wanted of a list, as indexes of ids, and how many objects the list is known to hold.
type objectList struct {
	target   Target
	wanted   []int
	existing int
}

// lists groups the objects by the list that they are in.
func (r *objectsRead) lists() map[listKey]*objectList {
	out := map[listKey]*objectList{}
	for i, id := range r.ids {
		key := listKey{id.Kind.GVR(), id.Namespace}
		l := out[key]
		if l == nil {
			l = &objectList{target: Target{Kind: *id.Kind, Namespace: id.Namespace}}
			if r.options.Existing != nil {
				l.existing = r.options.Existing(id.Kind, id.Namespace, nil)
			}
			out[key] = l
		}
		l.wanted = append(l.wanted, i)
	}
	if r.options.AllNamespaces {
		joinLists(out)
	}
	return out
}

// joinLists makes one list of those of many namespaces, where at least half of it is wanted.
func joinLists(lists map[listKey]*objectList) {
	type sum struct{ lists, wanted, existing int }
	sums := map[schema.GroupVersionResource]sum{}
	for key, l := range lists {
		s := sums[key.resource]
		sums[key.resource] = sum{s.lists + 1, s.wanted + len(l.wanted), s.existing + l.existing}
	}
	for key, l := range lists {
		s := sums[key.resource]
		if key.namespace == "" || s.lists < joinWorthwhile || 2*s.wanted < s.existing {
			continue
		}
		all := lists[listKey{key.resource, ""}]
		if all == nil {
			all = &objectList{target: Target{Kind: l.target.Kind}}
			lists[listKey{key.resource, ""}] = all
		}
		all.wanted, all.existing = append(all.wanted, l.wanted...), all.existing+l.existing
		delete(lists, key)
	}
}

// list reads the list if that is cheaper than reading the objects one by one.
func (r *objectsRead) list(ctx context.Context, l *objectList) {
	kind := &l.target.Kind
	options := ListOptions{Whole: r.options.Whole}
	if len(l.wanted)*listWorthwhile < l.existing {
		options.Labels = r.sharedLabels(l)
	}
	if len(l.wanted) == 1 || len(l.wanted)*listWorthwhile < l.existing && options.Labels == "" || !kind.Can("list") {
		r.each(ctx, l.wanted)
		return
	}
	missing, err := r.listed(ctx, l, options)
	switch {
	case err == nil && options.Labels != "":
		r.each(ctx, missing) // their labels may have changed
	case err == nil:
		for _, i := range missing {
			r.handle(i, nil)
		}
	case ctx.Err() != nil:
	case kind.Namespaced && l.target.Namespace == "" && apierrors.IsForbidden(err):
		r.each(ctx, l.wanted)
	default:
		r.failed(l.target, err)
	}
}

// sharedLabels selects what is wanted of a list by the labels that all of it has; empty if that is little, or others
// have these labels, too.
func (r *objectsRead) sharedLabels(l *objectList) string {
	if len(l.wanted) < manyReads {
		return ""
	}
	shared := maps.Clone(r.ids[l.wanted[0]].Labels)
	for _, i := range l.wanted {
		maps.DeleteFunc(shared, func(key, value string) bool { return r.ids[i].Labels[key] != value })
	}
	most := len(l.wanted) * listWorthwhile
	if len(shared) == 0 || r.options.Existing(&l.target.Kind, l.target.Namespace, shared) > most {
		return ""
	}
	return labels.Set(shared).String()
}

// listed reads the list, and returns those wanted that are not in it.
func (r *objectsRead) listed(ctx context.Context, l *objectList, options ListOptions) (missing []int, err error) {
	type arrival struct {
		index  int
		object *unstructured.Unstructured
	}
	wanted := make(map[types.UID]int, len(l.wanted))
	for _, i := range l.wanted {
		wanted[r.ids[i].UID] = i
	}
	arrived := make(chan arrival, handlerBacklog)
	var handling sync.WaitGroup
	for range handlers {
		handling.Go(func() {
			for a := range arrived {
				r.handle(a.index, a.object)
			}
		})
	}
	err = r.reader.ListObjects(ctx, l.target, options, func(obj *unstructured.Unstructured) error {
		if i, ok := wanted[obj.GetUID()]; ok {
			delete(wanted, obj.GetUID())
			arrived <- arrival{i, obj}
		}
		return nil
	})
	close(arrived)
	handling.Wait()
	for _, i := range wanted {
		missing = append(missing, i)
	}
	return missing, err
}

// each reads objects one by one.
func (r *objectsRead) each(ctx context.Context, indexes []int) {
	var running sync.WaitGroup
	for _, i := range indexes {
		running.Go(func() {
			id := r.ids[i]
			obj, err := r.reader.Object(ctx, *id.Kind, id.Namespace, id.Name)
			switch {
			case err == nil && obj.GetUID() == id.UID:
				r.handle(i, obj)
			case err == nil, apierrors.IsNotFound(err):
				r.handle(i, nil)
			case ctx.Err() == nil:
				r.failed(Target{Kind: *id.Kind, Namespace: id.Namespace}, err)
			}
		})
	}
	running.Wait()
}

func (r *objectsRead) failed(target Target, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.incomplete = append(r.incomplete, target.Incomplete(err))
}
