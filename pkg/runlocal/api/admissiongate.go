package api

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"k8s.io/apiserver/pkg/admission"
)

// errNoAdmission answers writes that come before the admission plugins exist.
var errNoAdmission = errors.New("admission is not ready")

// admissionGate stands in for the admission plugins while the API groups are installed, so that the plugins can be built
// when their informers are filled already. Several of upstream's plugins look at their informers once when they are built
// and then only every 100 ms; built first, they would hold readiness up by two or three of these rounds.
//
// It also knows how many writes are inside the plugins: upstream goes on with a write when its client has left, and the
// quota's workers must not end before it has.
type admissionGate struct {
	chain atomic.Pointer[admission.Interface]

	mu     sync.Mutex // orders inside.Add before the Wait of shut
	closed bool
	inside sync.WaitGroup
}

// enter counts a write in, unless the gate is shut. leave must follow then.
func (g *admissionGate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside.Add(1)
	}
	return !g.closed
}

func (g *admissionGate) leave() { g.inside.Done() }

// shut refuses further writes, and returns when those inside are out.
func (g *admissionGate) shut() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}

var (
	_ admission.MutationInterface   = (*admissionGate)(nil)
	_ admission.ValidationInterface = (*admissionGate)(nil)
)

// open lets writes through to chain.
func (g *admissionGate) open(chain admission.Interface) { g.chain.Store(&chain) }

// Handles is true until the plugins are there, so that Admit gets to refuse.
func (g *admissionGate) Handles(operation admission.Operation) bool {
	chain := g.chain.Load()
	return chain == nil || (*chain).Handles(operation)
}

// Admit runs the mutating plugins.
func (g *admissionGate) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	chain := g.chain.Load()
	if chain == nil {
		return admission.NewForbidden(a, errNoAdmission)
	}
	mutating, ok := (*chain).(admission.MutationInterface)
	if !ok {
		return nil
	}
	if !g.enter() {
		return errStopped
	}
	defer g.leave()
	return mutating.Admit(ctx, a, o)
}

// Validate runs the validating plugins.
func (g *admissionGate) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	chain := g.chain.Load()
	if chain == nil {
		return admission.NewForbidden(a, errNoAdmission)
	}
	validating, ok := (*chain).(admission.ValidationInterface)
	if !ok {
		return nil
	}
	if !g.enter() {
		return errStopped
	}
	defer g.leave()
	return validating.Validate(ctx, a, o)
}
