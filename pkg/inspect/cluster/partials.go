package cluster

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// batchSize is how many objects of a list are handed over at a time.
const batchSize = 256

// partials makes batches, which may be kept, of a page of metadata. If there are several pages, an object that is known comes
// no second time.
type partials struct {
	more  bool // pages than this one
	known onceOnly
	each  func([]metav1.PartialObjectMetadata)
	list  metav1.ListMeta
	batch []metav1.PartialObjectMetadata
}

func (p *partials) readJSON(a answer) error {
	var list metav1.PartialObjectMetadataList
	if err := a.partialList(&list); err != nil {
		return err
	}
	p.begin(list.ListMeta)
	if p.more {
		list.Items = p.known.filter(list.Items)
	}
	p.each(list.Items)
	return nil
}

func (p *partials) begin(list metav1.ListMeta) {
	p.list = list
	p.more = p.more || list.Continue != ""
}

func (p *partials) item(data []byte) error {
	if p.batch == nil {
		p.batch = make([]metav1.PartialObjectMetadata, 0, batchSize)
	}
	n := len(p.batch)
	p.batch = append(p.batch, metav1.PartialObjectMetadata{})
	err := decodePartial(data, &p.batch[n])
	if err != nil || p.more && !p.known.first(p.batch[n].UID) {
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

func (p *partials) flush() {
	if len(p.batch) > 0 {
		p.each(p.batch)
		p.batch = nil
	}
}
