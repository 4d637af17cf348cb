package ownertree

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

const (
	// quietPeriod is how long nothing must change before changed is called, so that a burst of changes is one call.
	quietPeriod = 100 * time.Millisecond
	// maxDelay is how long the call is put off at most, when there is always another change.
	maxDelay = time.Second
)

// Touched reports whether an object is new, has changed or has gone since the graph before; an object of either graph
// may be asked for.
type Touched func(*Node) bool

// Watch follows everything in the scope and calls changed with a graph of it: once when everything has been listed or
// has failed, then after every change, or burst of changes. Each graph is a separate snapshot, which changed may keep,
// Confirm and Ascend; changes that happen meanwhile are in the next call. Many are of no interest, such as those of the
// leases that every node renews: Touched reports which objects they are. What cannot be read at the time is in
// Graph.Incomplete.
//
// It returns when ctx ends, with nil, or with the error of changed. It watches the kinds that were served when kinds
// was made; objects of kinds that come later are not seen.
func Watch(
	ctx context.Context, reader *cluster.Reader, kinds *cluster.Kinds, scope Scope, changed func(*Graph, Touched) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	targets := scope.targets(kinds)
	w := newWatchState(kinds, scope, len(targets))
	for _, target := range targets {
		following.Go(func() {
			reader.Follow(ctx, target, func(c cluster.Change[*metav1.PartialObjectMetadata]) { w.change(target, c) })
		})
	}
	for more := w.waitListed(ctx); more; more = w.waitQuiet(ctx) {
		if err := changed(w.snapshot()); err != nil {
			return err
		}
	}
	return nil
}

// watchState is what is known of the scope.
type watchState struct {
	kinds *cluster.Kinds
	scope Scope
	// signal holds one token if something has changed since the last one was taken.
	signal chan struct{}
	ready  chan struct{} // closed when every target has been listed or has failed

	mu       sync.Mutex
	builder  *builder
	reported map[targetKey]bool
	pending  int // targets of which nothing has been heard
	objects  map[targetKey]map[objectKey]*Node
	failed   map[targetKey]failure
	touched  map[types.UID]bool // since the last snapshot; the empty uid means all
}

// failure is why what is known of a target is not all there is, or may be old.
type failure struct {
	why     cluster.Incomplete
	partial bool // there are objects that cannot be read, until all are listed again
}

type targetKey struct {
	kind      *cluster.Kind
	namespace string
}

func newWatchState(kinds *cluster.Kinds, scope Scope, targets int) *watchState {
	w := &watchState{
		kinds: kinds, scope: scope, pending: targets,
		signal: make(chan struct{}, 1), ready: make(chan struct{}),
		builder:  &builder{graph: newGraph(kinds, scope)},
		reported: map[targetKey]bool{},
		objects:  map[targetKey]map[objectKey]*Node{},
		failed:   map[targetKey]failure{},
		touched:  map[types.UID]bool{},
	}
	if targets == 0 {
		close(w.ready)
	}
	return w
}

// waitListed returns false if ctx ends before every target has been reported.
func (w *watchState) waitListed(ctx context.Context) bool {
	select {
	case <-w.ready:
	case <-ctx.Done():
		return false
	}
	select {
	case <-w.signal: // what has arrived so far is in the first snapshot
	default:
	}
	return ctx.Err() == nil
}

// waitQuiet waits for a change, and then until nothing has changed for a short while, or the change is overdue. It
// returns false if ctx ends first.
func (w *watchState) waitQuiet(ctx context.Context) bool {
	select {
	case <-w.signal:
	case <-ctx.Done():
		return false
	}
	late := time.NewTimer(maxDelay)
	defer late.Stop()
	still := time.NewTimer(quietPeriod)
	defer still.Stop()
	for {
		select {
		case <-w.signal:
			still.Reset(quietPeriod)
		case <-still.C:
			return true
		case <-late.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// snapshot makes a graph of what is known. Nodes are copied, for a graph links and judges its own.
func (w *watchState) snapshot() (*Graph, Touched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := newGraph(w.kinds, w.scope)
	var nodes []*Node
	for _, objects := range w.objects {
		for _, n := range objects {
			c := *n
			c.Kind, c.Owners = g.share(*n.Kind), slices.Clone(n.Owners)
			nodes = append(nodes, &c)
		}
	}
	for _, f := range w.failed {
		g.missing([]cluster.Incomplete{f.why})
	}
	g.build(nodes)
	w.builder.forget(len(nodes))
	touched := w.touched
	w.touched = map[types.UID]bool{}
	return g, func(n *Node) bool { return touched[""] || touched[n.UID] }
}

// notify notes that something is known of the target, or has changed. The caller holds mu.
func (w *watchState) notify(key targetKey) {
	if !w.reported[key] {
		w.reported[key] = true
		if w.pending--; w.pending == 0 {
			close(w.ready)
		}
	}
	select {
	case w.signal <- struct{}{}:
	default: // one is enough
	}
}

// change notes what has happened to the objects of a target.
func (w *watchState) change(target cluster.Target, c cluster.Change[*metav1.PartialObjectMetadata]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := w.key(target)
	before := w.failed[key]
	switch {
	case c.Err != nil && (len(c.Objects) > 0 || !before.partial):
		w.failed[key] = failure{target.Incomplete(c.Err), len(c.Objects) > 0}
	case c.Err == nil && (c.Event == "" || !before.partial):
		delete(w.failed, key)
	}
	switch {
	case c.Event == watch.Bookmark, c.Err != nil && len(c.Objects) == 0: // its objects are as they were
		if w.failed[key].why.Reason != before.why.Reason {
			w.notify(key)
		}
		return
	case c.Event == "":
		w.objects[key] = make(map[objectKey]*Node, len(c.Objects))
		w.touched[""] = true
	}
	for _, object := range c.Objects {
		id := objectKey{key.kind, object.Namespace, object.Name}
		if c.Event == watch.Deleted {
			delete(w.objects[key], id)
		} else {
			w.objects[key][id] = w.builder.node(key.kind, object)
		}
		if c.Event != "" {
			w.touched[object.UID] = true
		}
	}
	w.notify(key)
}

func (w *watchState) key(target cluster.Target) targetKey {
	return targetKey{w.builder.graph.share(target.Kind), target.Namespace}
}
