package trace

import (
	"slices"
	"sync"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestHistory(t *testing.T) {
	var h History
	if got := slices.Collect(h.All()); got != nil {
		t.Errorf("nothing was recorded, and there is %v", got)
	}
	r := NewRecorder(clocktesting.NewFakePassiveClock(at), &h)
	for range 3 {
		r.Emit("replicaset", 1, "default/web", &Log{Message: "m"})
	}
	var seen []uint64
	for e := range h.All() {
		if e.Seq == 1 {
			r.Emit("replicaset", 1, "default/web", &Log{Message: "in between"}) // the lock is free
		}
		seen = append(seen, e.Seq)
	}
	if want := []uint64{1, 2, 3, 4}; !slices.Equal(seen, want) {
		t.Errorf("an iteration saw %v, want %v", seen, want)
	}
	for e := range h.All() {
		if e.Seq == 2 {
			break
		}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				r.Emit("replicaset", 0, "", &Log{Message: "at once"})
				for range h.All() {
					break
				}
			}
		})
	}
	group.Wait()
	if got := len(slices.Collect(h.All())); got != 404 {
		t.Errorf("%d events, want 404", got)
	}
}
