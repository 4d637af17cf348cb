package cluster

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Progress is the progress of the lists of a Reader.
type Progress struct {
	// Kinds is the number of kinds of which a list was started, and Done of those of which no list is running.
	Kinds, Done int
	// Objects is the number of objects read, and Expected the least number that will be read, as far as the server
	// reports how many remain.
	Objects, Expected int
}

// progress sums up the lists of a reader. It may be used concurrently; the zero value is that of a reader without
// lists. mu guards its fields and those of its listProgress values.
type progress struct {
	mu        sync.Mutex
	lists     map[schema.GroupResource]int // running, by kind
	objects   int
	remaining int // objects, as reported by the servers
}

// Progress returns the progress of all lists that the reader has ever started. It may be called at any time.
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

// listProgress is the progress of one list.
type listProgress struct {
	parent    *progress
	kind      schema.GroupResource
	remaining int // as the last page reported
}

// begin adds a list of the kind. The caller must call end when the list has ended, also if it failed.
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

// addObjects counts n objects that were read.
func (l *listProgress) addObjects(n int) {
	l.parent.mu.Lock()
	defer l.parent.mu.Unlock()
	l.parent.objects += n
	l.setRemaining(l.remaining - n)
}

// endPage sets how many objects remain, by the metadata of a page.
func (l *listProgress) endPage(list metav1.ListMeta) {
	l.parent.mu.Lock()
	defer l.parent.mu.Unlock()
	left := 0
	if list.RemainingItemCount != nil {
		left = int(*list.RemainingItemCount)
	}
	l.setRemaining(left)
}

// setRemaining sets how many objects remain. parent.mu must be held.
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
