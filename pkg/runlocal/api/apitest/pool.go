// Package apitest lends embedded API servers to tests. To start one costs more than most tests do with it, so a server
// is used by one test after another: what a test has left behind is deleted in between. No test shares a server with
// another one at the same time, so that each may use the same namespaces, make nodes and count all objects that there
// are.
//
// A package has a [Pool] in a variable, and calls goleak.VerifyTestMain with a [Main] of it; a test calls
// [Pool.Server]. No controllers run: sessions of package runlocaltest have them.
package apitest

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// resetTimeout bounds the deletion of what one test has left behind. A server that takes longer is stopped.
const resetTimeout = 30 * time.Second

// Pool lends API servers that were started with the same options. Its methods may be called concurrently.
type Pool struct {
	options api.Options

	mu      sync.Mutex
	idle    []*server
	stopErr error // of servers that were stopped
}

// NewPool returns a pool of servers with these options, of which OnCommit must not be set. No server is started before
// a test asks for one.
func NewPool(o api.Options) *Pool { return &Pool{options: o} }

// Server returns a ready server that is the test's alone until its cleanup functions have run. onCommit is called as
// api.Options.OnCommit is, and may be nil. The test must not stop the server.
func (p *Pool) Server(t testing.TB, onCommit func(ctx context.Context, resourceVersion uint64)) *api.Server {
	t.Helper()
	s := p.take()
	if s == nil {
		var err error
		if s, err = start(context.WithoutCancel(t.Context()), p.options); err != nil {
			t.Fatal(err)
		}
	}
	s.onCommit.Store(&onCommit)
	t.Cleanup(func() {
		s.onCommit.Store(nil)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), resetTimeout)
		defer cancel()
		if err := s.reset(ctx); err != nil {
			t.Logf("The API server is not used again: %v", err)
			p.stop(s)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.idle = append(p.idle, s)
	})
	return s.Server
}

// Close stops all servers, and returns why a server did not stop in order. It must be called when no test runs any
// more.
func (p *Pool) Close() error {
	for s := p.take(); s != nil; s = p.take() {
		p.stop(s)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopErr
}

// take returns a server that no test uses; nil if there is none.
func (p *Pool) take() *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return last
}

func (p *Pool) stop(s *server) {
	err := s.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopErr = errors.Join(p.stopErr, err)
}

// Main runs the tests of a package, and then stops the servers of these pools. It is a goleak.TestingM.
type Main struct {
	M     interface{ Run() int }
	Pools []*Pool
}

// Run implements goleak.TestingM.
func (m Main) Run() int {
	code := m.M.Run()
	for _, p := range m.Pools {
		if err := p.Close(); err != nil {
			log.Printf("Stopping an API server: %v", err)
			code = max(code, 1)
		}
	}
	return code
}

// server is an API server, and what it holds when no test uses it.
type server struct {
	*api.Server
	onCommit atomic.Pointer[func(context.Context, uint64)]

	client    kubernetes.Interface
	metadata  metadata.Interface
	resources []schema.GroupVersionResource // all whose objects can be listed and deleted, namespaces left out
	initial   map[types.UID]string          // resource versions of the objects that the server itself has made
}

