package cluster

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Progress is how far the lists of a Reader are.
type Progress struct {
	// Kinds counts those that were begun to be listed, and Done those of which no list is under way.
	Kinds, Done int
	// Objects counts the objects that they have brought, and Expected those that they will bring at least, as far as
	// the server says how many are left.
	Objects, Expected int
}

// progress adds up the lists of a reader. It may be used concurrently; its zero value is that of a reader that has
// listed nothing.
type progress struct {
	mu        sync.Mutex
	lists     map[schema.GroupResource]int // under way, by kind
	objects   int
	remaining int // that are known to come
}

// Progress returns how far the reader's lists are, all of them that it has ever begun. It may be called at any time.
func (r *Reader) Progress() Progress {
	p := &r.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	out := Progress{Kinds: len(p.lists), Objects: p.objects, Expected: p.objects + p.remaining}
	for _, n := range p.lists {
		if n == 0 {
			out.Done++
		}
	}
	return out
}

// listProgress is one list's part in it.
type listProgress struct {
	parent    *progress
	kind      schema.GroupResource
	remaining int // as the last page said
}

func (p *progress) begin(kind *Kind) *listProgress {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &listProgress{parent: p, kind: kind.GroupResource()}
	if p.lists == nil {
		p.lists = map[schema.GroupResource]int{}
	}
	p.lists[l.kind]++
	return l
}

// addObjects counts objects that came.
func (l *listProgress) addObjects(n int) {
	l.parent.mu.Lock()
	defer l.parent.mu.Unlock()
	l.parent.objects += n
	l.setRemaining(l.remaining - n)
}

// pageDecoder takes what a page says of those that come after it.
func (l *listProgress) endPage(list metav1.ListMeta) {
	l.parent.mu.Lock()
	defer l.parent.mu.Unlock()
	left := 0
	if list.RemainingItemCount != nil {
		left = int(*list.RemainingItemCount)
	}
	l.setRemaining(left)
}

// setRemaining sets how many are left. of.mu must be held.
func (l *listProgress) setRemaining(left int) {
	left = max(left, 0)
	l.parent.remaining += left - l.remaining
	l.remaining = left
}

func (l *listProgress) end() {
	l.parent.mu.Lock()
	defer l.parent.mu.Unlock()
	l.setRemaining(0)
	l.parent.lists[l.kind]--
}
