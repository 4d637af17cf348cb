package imports

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// audit is a Kubernetes audit log. What a write was answered with is the object that it made. Of what was read, the
// first complete list of a kind is used.
//
// An API server writes entries when they are complete, and several write one log each: see reorder for their order.
type audit struct {
	order reorder
	// known are the last states of objects, for deletions that are answered with a Status.
	known map[replay.Key]*replay.Record
	size  int64
	// streams are those of the resources that were seen, for entries without an object.
	streams map[schema.GroupVersionResource]int
	// listed has the streams of which a list was used.
	listed map[int]bool
}

func newAudit() *audit {
	return &audit{
		known: map[replay.Key]*replay.Record{}, streams: map[schema.GroupVersionResource]int{}, listed: map[int]bool{},
	}
}

func (a *audit) add(s *Source, doc *document) error {
	e := &auditEvent{}
	if err := utiljson.Unmarshal(doc.text, e); err != nil {
		return doc.syntaxError(err)
	}
	entries := []auditEvent{*e}
	switch e.Kind {
	case "Event":
	case "EventList":
		entries = e.Items
	default:
		return doc.errorf("it is no entry of an audit log, as those before it are")
	}
	for i := range entries {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		changes, skipped, err := entries[i].changes()
		if err != nil {
			return doc.errorf("%w", err)
		}
		if skipped != "" {
			s.skipped[skipped]++
		}
		for _, c := range changes {
			a.order.add(c)
		}
	}
	return a.flush(s, false)
}

func (a *audit) end(s *Source, _ bool) error { return a.flush(s, true) }

// flush emits the changes whose order is certain, or all.
func (a *audit) flush(s *Source, all bool) error {
	for c := a.order.next(all); c != nil; c = a.order.next(all) {
		if err := a.emit(s, c); err != nil {
			return err
		}
	}
	return nil
}

// emit emits the records of a change.
func (a *audit) emit(s *Source, c *change) error {
	if c.request != nil {
		r, err := c.record()
		if err != nil {
			return err
		}
		s.emit(r)
	}
	switch {
	case c.unseen:
		return nil
	case c.list != nil:
		return a.emitList(s, c)
	case c.part != nil:
		return a.emitPart(s, c)
	case c.object == nil:
		return a.emitGone(s, c)
	}
	return a.emitObject(s, c, c.object)
}

// emitObject emits the record of a change that made an object. A write that has changed nothing has the version that
// was known, and is no change.
func (a *audit) emitObject(s *Source, c *change, o *object) error {
	stream := s.streamOf(o, c.resource.Resource, c.time).Number
	a.streams[c.resource] = stream
	r := o.record(c.typeOf(o), stream)
	r.Time, r.Writer = c.time, c.writer
	before := a.known[r.Key()]
	if before != nil && r.Type == replay.TypeModified && before.UID == r.UID && r.ResourceVersion != "" &&
		before.ResourceVersion == r.ResourceVersion {
		return nil
	}
	s.emit(r)
	return a.keep(r)
}

// keep keeps the last state of an object.
func (a *audit) keep(r *replay.Record) error {
	k := r.Key()
	if before := a.known[k]; before != nil {
		a.size -= int64(len(before.Object))
		delete(a.known, k)
	}
	if r.Type != replay.TypeDeleted {
		a.known[k] = r
		a.size += int64(len(r.Object))
	}
	if a.size > maxCollected {
		return &replay.LimitError{What: "objects in the audit log", Size: a.size, Limit: maxCollected}
	}
	return nil
}

