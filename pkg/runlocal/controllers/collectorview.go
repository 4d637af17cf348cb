package controllers

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// CollectorView is what the garbage collector sees of the objects that there are.
type CollectorView struct {
	// Collecting reports whether it sees all that can be listed: it works on no key before it does.
	Collecting bool
	// Waiting are the kinds that it has not listed yet, sorted; none if it is Collecting, and before it knows which there are.
	Waiting []schema.GroupResource
	// LeftOut are the kinds that cannot be listed, sorted; "*" stands for those of an API group whose discovery fails. The
	// collector goes on without them, but deletes nothing for an owner of theirs that seems to be absent, and orphans no
	// dependents, for some could be among them.
	LeftOut []UnlistedKind
}

// equal reports whether a user would see no difference.
func (v CollectorView) equal(other CollectorView) bool {
	return v.Collecting == other.Collecting && slices.Equal(v.Waiting, other.Waiting) &&
		slices.EqualFunc(v.LeftOut, other.LeftOut, func(a, b UnlistedKind) bool { return a.Resource == b.Resource })
}

const (
	// syncLook is how often a controller that waits for its lists looks how far they are.
	syncLook = 5 * time.Millisecond
	// waitingLook is how often a change of what the collector waits for is told.
	waitingLook = 3 * time.Second
)

// collectorGate lets the garbage collector's workers take keys while the collector sees all that can be listed. A collector
// that begins before that releases owners of whose dependents it has not seen all, and these are then taken for garbage:
// kube-controller-manager's waits for half a minute (initialSyncTimeout), and not at all for kinds that are added later.
type collectorGate struct {
	tap   *tap.Controller
	whole func() bool // whether what was listed has been handed on to the collector
	kinds *servedKinds
	told  func(CollectorView) // Deps.Collector; not nil

	open atomic.Uint64 // the version of the kinds that the gate is open for; 0 while it is shut
}

// isOpen reports whether a worker may take a key. It is exact about kinds that come, as far as their changes are known.
func (g *collectorGate) isOpen() bool {
	version, ok := g.kinds.current()
	return ok && version == g.open.Load()
}

// keep opens and shuts the gate until ctx ends.
func (g *collectorGate) keep(ctx context.Context) {
	var last CollectorView
	told := time.Now()
	for look := syncLook; pause(ctx, look); {
		view := g.look()
		g.tap.SetPreparing(!view.Collecting)
		look = syncLook
		if view.Collecting {
			look = kindsLook
			g.tap.GateOpened()
		}
		// What is waited for changes often, and mostly is over before anybody wants to know.
		if worth := view.Collecting || time.Since(told) >= waitingLook; worth && !view.equal(last) {
			last, told = view, time.Now()
			g.told(view)
		}
	}
}

// look opens or shuts the gate.
func (g *collectorGate) look() CollectorView {
	waiting, version, ok := g.kinds.unlisted()
	view := CollectorView{Waiting: waiting, LeftOut: g.kinds.lists.allLeftOut()}
	view.Collecting = ok && len(waiting) == 0 && (version == g.open.Load() || g.whole())
	if !view.Collecting {
		version = 0
	}
	g.open.Store(version)
	return view
}
