package tap

import (
	"cmp"
	"slices"

	"k8s.io/client-go/tools/cache"
)

// GetStore implements cache.SharedInformer.
func (i *informer) GetStore() cache.Store {
	if i.tap.listOrder == nil {
		return i.SharedIndexInformer.GetStore()
	}
	return i.GetIndexer()
}

// GetIndexer implements cache.SharedIndexInformer. With Options.ListOrder it lists objects in that order.
func (i *informer) GetIndexer() cache.Indexer {
	next := i.SharedIndexInformer.GetIndexer()
	if i.tap.listOrder == nil {
		return next
	}
	return orderedIndexer{next, i.tap.listOrder}
}

// orderedIndexer is an indexer that lists objects in a fixed order. Methods that it does not declare are those of the
// wrapped indexer.
type orderedIndexer struct {
	cache.Indexer
	order func(namespace, name string) string
}

var _ cache.Indexer = orderedIndexer{}

// List implements cache.Store.
func (o orderedIndexer) List() []any { return o.sorted(o.Indexer.List()) }

// Index implements cache.Indexer.
func (o orderedIndexer) Index(name string, obj any) ([]any, error) {
	list, err := o.Indexer.Index(name, obj)
	return o.sorted(list), err
}

// ByIndex implements cache.Indexer.
func (o orderedIndexer) ByIndex(name, value string) ([]any, error) {
	list, err := o.Indexer.ByIndex(name, value)
	return o.sorted(list), err
}

// sorted sorts a list, which the indexer made for the caller.
func (o orderedIndexer) sorted(list []any) []any {
	if len(list) < 2 {
		return list
	}
	type keyed struct {
		key string
		obj any
	}
	all := make([]keyed, len(list))
	for n, obj := range list {
		all[n].obj = obj
		if m := metadata(obj); m != nil {
			all[n].key = o.order(m.GetNamespace(), m.GetName())
		}
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	for n := range all {
		list[n] = all[n].obj
	}
	return list
}
