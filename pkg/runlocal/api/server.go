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
	// unserved is RootCA where nothing is served; it is made when it is asked for.
	unserved func() ([]byte, error)

	generic   *genericapiserver.GenericAPIServer
	custom    *apiextensionsserver.CustomResourceDefinitions
	kinds     *Kinds
	informers informers.SharedInformerFactory
	caches    caches // of informers
	// informerName is what the metrics of informers call it; nil without any.
	informerName *cache.InformerName

	life context.Context // of every goroutine and every request
	end  context.CancelCauseFunc
	// plugins is the life of the admission plugins: it ends after that of the last write that is inside them.
	plugins    context.Context
	endPlugins context.CancelFunc
	gate       admissionGate

	steps startSteps
	logs  *logCheck

	hooked bool           // upstream's post-start hooks were run; not touched between Start and shutdown
	tasks  sync.WaitGroup // the server's own goroutines
	stop   func() error   // does its work once
	// forget lets go of the context given to Start, which may outlive the server by far. It is nil until Start is done.
	forget atomic.Pointer[func() bool]
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
	return s.unserved()
}

// ServiceAccountKey is the key that the server signs the tokens of service accounts with, and knows them by.
func (s *Server) ServiceAccountKey() crypto.Signer { return s.key }

// LastEvent is the resource version of the newest watch event of a resource, custom ones included, and 0 if it never had
// any. A watcher that has seen this event has seen them all.
func (s *Server) LastEvent(gr schema.GroupResource) uint64 { return s.backend.lastEvent(gr) }

// ResourceVersion is the resource version of the newest write of any resource.
func (s *Server) ResourceVersion() uint64 { return s.backend.store.ResourceVersion() }

// readyLook is how often WaitReady asks /readyz once the server has done what it has to.
const readyLook = time.Millisecond

// WaitReady returns when /readyz says ok, about 0.1 s after Start, when ctx ends or when the server does. Until then a client
// that is not the administrator may be refused. It may be called concurrently.
func (s *Server) WaitReady(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if s.steps.wait(ctx) != nil {
		return
	}
	client := &http.Client{Transport: s.transport}
	// The error is that of ctx.
	_ = wait.PollUntilContextCancel(ctx, readyLook, true, func(ctx context.Context) (bool, error) {
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

// Stop ends the server: open watches end at once, further requests fail. It returns when every goroutine of the server has
// ended, except that upstream's controllers of custom resources, which nobody can wait for, may take a moment longer. Only
// the first call does anything; all calls return its error.
func (s *Server) Stop() error { return s.stop() }

// Wait returns when the server has stopped, because Stop was called or because the context given to Start ended.
func (s *Server) Wait() error {
	<-s.done
	return s.stop()
}

// shutdown is the work of Stop. The order matters: nothing that serves may outlive what it needs.
func (s *Server) shutdown() error {
	defer close(s.done)
	if forget := s.forget.Load(); forget != nil {
		(*forget)()
	}
	var problems []error
	if s.generic != nil && !s.hooked {
		// Start failed. Upstream's controllers have queues already, which only running and stopping the controllers ends.
		s.transport.serve(s.generic.Handler) // their informers ask for something
		problems = append(problems, s.runHooks())
	}
	s.end(errStopped)
	if s.listener != nil {
		if err := s.listener.Close(s.life); err != nil {
			problems = append(problems, fmt.Errorf("closing %q: %w", s.listener.URL, err))
		}
	}
	s.tasks.Wait()
	s.transport.drain()
	s.gate.shut()
	s.endPlugins()
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
