package api

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
)

// Server is a running API server. Its methods may be called from any goroutine.
type Server struct {
	backend   *backend
	transport *transport
	admin     *rest.Config
	listener  *serving.Server // nil without Options.Listen
	key       *ecdsa.PrivateKey
	// fallbackCA is RootCA where nothing is served; it is made when it is asked for.
	fallbackCA func() ([]byte, error)

	generic   *genericapiserver.GenericAPIServer
	custom    *apiextensionsserver.CustomResourceDefinitions
	kinds     *Kinds
	informers informers.SharedInformerFactory
	caches    caches // of informers
	// informerName is what the metrics of informers call it; nil without any.
	informerName *cache.InformerName

	ctx    context.Context // of every goroutine and every request
	cancel context.CancelCauseFunc
	// admissionCtx is the life of the admission plugins: it ends after that of the last write that is inside them.
	admissionCtx    context.Context
	cancelAdmission context.CancelFunc
	gate            admissionGate

	steps startSteps
	logs  *logCheck

	hooksRun bool           // upstream's post-start hooks were run; not touched between Start and shutdown
	tasks    sync.WaitGroup // the server's own goroutines
	stop     func() error   // does its work once
	// detach lets go of the context given to Start, which may outlive the server by far. It is nil until Start is done.
	detach atomic.Pointer[func() bool]
	done   chan struct{} // closed when stop has
}

// Config returns a client configuration for the server: in process, as a member of system:masters, protobuf preferred,
// without a rate limit. The caller owns the copy, and may replace the bearer token or impersonate as over a network.
func (s *Server) Config() *rest.Config { return rest.CopyConfig(s.admin) }

// URL is where the server listens, "" without Options.Listen.
func (s *Server) URL() string {
	if s.listener == nil {
		return ""
	}
	return s.listener.URL
}

// RootCA is the certificate, in PEM, by which clients know the server. Without Options.Listen there is no such client,
// and it is one that stands for it.
func (s *Server) RootCA() ([]byte, error) {
	if s.listener != nil {
		return bytes.Clone(s.listener.CA), nil
	}
	return s.fallbackCA()
}

// ServiceAccountKey is the key that the server signs the tokens of service accounts with, and knows them by.
func (s *Server) ServiceAccountKey() crypto.Signer { return s.key }

// LastEvent is the resource version of the newest watch event of a resource, custom ones included, and 0 if it never
// had any. A watcher that has seen this event has seen them all.
func (s *Server) LastEvent(gr schema.GroupResource) uint64 { return s.backend.lastEvent(gr) }

// ResourceVersion is the resource version of the newest write of any resource.
func (s *Server) ResourceVersion() uint64 { return s.backend.store.ResourceVersion() }

// readyPollInterval is how often WaitReady asks /readyz once the server has done what it has to.
const readyPollInterval = time.Millisecond

// WaitReady returns when /readyz says ok, about 0.1 s after Start, when ctx ends or when the server does. Until then a
// client that is not the administrator may be refused. It may be called concurrently.
func (s *Server) WaitReady(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if s.steps.wait(ctx) != nil {
		return
	}
	client := &http.Client{Transport: s.transport}
	// The error is that of ctx.
	_ = wait.PollUntilContextCancel(ctx, readyPollInterval, true, func(ctx context.Context) (bool, error) {
		return s.answersReady(ctx, client), nil
	})
}

// answersReady reports whether /readyz says ok.
func (s *Server) answersReady(ctx context.Context, client *http.Client) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.admin.Host+"/readyz", nil)
	if err != nil {
		return false
	}
	request.Header.Set("Authorization", "Bearer "+s.admin.BearerToken)
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// Stop ends the server: open watches end at once, further requests fail. It returns when every goroutine of the server
// has ended, except that upstream's controllers of custom resources, which nobody can wait for, may take a moment
// longer. Only the first call does anything; all calls return its error.
func (s *Server) Stop() error { return s.stop() }

