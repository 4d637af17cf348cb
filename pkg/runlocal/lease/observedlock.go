package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// observedLock is the lock of the election. It records what the election reads and writes, and so detects sooner than
// the election does that the Lease is lost or can never be acquired. It is safe for concurrent use.
type observedLock struct {
	resourcelock.Interface
	options Options
	lost    chan struct{} // closed by lose

	mu         sync.Mutex // guards what follows
	lostReason error      // why lost was closed
	writeSent  bool       // a write was sent; whether it succeeded may not be known
	acquired   bool       // a write has succeeded: this process has held the Lease
	renewed    time.Time  // when the last renewal was sent, by both clocks
	released   bool       // Release was called: what follows is not a loss
	holder     string     // as last read
	lastErr    error      // the last result
}

func newObservedLock(lock resourcelock.Interface, o Options) *observedLock {
	return &observedLock{Interface: lock, options: o, lost: make(chan struct{})}
}

var _ resourcelock.Interface = (*observedLock)(nil)

// Get implements resourcelock.Interface.
func (l *observedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if apierrors.IsNotFound(err) {
		l.recordResult(ctx, nil) // the election will create it
		return record, raw, err
	}
	if l.recordResult(ctx, err); err == nil {
		l.recordHolder(record.HolderIdentity)
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *observedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := l.recordSend()
	return l.recordWrite(ctx, sent, l.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (l *observedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := l.recordSend()
	return l.recordWrite(ctx, sent, l.Interface.Update(ctx, record))
}

// recordSend records that a write is about to be sent, and returns the time.
func (l *observedLock) recordSend() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeSent = true
	return l.options.Clock.Now()
}

// mayHold reports whether this process may be the holder for the server.
func (l *observedLock) mayHold() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writeSent
}

// recordWrite records the result of a write that was sent at the given time. One that is sent too late to renew the
// Lease loses it.
func (l *observedLock) recordWrite(ctx context.Context, sent time.Time, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return err // another process was faster; the next Get returns which
	}
	if l.recordResult(ctx, err); err != nil {
		return err
	}
	l.mu.Lock()
	late := l.acquired && l.overdue(sent)
	if !late {
		l.acquired, l.renewed = true, sent
	}
	l.mu.Unlock()
	if late {
		l.lose(&LostError{Namespace: l.options.Namespace, Name: l.options.Name, Err: errStale})
	}
	return nil
}

// overdue reports whether the last renewal is too long ago at now, by the monotonic or by the wall clock. The caller
// holds mu.
func (l *observedLock) overdue(now time.Time) bool {
	return now.Sub(l.renewed) >= l.options.Duration || now.Round(0).Sub(l.renewed.Round(0)) >= l.options.Duration
}

// recordResult records the result of a request. It calls OnError when requests begin to fail and when they succeed
// again, and gives up on an error that waiting cannot resolve.
func (l *observedLock) recordResult(ctx context.Context, err error) {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return // the election was stopped
	}
	l.mu.Lock()
	before := l.lastErr
	if before == nil || err == nil || ctx.Err() == nil { // the error before the timeout says more
		l.lastErr = err
	}
	hopeless := err != nil && !l.acquired &&
		(apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err))
	l.mu.Unlock()
	switch {
	case hopeless:
		l.lose(err)
	case (err == nil) != (before == nil):
		l.options.OnError(err)
	}
}

// recordHolder records the holder that was read. If another process has acquired the Lease, it is lost.
func (l *observedLock) recordHolder(holder string) {
	l.mu.Lock()
	foreign := holder != "" && holder != l.options.Identity
	taken := foreign && l.acquired && !l.released
	news := foreign && holder != l.holder
	l.holder = holder
	l.mu.Unlock()
	switch {
	case taken:
		err := fmt.Errorf("%s has taken it", holder)
		l.lose(&LostError{Namespace: l.options.Namespace, Name: l.options.Name, Err: err})
	case news:
		l.options.OnWaiting(holder)
	}
}

// lose closes lost because of err, unless it is closed or the Lease was released.
func (l *observedLock) lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lostReason == nil && !l.released {
		l.lostReason = err
		close(l.lost)
	}
}

// release makes lose do nothing from now on.
func (l *observedLock) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
}

// reason returns why the Lease is lost; it is set once lost is closed.
func (l *observedLock) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lostReason
}

// lastError returns the error of the last request, nil if it succeeded.
func (l *observedLock) lastError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastErr
}

// withoutLogging returns a context for the election, which would log what OnWaiting and OnError report.
func withoutLogging(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }
