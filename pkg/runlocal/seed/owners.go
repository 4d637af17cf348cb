package seed

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readOwners reads the owners of what was read, and theirs, that were not read yet: objects in no namespace, or of a
// kind that is not copied otherwise. To the garbage collector of the copy, one that is not there does not exist. An
// owner that could not be read is recorded as incomplete: see runlocal for what becomes of its dependents.
func (r *reading) readOwners(ctx context.Context) error {
	tried := map[key]bool{}
	for ctx.Err() == nil {
		missing := r.missingOwners(tried)
		if len(missing) == 0 {
			return nil
		}
		var running sync.WaitGroup
		for _, owner := range missing {
			tried[key{owner.Kind.GroupResource(), owner.Namespace, owner.Name}] = true
			running.Go(func() {
				// One that does not exist is left to the garbage collector; other errors are recorded.
				_ = r.get(ctx, owner.Kind, owner.Namespace, owner.Name)
			})
		}
		running.Wait()
	}
	return nil
}

// missingOwners returns the owners, in no order, that were neither read nor tried, and whose kind the cluster serves.
func (r *reading) missingOwners(tried map[key]bool) []Root {
	var out []Root
	found := map[key]bool{}
	for _, object := range r.objects {
		for _, owner := range object.owners {
			if r.uids[owner.UID] {
				continue
			}
			kind, ok := r.kind(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
			if !ok || kind.Namespaced && object.Namespace == "" || !kind.Can("get") {
				continue
			}
			root := Root{Kind: r.decodable(kind), Name: owner.Name}
			if kind.Namespaced {
				root.Namespace = object.Namespace
			}
			k := key{kind.GroupResource(), root.Namespace, root.Name}
			// One of that name and another uid was read: the owner is gone.
			if _, other := r.objects[k]; other || tried[k] || found[k] {
				continue
			}
			found[k] = true
			out = append(out, root)
		}
	}
	return out
}
