package controllers

import (
	"context"
	"time"
)

const (
	// kindsLook is how often it is looked whether kinds may have changed. That costs next to nothing.
	kindsLook = 100 * time.Millisecond
	// kindsUnsure is for how long after a change discovery may lag behind it: it is asked at each turn. So it is after an error.
	kindsUnsure = 2 * time.Second
	// kindsUnasked is how long is waited when nobody knows of changes, as in kube-controller-manager.
	kindsUnasked = 30 * time.Second
)

// kindTurns tell a goroutine that asks again and again which kinds the API serves when it is worth asking. It is for that
// goroutine alone.
type kindTurns struct {
	changes func() uint64 // Deps.Kinds

	asked  bool
	last   uint64
	unsure time.Time
}

// again makes the next turns come soon, changes or none: whatever was not told is asked for again.
func (k *kindTurns) again() { k.unsure = time.Now().Add(kindsUnsure) }

// wait returns when discovery is to be asked, or with false when ctx has ended.
func (k *kindTurns) wait(ctx context.Context) bool {
	if k.changes == nil && k.asked {
		return pause(ctx, kindsUnasked)
	}
	for k.changes != nil {
		now := k.changes()
		if now != k.last {
			k.last = now
			k.again()
			break
		}
		if !k.asked || time.Now().Before(k.unsure) {
			break
		}
		if !pause(ctx, kindsLook) {
			return false
		}
	}
	k.asked = true
	return ctx.Err() == nil
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
