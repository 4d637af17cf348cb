package lease

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is one Lease as an API server keeps it, for tests whose time is not real: those of a server would wait for
// goroutines outside of their bubble. TestOnAnAPI uses a server.
type store struct {
	coordinationv1client.LeaseInterface
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
	fail    error // of every request
	hangs   bool  // requests are answered by the end of their context only
	late    bool  // a renewal that was cut off arrives before the next update
	mute    bool  // creations are kept, and not answered before the end of their context
	calls   int
}

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (s *store) Leases(string) coordinationv1client.LeaseInterface { return s }

func (s *store) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.calls++
	if s.fail != nil {
		return nil, s.fail
	}
	if s.lease == nil {
		return nil, apierrors.NewNotFound(leases, name)
	}
	return s.lease.DeepCopy(), nil
}

func (s *store) Create(
	ctx context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.fail == nil && s.lease != nil {
		return nil, apierrors.NewAlreadyExists(leases, l.Name)
	}
	if s.mute {
		_, _ = s.put(l)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.put(l)
}

func (s *store) Update(
	ctx context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.calls++
	if s.late && s.lease != nil {
		s.late = false
		_, _ = s.put(s.lease)
	}
	if s.fail == nil && (s.lease == nil || s.lease.ResourceVersion != l.ResourceVersion) {
		return nil, apierrors.NewConflict(leases, l.Name, errors.New("the object has been modified"))
	}
	return s.put(l)
}

func (s *store) put(l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	s.version++
	s.lease = l.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.version)
	return s.lease.DeepCopy(), nil
}

// Watch is refused, as where the right to is missing: the Lease is read again and again then.
func (*store) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, apierrors.NewForbidden(leases, "", errors.New("no"))
}

// failing makes every request fail from now on; nil makes them succeed again.
func (s *store) failing(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// hanging makes requests hang from now on.
func (s *store) hanging(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangs = is
}

// set changes the Lease as another process does.
func (s *store) set(change func(*coordinationv1.LeaseSpec)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &coordinationv1.Lease{}
	if s.lease != nil {
		l = s.lease.DeepCopy()
	}
	change(&l.Spec)
	_, _ = s.put(l)
}

// holder returns the holder of the Lease, empty if there is none.
func (s *store) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil || s.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *s.lease.Spec.HolderIdentity
}