// emitList emits the first list of a stream. What was written before it, and was not yet written when the server read
// the list, is newer.
func (a *audit) emitList(s *Source, c *change) error {
	o := &object{gvk: c.list.kind}
	if len(c.list.items) > 0 {
		o = c.list.items[0]
	}
	stream := s.streamOf(o, c.resource.Resource, c.time).Number
	a.streams[c.resource] = stream
	if a.listed[stream] {
		return nil
	}
	a.listed[stream] = true
	s.emit(&replay.Record{Time: c.time, Type: replay.TypeListBegin, Stream: stream})
	for _, o := range c.list.items {
		if a.known[o.key(stream)] != nil {
			continue
		}
		r := o.record(replay.TypeListItem, stream)
		r.Time = c.time
		s.emit(r)
		if err := a.keep(r); err != nil {
			return err
		}
	}
	s.emit(&replay.Record{Time: c.time, Type: replay.TypeListEnd, Stream: stream, ResourceVersion: c.list.version})
	return nil
}

// knownTo returns the last state of the object that a change names; nil if it is not known.
func (a *audit) knownTo(c *change) *replay.Record {
	known := a.known[replay.Key{Stream: a.streams[c.resource], Namespace: c.ref.Namespace, Name: c.ref.Name}]
	if known == nil || c.ref.UID != "" && c.ref.UID != known.UID {
		return nil
	}
	return known
}

// emitGone emits the record of a deletion of which only the name is known, with the last state of the object.
func (a *audit) emitGone(s *Source, c *change) error {
	before := a.knownTo(c)
	if before == nil {
		s.skipped[replay.SkipNoContent]++
		return nil
	}
	r := before.Clone()
	r.Type, r.Time, r.Writer = replay.TypeDeleted, c.time, c.writer
	s.emit(r)
	return a.keep(r)
}

// objectPart is a part of an object that an answer has. One of its fields is set.
type objectPart struct {
	// metadata is a PartialObjectMetadata, which the garbage collector asks for.
	metadata []byte
	// scale is a Scale, by which autoscalers and `kubectl scale` change the number of replicas.
	scale []byte
}

// emitPart emits the record of a change of a part of an object: the last state of the object with this part.
func (a *audit) emitPart(s *Source, c *change) error {
	before := a.knownTo(c)
	if before == nil {
		reason := replay.SkipNoContent
		if c.part.scale != nil {
			reason = replay.SkipSubresource
		}
		s.skipped[reason]++
		return nil
	}
	text, err := c.part.mergedInto(before.Object)
	if err != nil {
		return fmt.Errorf("merging the answer into %q: %w", before.Name, err)
	}
	o, err := parseObject(text, s.streams.all[before.Stream-1].GVK())
	if err != nil {
		return fmt.Errorf("merging the answer into %q: %w", before.Name, err)
	}
	if o.meta.Name != before.Name || o.meta.Namespace != before.Namespace {
		s.skipped[replay.SkipNoContent]++ // the answer is about another object
		return nil
	}
	return a.emitObject(s, c, o)
}

// mergedInto returns an object with the part.
func (p *objectPart) mergedInto(text []byte) ([]byte, error) {
	var object struct {
		content  map[string]any
		metadata map[string]any
	}
	if err := utiljson.Unmarshal(text, &object.content); err != nil {
		return nil, err
	}
	object.metadata, _ = object.content["metadata"].(map[string]any)
	if p.metadata != nil {
		var part struct {
			Metadata map[string]any `json:"metadata"`
		}
		if err := utiljson.Unmarshal(p.metadata, &part); err != nil {
			return nil, err
		}
		object.content["metadata"] = part.Metadata
		return json.Marshal(object.content)
	}
	var part struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Spec struct {
			Replicas int64 `json:"replicas"`
		} `json:"spec"`
	}
	if err := utiljson.Unmarshal(p.scale, &part); err != nil {
		return nil, err
	}
	spec, _ := object.content["spec"].(map[string]any)
	if spec == nil || object.metadata == nil || part.Metadata.ResourceVersion == "" {
		return text, nil
	}
	// The generation counts changes of the spec.
	if generation, ok := object.metadata["generation"].(int64); ok && spec["replicas"] != part.Spec.Replicas {
		object.metadata["generation"] = generation + 1
	}
	object.metadata["resourceVersion"] = part.Metadata.ResourceVersion
	spec["replicas"] = part.Spec.Replicas
	return json.Marshal(object.content)
}
