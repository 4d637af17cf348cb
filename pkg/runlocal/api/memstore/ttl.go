package memstore

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// expiry deletes entries when their time to live ends. One goroutine serves all tables; it runs from the first entry
// with a time to live on until close.
type expiry struct {
	clock clock.WithTicker
	wake  chan struct{} // holds a token when the earliest deadline changed
	stop  chan struct{}
	wg    sync.WaitGroup

	mu      sync.Mutex // guards what follows
	queue   deadlines
	running bool
	closed  bool
}

func (x *expiry) init(c clock.WithTicker) {
	x.clock, x.wake, x.stop = c, make(chan struct{}, 1), make(chan struct{})
}

// add makes e expire ttl seconds from now, unless it is written before; a ttl of 0 means never.
func (x *expiry) add(t *table, e *entry, ttl uint64) {
	if ttl == 0 {
		return
	}
	d := &deadline{at: x.clock.Now().Add(seconds(ttl)), table: t, entry: e}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	heap.Push(&x.queue, d)
	if !x.running {
		x.running = true
		x.wg.Go(x.run)
	}
	if x.queue[0] == d {
		select {
		case x.wake <- struct{}{}:
		default:
		}
	}
}

// seconds returns ttl as a duration, at most a century.
func seconds(ttl uint64) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	if ttl > uint64(century/time.Second) {
		return century
	}
	return time.Duration(ttl) * time.Second
}

// close stops the goroutine and waits for it.
func (x *expiry) close() {
	x.mu.Lock()
	if !x.closed {
		x.closed = true
		close(x.stop)
	}
	x.mu.Unlock()
	x.wg.Wait()
}

func (x *expiry) run() {
	for {
		due, wait := x.pop(x.clock.Now())
		for _, d := range due {
			d.expire()
		}
		if len(due) == 0 && !x.sleep(wait) {
			return
		}
	}
}

// pop removes and returns what is due at now; with nothing due it returns the time until something is, 0 for never.
func (x *expiry) pop(now time.Time) (due []*deadline, wait time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.queue) > 0 {
		if wait := x.queue[0].at.Sub(now); wait > 0 {
			return due, wait
		}
		due = append(due, heap.Pop(&x.queue).(*deadline))
	}
	return due, 0
}

// sleep returns true after d, where 0 means forever, or when the earliest deadline changed, and false when the store is
// closed.
func (x *expiry) sleep(d time.Duration) bool {
	var fired <-chan time.Time
	if d > 0 {
		timer := x.clock.NewTimer(d)
		defer timer.Stop()
		fired = timer.C()
	}
	select {
	case <-fired:
		return true
	case <-x.wake:
		return true
	case <-x.stop:
		return false
	}
}

// deadline is the time at which an entry expires.
type deadline struct {
	at    time.Time
	table *table
	entry *entry
}

// expire deletes the entry if it is still the one in its table: a write in between has given the object another time to
// live, or none, as putting a key without a lease does in etcd.
func (d *deadline) expire() {
	// A deletion has nothing to stamp, and stamping is all that can fail.
	_, _ = d.table.swap(noRequest{}, d.entry.key, d.entry, nil)
}

// deadlines is a heap by time.
type deadlines []*deadline

var _ heap.Interface = (*deadlines)(nil)

func (q deadlines) Len() int           { return len(q) }
func (q deadlines) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q deadlines) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface; d is a *deadline.
func (q *deadlines) Push(d any) { *q = append(*q, d.(*deadline)) }

// Pop implements heap.Interface.
func (q *deadlines) Pop() any {
	last := len(*q) - 1
	d := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return d
}

// noRequest is the context of a write without a request: it has no values, no deadline and no end.
type noRequest struct{}

var _ context.Context = noRequest{}

// Deadline implements context.Context: there is none.
func (noRequest) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context: it never ends.
func (noRequest) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (noRequest) Err() error { return nil }

// Value implements context.Context: there are none.
func (noRequest) Value(any) any { return nil }
