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

// observed sees what the election reads and writes, and so knows sooner than the election what cannot be mended.
type observed struct {
	resourcelock.Interface
	options Options
	lost    chan struct{} // closed by lose

	mu       sync.Mutex // guards what follows
	why      error      // of lost
	asked    bool       // we have tried to write it: what the server made of that may not be known
	ours     bool       // we have held the Lease
	renewed  time.Time  // when the last renewal was sent, of both clocks
	released bool       // by Release: what follows is no loss
	holder   string     // that Waiting was told of
	failed   error      // the last answer, nil if it was good
}

func newObserved(lock resourcelock.Interface, o Options) *observed {
	return &observed{Interface: lock, options: o, lost: make(chan struct{})}
}

var _ resourcelock.Interface = (*observed)(nil)

// Get implements resourcelock.Interface.
func (l *observed) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if apierrors.IsNotFound(err) {
		l.answered(ctx, nil) // it will be made
		return record, raw, err
	}
	if l.answered(ctx, err); err == nil {
		l.held(record.HolderIdentity)
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *observed) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := l.send()
	return l.wrote(ctx, sent, l.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (l *observed) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := l.send()
	return l.wrote(ctx, sent, l.Interface.Update(ctx, record))
}

// send notes that a write is about to be sent, and returns when.
func (l *observed) send() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = true
	return l.options.Clock.Now()
}

// mayBeOurs reports whether the server may have us for the holder.
func (l *observed) mayBeOurs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

func (l *observed) wrote(ctx context.Context, sent time.Time, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return err // somebody was faster; who, tells the next Get
	}
	if l.answered(ctx, err); err != nil {
		return err
	}
	l.mu.Lock()
	late := l.ours && l.overdue(sent)
	if !late {
		l.ours, l.renewed = true, sent
	}
	l.mu.Unlock()
	if late {
		l.lose(&LostError{Namespace: l.options.Namespace, Name: l.options.Name, Err: errStale})
	}
	return nil
}

// overdue reports whether the last renewal is too long ago at that time, by one clock or the other. It is called with mu held.
func (l *observed) overdue(now time.Time) bool {
	return now.Sub(l.renewed) >= l.options.Duration || now.Round(0).Sub(l.renewed.Round(0)) >= l.options.Duration
}

// answered tells of trouble once, until there is none any more.
func (l *observed) answered(ctx context.Context, err error) {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return // of our own doing
	}
	l.mu.Lock()
	before := l.failed
	if before == nil || err == nil || ctx.Err() == nil { // that there is no time left says less than what it went by with
		l.failed = err
	}
	hopeless := err != nil && !l.ours && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err))
	l.mu.Unlock()
	switch {
	case hopeless:
		l.lose(err)
	case (err == nil) != (before == nil):
		l.options.Trouble(err)
	}
}

// held looks at who holds the Lease.
func (l *observed) held(holder string) {
	l.mu.Lock()
	foreign := holder != "" && holder != l.options.Identity
	taken := foreign && l.ours && !l.released
	news := foreign && holder != l.holder
	l.holder = holder
	l.mu.Unlock()
	switch {
	case taken:
		err := fmt.Errorf("%s has taken it", holder)
		l.lose(&LostError{Namespace: l.options.Namespace, Name: l.options.Name, Err: err})
	case news:
		l.options.Waiting(holder)
	}
}

// lose says that the Lease is lost, or will never be ours, unless that is known or it was released.
func (l *observed) lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil && !l.released {
		l.why = err
		close(l.lost)
	}
}

// release says that what comes is no loss.
func (l *observed) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
}

func (l *observed) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

func (l *observed) trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// quiet is for the election, which logs what Options tell of.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }
