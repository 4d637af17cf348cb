package controllers

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// CollectorView is how much the garbage collector sees of all objects.
type CollectorView struct {
	// Collecting is true if the collector sees all that can be listed. It processes no key before.
	Collecting bool
	// Waiting are the kinds that it has not listed yet, sorted. It is empty if Collecting is true, and before the first
	// discovery.
	Waiting []schema.GroupResource
	// LeftOut are the kinds that cannot be listed, sorted; the resource "*" means all of an API group whose discovery
	// fails. The collector works without them, but it deletes no dependent of an owner of these kinds, and completes no
	// orphaning, because dependents could be of these kinds.
	LeftOut []UnlistedKind
}

// equal reports whether the views are the same, whatever the errors of the kinds left out.
func (v CollectorView) equal(other CollectorView) bool {
	return v.Collecting == other.Collecting && slices.Equal(v.Waiting, other.Waiting) &&
		slices.EqualFunc(v.LeftOut, other.LeftOut, func(a, b UnlistedKind) bool { return a.Resource == b.Resource })
}

const (
	// syncPollInterval is how often a controller that waits for its lists checks them.
	syncPollInterval = 5 * time.Millisecond
	// waitingReportInterval is how often a change of CollectorView.Waiting is reported at most.
	waitingReportInterval = 3 * time.Second
)

// collectorGate lets the garbage collector's workers take keys only while the collector sees all that can be listed. A
// collector that begins before lets owners go whose dependents it has not seen, and deletes these dependents later.
// kube-controller-manager waits for half a minute (initialSyncTimeout), and not at all for kinds that are added later.
type collectorGate struct {
	tap       *tap.Controller
	delivered func() bool // reports whether the collector has been given all that was listed
	kinds     *servedKinds
	onChange  func(CollectorView) // Deps.Collector; not nil

	openVersion atomic.Uint64 // the version of the kinds that the gate is open for; 0 while it is closed
}

// isOpen reports whether a worker may take a key. It closes as soon as Kinds.Changes changes, not only at the next
// update.
func (g *collectorGate) isOpen() bool {
	version, ok := g.kinds.current()
	return ok && version == g.openVersion.Load()
}

// run opens and closes the gate, and reports the view to onChange, until ctx ends.
func (g *collectorGate) run(ctx context.Context) {
	var last CollectorView
	reported := time.Now()
	for interval := syncPollInterval; sleep(ctx, interval); {
		view := g.update()
		g.tap.SetPreparing(!view.Collecting)
		interval = syncPollInterval
		if view.Collecting {
			interval = kindsPollInterval
			g.tap.GateOpened()
		}
		// What the collector waits for changes often, and mostly the wait is over before a user could read it.
		if due := view.Collecting || time.Since(reported) >= waitingReportInterval; due && !view.equal(last) {
			last, reported = view, time.Now()
			g.onChange(view)
		}
	}
}

// update opens or closes the gate, and returns the collector's view.
func (g *collectorGate) update() CollectorView {
	waiting, version, ok := g.kinds.unlisted()
	view := CollectorView{Waiting: waiting, LeftOut: g.kinds.lists.allLeftOut()}
	view.Collecting = ok && len(waiting) == 0 && (version == g.openVersion.Load() || g.delivered())
	if !view.Collecting {
		version = 0
	}
	g.openVersion.Store(version)
	return view
}