func start(ctx context.Context, o api.Options) (*server, error) {
	s := &server{}
	o.OnCommit = func(ctx context.Context, resourceVersion uint64) {
		if f := s.onCommit.Load(); f != nil && *f != nil {
			(*f)(ctx, resourceVersion)
		}
	}
	var err error
	if s.Server, err = api.Start(ctx, o); err != nil {
		return nil, err
	}
	s.WaitReady(ctx)
	if err := s.init(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// init remembers what the server holds.
func (s *server) init(ctx context.Context) error {
	config := s.Config()
	config.QPS = -1
	var err error
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if s.metadata, err = metadata.NewForConfig(config); err != nil {
		return fmt.Errorf("making a metadata client: %w", err)
	}
	lists, err := discovery.ServerPreferredResources(s.client.Discovery())
	if err != nil {
		return fmt.Errorf("discovering resources: %w", err)
	}
	deletable := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete", "patch"}}, lists)
	resources, err := discovery.GroupVersionResources(deletable)
	if err != nil {
		return fmt.Errorf("reading discovered resources: %w", err)
	}
	delete(resources, namespaces)
	s.resources = slices.Collect(maps.Keys(resources))
	s.initial = map[types.UID]string{}
	return s.forEach(ctx, append(s.resources, namespaces),
		func(_ schema.GroupVersionResource, m *metav1.PartialObjectMetadata) error {
			s.initial[m.UID] = m.ResourceVersion
			return nil
		})
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// forEach calls do with the metadata of all objects of the resources.
func (s *server) forEach(
	ctx context.Context, resources []schema.GroupVersionResource,
	do func(schema.GroupVersionResource, *metav1.PartialObjectMetadata) error,
) error {
	for _, r := range resources {
		list, err := s.metadata.Resource(r).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("listing %s: %w", r.GroupResource(), err)
		}
		for i := range list.Items {
			if err := do(r, &list.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// reset deletes what the server did not hold at first. The error says why the server is not as it was then: an object
// that it made itself was changed or deleted, or something cannot be deleted.
func (s *server) reset(ctx context.Context) error {
	// Namespaces first: in one that is terminating nothing is made any more.
	var terminating []string
	err := s.forEach(ctx, []schema.GroupVersionResource{namespaces},
		func(_ schema.GroupVersionResource, m *metav1.PartialObjectMetadata) error {
			if _, ours := s.initial[m.UID]; ours {
				return nil
			}
			terminating = append(terminating, m.Name)
			return s.delete(ctx, namespaces, m)
		})
	if err != nil {
		return err
	}
	for again := true; again; {
		if again, err = s.deleteAll(ctx); err != nil {
			return err
		}
	}
	for _, name := range terminating {
		namespace, err := s.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading namespace %q: %w", name, err)
		}
		namespace.Spec.Finalizers = nil
		if _, err := s.client.CoreV1().Namespaces().Finalize(ctx, namespace, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("finalizing namespace %q: %w", name, err)
		}
	}
	return nil
}

// deleteAll deletes all objects that the server did not hold at first, but namespaces, and reports whether there were
// any.
func (s *server) deleteAll(ctx context.Context) (found bool, err error) {
	left := maps.Clone(s.initial)
	err = s.forEach(ctx, append(s.resources, namespaces),
		func(r schema.GroupVersionResource, m *metav1.PartialObjectMetadata) error {
			version, initial := s.initial[m.UID]
			switch {
			case !initial && r == namespaces:
				return nil
			case !initial:
				found = true
				return s.delete(ctx, r, m)
			case version != m.ResourceVersion && !writtenByServer(r):
				return fmt.Errorf("%s %q was changed", r.GroupResource(), m.Name)
			}
			delete(left, m.UID)
			return nil
		})
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%d of the server's objects were deleted", len(left))
	}
	return found, err
}

// writtenByServer reports whether a server updates objects of the resource itself when it is ready.
func writtenByServer(r schema.GroupVersionResource) bool {
	return r.Group == "flowcontrol.apiserver.k8s.io" || r.Group == "coordination.k8s.io"
}

// delete deletes an object at once, whatever its finalizers.
func (s *server) delete(ctx context.Context, r schema.GroupVersionResource, m *metav1.PartialObjectMetadata) error {
	if r.Group == "apiextensions.k8s.io" {
		return fmt.Errorf("%s %q was made, and the server may go on to serve it for a while", r.GroupResource(), m.Name)
	}
	client := s.metadata.Resource(r).Namespace(m.Namespace)
	if len(m.Finalizers) > 0 {
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		if _, err := client.Patch(ctx, m.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil &&
			!apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the finalizers of %s %q: %w", r.GroupResource(), m.Name, err)
		}
	}
	background := metav1.DeletePropagationBackground
	err := client.Delete(ctx, m.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64), PropagationPolicy: &background,
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %q: %w", r.GroupResource(), m.Name, err)
	}
	return nil
}
