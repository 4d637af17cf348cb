package cluster

import (
	"context"
	"fmt"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	asPartial         = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asPartialList     = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	acceptPartial     = "application/vnd.kubernetes.protobuf" + asPartial + ",application/json" + asPartial
	acceptPartialList = "application/vnd.kubernetes.protobuf" + asPartialList + ",application/json" + asPartialList
)

// Metadata reads the metadata of one object, without managedFields and annotations. The error is the server's: apierrors
// tells what it is, Reason names it.
func (r *Reader) Metadata(ctx context.Context, kind Kind, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	path, err := objectPath(&kind, namespace, name)
	if err != nil {
		return nil, err
	}
	out := &metav1.PartialObjectMetadata{}
	if err := r.get(ctx, path, acceptPartial, func(a answer) error { return a.partial(out) }); err != nil {
		return nil, err
	}
	return out, nil
}

// Annotations reads the annotations of one object; nil if it has none. The error is as that of Metadata.
func (r *Reader) Annotations(ctx context.Context, kind Kind, namespace, name string) (map[string]string, error) {
	path, err := objectPath(&kind, namespace, name)
	if err != nil {
		return nil, err
	}
	out := &metav1.PartialObjectMetadata{}
	accept := acceptJSON + asPartial + "," + acceptJSON
	if err := r.get(ctx, path, accept, func(a answer) error { return a.into(out, nil) }); err != nil {
		return nil, err
	}
	return out.Annotations, nil
}

// objectPath refuses what would be the path of a list.
func objectPath(kind *Kind, namespace, name string) ([]string, error) {
	if name == "" || kind.Namespaced && namespace == "" {
		return nil, fmt.Errorf("reading %s %q: a name, and for a namespaced kind a namespace, is needed", kind, name)
	}
	return segments(kind, namespace, name)
}

// ListMetadata lists many kinds at once, in pages, and hands each object to each, which is called from one goroutine at a
// time, in no particular order. An object comes once, even if the list had to be begun again because it took too long for
// the server to go on with; then one that was deleted meanwhile may be among them. Objects come without managedFields and
// annotations and may be kept.
//
// What could not be listed is returned, sorted; some pages of it may have been handed over. The error is not nil only if ctx
// has ended.
func (r *Reader) ListMetadata(
	ctx context.Context, targets []Target, each func(Target, *metav1.PartialObjectMetadata),
) ([]Incomplete, error) {
	var (
		mu      sync.Mutex
		missing []Incomplete
		running sync.WaitGroup
	)
	for _, target := range targets {
		running.Go(func() {
			_, err := r.listMetadata(ctx, target, func(page []metav1.PartialObjectMetadata) {
				mu.Lock()
				defer mu.Unlock()
				for i := range page {
					each(target, &page[i])
				}
			})
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				missing = append(missing, target.Incomplete(err))
			}
		})
	}
	running.Wait()
	return SortIncomplete(missing), context.Cause(ctx)
}

// listMetadata lists one target and returns the resource version of the list.
func (r *Reader) listMetadata(ctx context.Context, target Target, each func([]metav1.PartialObjectMetadata)) (string, error) {
	path, err := segments(&target.Kind, target.Namespace, "")
	if err != nil {
		return "", err
	}
	known := onceOnly{}
	progress := r.progress.begin(&target.Kind)
	defer progress.end()
	counted := func(page []metav1.PartialObjectMetadata) {
		progress.read(len(page))
		each(page)
	}
	return pages(ctx, metav1.ListOptions{Limit: r.largePage}, func(options *metav1.ListOptions) (metav1.ListMeta, error) {
		p := partials{more: len(known) > 0, known: known, each: counted}
		err := r.stream(ctx, path, acceptPartialList, options, func(in io.Reader) error {
			defer p.flush()
			return r.readPage(in, &p)
		})
		progress.page(p.list)
		return p.list, err
	})
}

// onceOnly holds the uids of a list of several pages, because a list that is begun again comes from the start.
type onceOnly map[types.UID]struct{}

func (o onceOnly) first(uid types.UID) bool {
	if _, again := o[uid]; again && uid != "" {
		return false
	}
	o[uid] = struct{}{}
	return true
}

// filter drops, in place, those that have come before.
func (o onceOnly) filter(items []metav1.PartialObjectMetadata) []metav1.PartialObjectMetadata {
	kept := items[:0]
	for i := range items {
		if o.first(items[i].UID) {
			kept = append(kept, items[i])
		}
	}
	return kept
}
