package memstore

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3/metrics"
)

// GetList implements storage.Interface. As with the watch cache, the items of a resource kept as Objects share what
// they point to with the store: they must not be mutated.
func (r *resource) GetList(ctx context.Context, key string, opts storage.ListOptions, listObj runtime.Object) error {
	key, err := r.key(key, opts.Recursive)
	if err != nil {
		return err
	}
	items, err := itemsOf(listObj)
	if err != nil {
		return err
	}
	version, from, err := storage.ValidateListOptions(key, r.versioner, opts)
	if err != nil {
		return err
	}
	if opts.ResourceVersion == "0" && r.table.mode != Uncached {
		// the watch cache answers lists at any version whole: this mirrors computeListLimit of
		// k8s.io/apiserver/pkg/storage/cacher/cacher.go
		opts.Predicate.Limit = 0
	}
	began := time.Now()
	state, err := r.state(key, version, from, opts)
	metrics.RecordEtcdRequest("list", r.groupResource, err, began)
	if err != nil {
		return err
	}
	entries := state.entries(key, from, opts.Recursive)
	read := 0
	defer func() {
		metrics.RecordStorageListMetrics(r.groupResource, "", read, read, items.Len())
		metrics.RecordListLatency(r.groupResource, false, began)
	}()
	read, err = r.fillItems(ctx, items, entries, newItemFunc(listObj, items.Type().Elem()), opts.Predicate)
	if err != nil {
		return err
	}
	last := ""
	if read > 0 {
		last = entries[read-1].key
	}
	next, remaining, err := storage.PrepareContinueToken(last, key, signed(state.revision), int64(len(entries)),
		read < len(entries), opts)
	if err != nil {
		return err
	}
	if err := r.versioner.UpdateList(listObj, state.revision, next, remaining); err != nil {
		return err
	}
	opts.Predicate.SetShardInfoOnList(listObj)
	return nil
}

// itemsOf returns the settable slice of listObj's items.
func itemsOf(listObj runtime.Object) (reflect.Value, error) {
	ptr, err := meta.GetItemsPtr(listObj)
	if err != nil {
		return reflect.Value{}, err
	}
	items, err := conversion.EnforcePtr(ptr)
	if err != nil {
		return reflect.Value{}, fmt.Errorf("need ptr to slice: %w", err)
	}
	if items.Kind() != reflect.Slice {
		return reflect.Value{}, fmt.Errorf("need ptr to slice: %v", items.Kind())
	}
	return items, nil
}

// newItemFunc returns a function that returns empty items. Those of an unstructured list have the list's version, to be
// decoded to it.
func newItemFunc(listObj runtime.Object, elem reflect.Type) func() runtime.Object {
	if list, ok := listObj.(*unstructured.UnstructuredList); ok {
		if version := list.GetAPIVersion(); version != "" {
			return func() runtime.Object {
				return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version}}
			}
		}
	}
	return func() runtime.Object {
		item, _ := reflect.TypeAssert[runtime.Object](reflect.New(elem))
		return item
	}
}

// state returns the state that a list is read from: that of exactly the given version, or the current one for 0, which
// must not be older than the options require. continued is the key that the list continues at, if it does.
func (r *resource) state(prefix string, version int64, continued string, opts storage.ListOptions) (snapshot, error) {
	state := r.table.latest()
	if version <= 0 {
		return state, r.atLeast(minimum(opts), state.revision)
	}
	wanted := uint64(version)
	if wanted > state.revision {
		return snapshot{}, storage.NewTooLargeResourceVersionError(wanted, state.revision,
			r.table.mode.retryAfterSeconds())
	}
	if wanted == state.revision {
		return state, nil
	}
	state, ok := r.table.at(wanted)
	if !ok {
		return snapshot{}, listExpired(continued, prefix, opts.Predicate.Continue != "")
	}
	return state, nil
}

// minimum returns the version that a list must not be older than, "" for none.
func minimum(opts storage.ListOptions) string {
	if opts.Predicate.Continue != "" {
		return ""
	}
	return opts.ResourceVersion
}

// entries returns those under a prefix from the key from on, where "" is the beginning; without recursive that of the
// key itself.
func (s snapshot) entries(key, from string, recursive bool) []*entry {
	if !recursive {
		if e, ok := s.tree.Get(&entry{key: key}); ok {
			return []*entry{e}
		}
		return nil
	}
	var entries []*entry
	s.tree.AscendGreaterOrEqual(&entry{key: max(key, from)}, func(e *entry) bool {
		if !strings.HasPrefix(e.key, key) {
			return false
		}
		entries = append(entries, e)
		return true
	})
	return entries
}

// fillItems sets items to the objects of entries that pred matches, up to its limit, and returns how many entries it
// looked at. Corrupt objects are left out and reported together at the end, if the resource allows for them.
func (r *resource) fillItems(ctx context.Context, items reflect.Value, entries []*entry, newItem func() runtime.Object,
	pred storage.SelectionPredicate,
) (read int, err error) {
	list := newItemList(items.Type(), len(entries), &pred)
	corrupt := corruptList{enabled: r.corruptible}
	for _, e := range entries {
		if pred.Limit > 0 && int64(list.n) >= pred.Limit {
			break
		}
		if ctx.Err() != nil {
			return read, storage.NewTimeoutError(e.key, "request did not complete within requested timeout")
		}
		read++
		obj, err := r.representation.view(ctx, e, newItem)
		if err != nil {
			if corrupt.add(e.key, err) {
				break
			}
			continue
		}
		if !list.all && !matches(&pred, obj) {
			continue
		}
		if err := list.add(obj); err != nil {
			return read, fmt.Errorf("listing %q: %w", e.key, err)
		}
	}
	items.Set(list.slice.Slice(0, list.n))
	return read, corrupt.err(r.groupResource)
}

// itemList is a growing slice of a type known at run time. reflect.Append would allocate for every item.
type itemList struct {
	slice reflect.Value
	n     int  // items in slice
	all   bool // nothing is filtered out
}

// newItemList returns a list of type typ with room for what pred selects from so many entries, as far as that is known.
func newItemList(typ reflect.Type, entries int, pred *storage.SelectionPredicate) *itemList {
	room, all := entries, pred.Empty()
	if !all {
		room = min(room, 16)
	}
	if limit := pred.Limit; limit > 0 && limit < int64(room) {
		room = int(limit)
	}
	return &itemList{slice: reflect.MakeSlice(typ, room, room), all: all}
}

// add appends a shallow copy of obj.
func (l *itemList) add(obj runtime.Object) error {
	item := reflect.ValueOf(obj).Elem()
	if typ := l.slice.Type(); item.Type() != typ.Elem() {
		return fmt.Errorf("stored as %v, requested as %v", item.Type(), typ.Elem())
	}
	if l.n == l.slice.Len() {
		grown := reflect.MakeSlice(l.slice.Type(), 2*l.n+1, 2*l.n+1)
		reflect.Copy(grown, l.slice)
		l.slice = grown
	}
	l.slice.Index(l.n).Set(item)
	l.n++
	return nil
}

// matches reports whether pred selects obj. As in etcd3, an object whose attributes cannot be read is not selected.
func matches(pred *storage.SelectionPredicate, obj runtime.Object) bool {
	ok, err := pred.Matches(obj)
	return err == nil && ok
}

// signed returns revision as the int64 that parts of upstream's API take.
func signed(revision uint64) int64 {
	if revision > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(revision)
}
