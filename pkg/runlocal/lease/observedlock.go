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

// observedLock sees what the election reads and writes, and so knows sooner than the election what cannot be mended.
type observedLock struct {
	resourcelock.Interface
	options Options
	lost    chan struct{} // closed by lose

	mu         sync.Mutex // guards what follows
	lostReason error      // of lost
	writeSent  bool       // we have tried to write it: what the server made of that may not be known
	acquired   bool       // we have held the Lease
	renewed    time.Time  // when the last renewal was sent, of both clocks
	released   bool       // by Release: what follows is no loss
	holder     string     // that Waiting was told of
	lastErr    error      // the last answer, nil if it was good
}

func newObservedLock(lock resourcelock.Interface, o Options) *observedLock {
	return &observedLock{Interface: lock, options: o, lost: make(chan struct{})}
}

var _ resourcelock.Interface = (*observedLock)(nil)

// Get implements resourcelock.Interface.
func (l *observedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if apierrors.IsNotFound(err) {
		l.recordResult(ctx, nil) // it will be made
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

// recordSend notes that a write is about to be sent, and returns when.
func (l *observedLock) recordSend() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeSent = true
	return l.options.Clock.Now()
}

// mayHold reports whether the server may have us for the holder.
func (l *observedLock) mayHold() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writeSent
}

func (l *observedLock) recordWrite(ctx context.Context, sent time.Time, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return err // somebody was faster; who, tells the next Get
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

// overdue reports whether the last renewal is too long ago at that time, by one clock or the other. It is called with mu held.
func (l *observedLock) overdue(now time.Time) bool {
	return now.Sub(l.renewed) >= l.options.Duration || now.Round(0).Sub(l.renewed.Round(0)) >= l.options.Duration
}

// recordResult tells of trouble once, until there is none any more.
func (l *observedLock) recordResult(ctx context.Context, err error) {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return // of our own doing
	}
	l.mu.Lock()
	before := l.lastErr
	if before == nil || err == nil || ctx.Err() == nil { // that there is no time left says less than what it went by with
		l.lastErr = err
	}
	hopeless := err != nil && !l.acquired && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err))
	l.mu.Unlock()
	switch {
	case hopeless:
		l.lose(err)
	case (err == nil) != (before == nil):
		l.options.OnError(err)
	}
}

// recordHolder looks at who holds the Lease.
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

// lose says that the Lease is lost, or will never be ours, unless that is known or it was released.
func (l *observedLock) lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lostReason == nil && !l.released {
		l.lostReason = err
		close(l.lost)
	}
}

// release says that what comes is no loss.
func (l *observedLock) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
}

func (l *observedLock) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lostReason
}

func (l *observedLock) lastError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastErr
}

// withoutLogging is for the election, which logs what Options tell of.
func withoutLogging(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }
