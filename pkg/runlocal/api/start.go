package api

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
)

// Start builds a server and returns it when it is ready for every request: admission's caches are filled, and the
// namespaces and objects that a cluster starts with are there. The roles and flow schemas of a cluster follow in the
// background. The server runs until Stop is called or ctx ends; in both cases Stop or Wait must be called to wait for it.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	var listener *serving.Server
	if o.Listen != "" { // first of all, so that a port in use is reported before anything is built
		var err error
		asked := serving.Options{Address: o.Listen, Name: "kube-apiserver", ClientCA: o.ClientCA}
		if listener, err = serving.Listen(ctx, asked); err != nil {
			return nil, err
		}
	}
	// The server must still answer its own controllers while it stops, so it does not end with ctx but by Stop.
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	plugins, endPlugins := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{
		backend:    newBackend(o),
		transport:  &transport{base: life},
		listener:   listener,
		life:       life,
		end:        end,
		plugins:    plugins,
		endPlugins: endPlugins,
		steps:      newStartSteps(),
		logs:       newLogCheck(),
		done:       make(chan struct{}),
		unserved: sync.OnceValues(func() ([]byte, error) {
			_, ca, err := serving.SelfSigned("kube-apiserver", "localhost")
			return ca, err
		}),
	}
	s.stop = sync.OnceValue(s.shutdown)
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.forget.Store(new(context.AfterFunc(ctx, func() { _ = s.Stop() }))) // Stop keeps its error for Wait
	return s, nil
}

// start does all of Start that can fail halfway. Only its waiting ends with ctx.
func (s *Server) start(ctx context.Context, o Options) error {
	a, err := newAssembly(o, s)
	if err != nil {
		return err
	}
	if err := a.build(s); err != nil {
		return err
	}
	s.transport.serve(s.generic.Handler)
	if err := s.openAdmission(ctx, a); err != nil {
		return err
	}
	if err := s.runHooks(); err != nil {
		return err
	}
	if err := createSystemObjects(ctx, a.client, a.address); err != nil {
		return err
	}
	s.steps.finish(stepNamespaces, stepTokenTracking, stepPriorityClasses, stepServiceRange, stepService)
	s.background(a)
	return nil
}

// background starts what Start does not wait for.
func (s *Server) background(a *assembly) {
	s.tasks.Go(func() { createPolicy(s.life, a.client, s.steps.finish) })
	s.tasks.Go(func() { keepRegistrations(s.life, a.loopback, s.custom, a.priorities(), s.steps.finish) })
	s.tasks.Go(func() { a.publishAuthorities(s.life, func() { s.steps.finish(stepAuthentication) }) })
	s.tasks.Go(func() { a.repairAddresses(s.life, func() { s.steps.finish(stepAddresses) }) })
	s.tasks.Go(func() { s.logs.run(s.life) })
	if a.accounts != nil {
		s.tasks.Go(func() { a.accounts.run(s.life) })
	}
	if s.listener != nil {
		s.listener.Serve(s.life, s.generic.Handler)
	}
}

// openAdmission builds the admission plugins once the informers that they look at are filled, then fills those that they
// have asked for.
func (s *Server) openAdmission(ctx context.Context, a *assembly) error {
	policies := a.informers.Admissionregistration().V1()
	for _, informer := range []interface {
		Informer() cache.SharedIndexInformer
	}{
		policies.ValidatingAdmissionPolicies(), policies.ValidatingAdmissionPolicyBindings(),
		policies.MutatingAdmissionPolicies(), policies.MutatingAdmissionPolicyBindings(),
		a.informers.Core().V1().Namespaces(),
	} {
		informer.Informer()
	}
	if err := s.fill(ctx, a.informers); err != nil {
		return err
	}
	chain, err := a.admissionChain()
	if err != nil {
		return err
	}
	a.gate.open(chain)
	if err := s.fill(ctx, a.informers); err != nil {
		return err
	}
	s.caches = startedCaches(a.informers)
	s.steps.finish(stepAdmission)
	return nil
}

// runHooks runs upstream's post-start hooks, those that serve custom resources above all. One of them polls every 100 ms
// for the informers that are filled here first, and one that fails would end the process: so they do not start with a
// context that may end too soon.
func (s *Server) runHooks() error {
	s.hooked = true
	if err := s.fill(s.life, s.custom.Informers); err != nil {
		return err
	}
	s.generic.RunPostStartHooks(s.life)
	return nil
}

// fill starts the informers of factory and returns when they have listed everything or ctx ends.
func (s *Server) fill(ctx context.Context, factory interface {
	StartWithContext(ctx context.Context)
	WaitForCacheSyncWithContext(ctx context.Context) cache.SyncResult
}) error {
	factory.StartWithContext(s.life)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return fmt.Errorf("filling the server's caches: %w", err)
	}
	return nil
}
