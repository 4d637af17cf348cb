package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	if err := r.get(ctx, path, acceptPartial, func(a answer) error { return a.decodeMetadata(out) }); err != nil {
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
	if err := r.get(ctx, path, accept, func(a answer) error { return a.decode(out, nil) }); err != nil {
		return nil, err
	}
	return out.Annotations, nil
}

// objectPath refuses what would be the path of a list.
func objectPath(kind *Kind, namespace, name string) ([]string, error) {
	if name == "" || kind.Namespaced && namespace == "" {
		return nil, fmt.Errorf("reading %s %q: a name, and for a namespaced kind a namespace, is needed", kind, name)
	}
	return pathSegments(kind, namespace, name)
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
	path, err := pathSegments(&target.Kind, target.Namespace, "")
	if err != nil {
		return "", err
	}
	seen := seenUIDs{}
	progress := r.progress.begin(&target.Kind)
	defer progress.end()
	counted := func(page []metav1.PartialObjectMetadata) {
		progress.addObjects(len(page))
		each(page)
	}
	return pages(ctx, metav1.ListOptions{Limit: r.largePage}, func(options *metav1.ListOptions) (metav1.ListMeta, error) {
		p := metadataPage{several: len(seen) > 0, seen: seen, each: counted}
		err := r.stream(ctx, path, acceptPartialList, options, func(in io.Reader) error {
			defer p.flush()
			return r.readPage(in, &p)
		})
		progress.endPage(p.list)
		return p.list, err
	})
}

// seenUIDs holds the uids of a list of several pages, because a list that is begun again comes from the start.
type seenUIDs map[types.UID]struct{}

func (o seenUIDs) first(uid types.UID) bool {
	if _, again := o[uid]; again && uid != "" {
		return false
	}
	o[uid] = struct{}{}
	return true
}

// filter drops, in place, those that have come before.
func (o seenUIDs) filter(items []metav1.PartialObjectMetadata) []metav1.PartialObjectMetadata {
	kept := items[:0]
	for i := range items {
		if o.first(items[i].UID) {
			kept = append(kept, items[i])
		}
	}
	return kept
}

// batchSize is how many objects of a list are handed over at a time.
const batchSize = 256

// metadataPage makes batches, which may be kept, of a page of metadata. If there are several pages, an object that is known comes
// no second time.
type metadataPage struct {
	several bool // pages than this one
	seen    seenUIDs
	each    func([]metav1.PartialObjectMetadata)
	list    metav1.ListMeta
	batch   []metav1.PartialObjectMetadata
}

func (p *metadataPage) readJSON(a answer) error {
	var list metav1.PartialObjectMetadataList
	if err := a.decodeMetadataList(&list); err != nil {
		return err
	}
	p.begin(list.ListMeta)
	if p.several {
		list.Items = p.seen.filter(list.Items)
	}
	p.each(list.Items)
	return nil
}

func (p *metadataPage) begin(list metav1.ListMeta) {
	p.list = list
	p.several = p.several || list.Continue != ""
}

func (p *metadataPage) item(data []byte) error {
	if p.batch == nil {
		p.batch = make([]metav1.PartialObjectMetadata, 0, batchSize)
	}
	n := len(p.batch)
	p.batch = append(p.batch, metav1.PartialObjectMetadata{})
	err := decodePartial(data, &p.batch[n])
	if err != nil || p.several && !p.seen.first(p.batch[n].UID) {
		p.batch = p.batch[:n]
	}
	if err != nil {
		return unreadable(err)
	}
	if len(p.batch) == batchSize {
		p.flush()
	}
	return nil
}

func (p *metadataPage) flush() {
	if len(p.batch) > 0 {
		p.each(p.batch)
		p.batch = nil
	}
}

// isProtobuf tells by how the answer begins, which JSON cannot.
func (a answer) isProtobuf() bool {
	return bytes.HasPrefix(a, []byte(protobufPrefix))
}

// decodeMetadata decodes one object's metadata.
func (a answer) decodeMetadata(out *metav1.PartialObjectMetadata) error {
	if err := a.decode(out, func(message []byte) error { return decodePartial(message, out) }); err != nil {
		return err
	}
	dropLargeMetadata(out)
	return nil
}

// decodeMetadataList decodes a page in JSON and drops what nobody asks for.
func (a answer) decodeMetadataList(out *metav1.PartialObjectMetadataList) error {
	if err := a.decode(out, nil); err != nil {
		return err
	}
	for i := range out.Items {
		dropLargeMetadata(&out.Items[i])
	}
	return nil
}

// dropLargeMetadata drops what is big and what no graph needs.
func dropLargeMetadata(o *metav1.PartialObjectMetadata) {
	o.ManagedFields, o.Annotations = nil, nil
}

// decode decodes JSON into out, and protobuf by the function, unless that is nil. JSON may be of the whole object, from servers that do not know
// partial ones. Whatever is neither is no JSON.
func (a answer) decode(out any, protobuf func([]byte) error) error {
	var err error
	var message []byte
	decoder, decodes := out.(json.Unmarshaler)
	switch {
	case a.isProtobuf() && protobuf == nil:
		err = errors.New("protobuf, which was not asked for")
	case a.isProtobuf():
		if message, err = unwrapUnknown(a); err == nil {
			err = protobuf(message)
		}
	case decodes:
		err = decoder.UnmarshalJSON(a) // json would read all of it twice
	default:
		err = json.Unmarshal(a, out)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}
