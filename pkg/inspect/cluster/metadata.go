package cluster

import (
	"bytes"
	"cmp"
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

// Metadata reads the metadata of one object, without managedFields and annotations. The error is the server's, for
// the functions of apierrors and for Reason.
func (r *Reader) Metadata(
	ctx context.Context, kind Kind, namespace, name string,
) (*metav1.PartialObjectMetadata, error) {
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

// Annotations reads the annotations of one object; nil if it has none. The error is as for Metadata.
func (r *Reader) Annotations(ctx context.Context, kind Kind, namespace, name string) (map[string]string, error) {
	path, err := objectPath(&kind, namespace, name)
	if err != nil {
		return nil, err
	}
	out := &metav1.PartialObjectMetadata{}
	accept := acceptJSON + asPartial + "," + acceptJSON
	if err := r.get(ctx, path, accept, func(a answer) error { return a.decodeAnnotated(out) }); err != nil {
		return nil, err
	}
	return out.Annotations, nil
}

// objectPath returns the path of an object. An empty name or namespace is an error: the result would be the path of a
// list.
func objectPath(kind *Kind, namespace, name string) ([]string, error) {
	if name == "" || kind.Namespaced && namespace == "" {
		return nil, fmt.Errorf("reading %s %q: a name, and for a namespaced kind a namespace, is needed", kind, name)
	}
	return pathSegments(kind, namespace, name)
}

// ListMetadata lists many targets in parallel, in pages, and calls each for every object, from one goroutine at a
// time, in no particular order. It calls each once for an object, even if a list had to be restarted because its
// continue token expired; then an object that was deleted meanwhile may be among them. Objects have no managedFields
// and annotations, and belong to the caller.
//
// It returns what could not be listed, sorted; each may have been called for some of its pages. The error is not nil
// only if ctx has ended.
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
func (r *Reader) listMetadata(
	ctx context.Context, target Target, each func([]metav1.PartialObjectMetadata),
) (string, error) {
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
	first := metav1.ListOptions{Limit: r.largePage}
	var left unusable
	version, err := pages(ctx, first, func(options *metav1.ListOptions) (metav1.ListMeta, error) {
		p := metadataPage{several: len(seen) > 0, seen: seen, each: counted}
		err := r.stream(ctx, path, acceptPartialList, options, func(in io.Reader) error {
			defer p.flush()
			return r.readPage(ctx, in, &p, &left)
		})
		progress.endPage(p.list)
		return p.list, err
	})
	return version, cmp.Or(err, left.err())
}

// seenUIDs holds the uids of a list of several pages, because a list that is restarted has the first objects again.
type seenUIDs map[types.UID]struct{}

// first reports whether the uid is seen for the first time. Objects without a uid, which some servers return, always
// are.
func (o seenUIDs) first(uid types.UID) bool {
	if _, again := o[uid]; again && uid != "" {
		return false
	}
	o[uid] = struct{}{}
	return true
}

// filter removes, in place, the items that were seen before.
func (o seenUIDs) filter(items []metav1.PartialObjectMetadata) []metav1.PartialObjectMetadata {
	kept := items[:0]
	for i := range items {
		if o.first(items[i].UID) {
			kept = append(kept, items[i])
		}
	}
	return kept
}

// batchSize is how many objects of a list are passed on at a time.
const batchSize = 256

// metadataPage implements pageDecoder. It calls each with batches of the page's objects, which belong to the callee.
// If the list has several pages, objects that were seen before are left out.
type metadataPage struct {
	several bool // pages than this one
	seen    seenUIDs
	each    func([]metav1.PartialObjectMetadata)
	list    metav1.ListMeta
	batch   []metav1.PartialObjectMetadata
}

func (p *metadataPage) readJSON(ctx context.Context, a answer, left *unusable) error {
	var items []metav1.PartialObjectMetadata
	var list metav1.ListMeta
	err := a.eachItem(ctx, &list, left, func(item json.RawMessage) error {
		var object metav1.PartialObjectMetadata
		if err := answer(item).decodeMetadata(&object); err != nil {
			return err
		}
		items = append(items, object)
		return nil
	})
	if err != nil {
		return err
	}
	p.begin(list)
	if p.several {
		items = p.seen.filter(items)
	}
	p.each(items)
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

// flush passes on the objects read so far, also before an error: callers get what was readable.
func (p *metadataPage) flush() {
	if len(p.batch) > 0 {
		p.each(p.batch)
		p.batch = nil
	}
}

// isProtobuf reports whether the answer begins with the prefix of protobuf, with which JSON cannot begin.
func (a answer) isProtobuf() bool {
	return bytes.HasPrefix(a, []byte(protobufPrefix))
}

// decodeMetadata decodes one object's metadata, without managedFields and annotations.
func (a answer) decodeMetadata(out *metav1.PartialObjectMetadata) error {
	if a.isProtobuf() {
		return a.decode(out, func(message []byte) error { return decodePartial(message, out) })
	}
	if err := a.decodeAnnotated(out); err != nil {
		return err
	}
	dropLargeMetadata(out)
	return nil
}

// decodeAnnotated decodes one object's metadata in JSON without managedFields: an error in them does not matter.
func (a answer) decodeAnnotated(out *metav1.PartialObjectMetadata) error {
	var object struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			metav1.ObjectMeta `json:",inline"`
			ManagedFields     ignored `json:"managedFields"` // hides those of ObjectMeta
		} `json:"metadata"`
	}
	if err := a.decode(&object, nil); err != nil {
		return err
	}
	*out = metav1.PartialObjectMetadata{TypeMeta: object.TypeMeta, ObjectMeta: object.Metadata.ObjectMeta}
	return nil
}

// dropLargeMetadata removes managedFields and annotations, which are most of an object's metadata.
func dropLargeMetadata(o *metav1.PartialObjectMetadata) {
	o.ManagedFields, o.Annotations = nil, nil
}

// ignored is a field whose value is skipped.
type ignored struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

// decode decodes JSON into out, and protobuf with the function, which may be nil if the request did not accept
// protobuf. JSON may be the whole object, from servers that do not support PartialObjectMetadata.
func (a answer) decode(out any, protobuf func([]byte) error) error {
	var err error
	var message []byte
	decoder, decodes := out.(json.Unmarshaler)
	switch {
	case a.isProtobuf() && protobuf == nil:
		err = errors.New("protobuf, which was not requested")
	case a.isProtobuf():
		if message, err = unwrapUnknown(a); err == nil {
			err = protobuf(message)
		}
	case decodes:
		err = decoder.UnmarshalJSON(a) // json.Unmarshal would scan all of it first
	default:
		err = json.Unmarshal(a, out)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}