// Wait returns when the server has stopped, because Stop was called or because the context given to Start ended.
func (s *Server) Wait() error {
	<-s.done
	return s.stop()
}

// shutdown is the work of Stop. The order matters: nothing that serves may outlive what it needs.
func (s *Server) shutdown() error {
	defer close(s.done)
	if forget := s.detach.Load(); forget != nil {
		(*forget)()
	}
	var problems []error
	if s.generic != nil && !s.hooksRun {
		// Start failed. Upstream's controllers have queues already, which only running and stopping the controllers
		// ends.
		s.transport.serve(s.generic.Handler) // their informers ask for something
		problems = append(problems, s.runHooks())
	}
	s.cancel(errStopped)
	if s.listener != nil {
		if err := s.listener.Close(s.ctx); err != nil {
			problems = append(problems, fmt.Errorf("closing %q: %w", s.listener.URL, err))
		}
	}
	s.tasks.Wait()
	s.transport.drain()
	s.gate.shut()
	s.cancelAdmission()
	if s.informers != nil {
		s.informers.Shutdown()
	}
	s.informerName.Release()
	if s.custom != nil {
		s.custom.Informers.Shutdown()
	}
	if s.generic != nil {
		s.generic.Destroy()
	}
	s.backend.store.Close()
	return errors.Join(problems...)
}

// Start builds a server and returns it when it is ready for every request: admission's caches are filled, and the
// namespaces and objects that a cluster starts with are there. The roles and flow schemas of a cluster follow in the
// background. The server runs until Stop is called or ctx ends; in both cases Stop or Wait must be called to wait for
// it.
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
		backend:         newBackend(o),
		transport:       &transport{base: life},
		listener:        listener,
		ctx:             life,
		cancel:          end,
		admissionCtx:    plugins,
		cancelAdmission: endPlugins,
		steps:           newStartSteps(),
		logs:            newLogCheck(),
		done:            make(chan struct{}),
		fallbackCA: sync.OnceValues(func() ([]byte, error) {
			_, ca, err := serving.SelfSigned("kube-apiserver", "localhost")
			return ca, err
		}),
	}
	s.stop = sync.OnceValue(s.shutdown)
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.detach.Store(new(context.AfterFunc(ctx, func() { _ = s.Stop() }))) // Stop keeps its error for Wait
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
	s.tasks.Go(func() { createBootstrapPolicy(s.ctx, a.client, s.steps.finish) })
	s.tasks.Go(func() { runAPIServiceControllers(s.ctx, a.loopback, s.custom, a.priorities(), s.steps.finish) })
	s.tasks.Go(func() { a.publishAuthorities(s.ctx, func() { s.steps.finish(stepAuthentication) }) })
	s.tasks.Go(func() { a.repairAddresses(s.ctx, func() { s.steps.finish(stepAddresses) }) })
	s.tasks.Go(func() { s.logs.run(s.ctx) })
	if a.accounts != nil {
		s.tasks.Go(func() { a.accounts.run(s.ctx) })
	}
	if s.listener != nil {
		s.listener.Serve(s.ctx, s.generic.Handler)
	}
}

// openAdmission builds the admission plugins once the informers that they look at are filled, then fills those that
// they have asked for.
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

// runHooks runs upstream's post-start hooks, those that serve custom resources above all. One of them polls every 100
// ms for the informers that are filled here first, and one that fails would end the process: so they do not start with
// a context that may end too soon.
func (s *Server) runHooks() error {
	s.hooksRun = true
	if err := s.fill(s.ctx, s.custom.Informers); err != nil {
		return err
	}
	s.generic.RunPostStartHooks(s.ctx)
	return nil
}

// fill starts the informers of factory and returns when they have listed everything or ctx ends.
func (s *Server) fill(ctx context.Context, factory interface {
	StartWithContext(ctx context.Context)
	WaitForCacheSyncWithContext(ctx context.Context) cache.SyncResult
}) error {
	factory.StartWithContext(s.ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return fmt.Errorf("filling the server's caches: %w", err)
	}
	return nil
}
