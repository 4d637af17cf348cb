package api

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"

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

	life context.Context // of every goroutine and every request
	end  context.CancelCauseFunc
	// plugins is the life of the admission plugins: it ends after that of the last write that is inside them.
	plugins    context.Context
	endPlugins context.CancelFunc
	gate       admissionGate

	policed chan struct{} // closed when createPolicy has ended

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
	if s.custom != nil {
		s.custom.Informers.Shutdown()
	}
	if s.generic != nil {
		s.generic.Destroy()
	}
	s.backend.store.Close()
	return errors.Join(problems...)
}
