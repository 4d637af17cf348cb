package tap

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// drainLook is how often Drain looks whether all is done.
const drainLook = 2 * time.Millisecond

// Drain lets no controller take another key, and returns when those that were taken are finished and no request is without
// an answer, or with the error of ctx, which says who was not done. Keys that are queued are left. Controllers whose work
// is not done by keys go on until their own context ends. It may be called again.
func (t *Tap) Drain(ctx context.Context) error {
	t.draining.Store(true)
	for _, a := range t.accounts() {
		a.drain()
	}
	ticker := t.clock.NewTicker(drainLook)
	defer ticker.Stop()
	for {
		busy := t.State().Busy()
		if len(busy) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to finish: %w", strings.Join(busy, ", "), ctx.Err())
		case <-ticker.C():
		}
	}
}

// accounts are those of all queues.
func (t *Tap) accounts() []account {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []account
	for _, c := range t.byName() {
		out = append(out, c.accounts...)
	}
	return out
}

// drain implements account: workers that wait for a key are told that none comes, and the others when they ask next.
func (q *queue[K]) drain() { q.ShutDown() }

// drain implements account. What is handed on within a controller still is: whoever gets it adds keys that nobody takes.
func (r *relay[K]) drain() {}

// opened implements account.
func (q *queue[K]) opened() {
	q.order.Lock()
	defer q.order.Unlock()
	q.ready.Broadcast()
}

// opened implements account: what is handed on within a controller is not worked on.
func (*relay[K]) opened() {}

// opened implements account: work that no queue hands out waits for no gate.
func (*Timed) opened() {}
