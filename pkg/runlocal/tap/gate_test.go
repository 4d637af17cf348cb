package tap

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// gated is a queue of a controller whose gate the test opens.
func gated(t *testing.T, test func(t *testing.T, c *Controller, q testQueue, open *atomic.Bool)) {
	synctest.Test(t, func(t *testing.T) {
		tap, _ := recording()
		c, open := tap.Controller("garbagecollector"), &atomic.Bool{}
		c.Gate(open.Load)
		q := newQueue(c)
		defer q.ShutDown()
		test(t, c, q, open)
	})
}

func TestGateKeepsKeysFromWorkers(t *testing.T) {
	gated(t, func(t *testing.T, c *Controller, q testQueue, open *atomic.Bool) {
		var mu sync.Mutex
		var got []string
		taken := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(got)
		}
		q.Add("default/before")
		var workers sync.WaitGroup
		for range 2 {
			workers.Go(func() {
				for {
					k, down := q.Get()
					if down {
						return
					}
					mu.Lock()
					got = append(got, k)
					mu.Unlock()
					q.Done(k)
				}
			})
		}
		q.Add("default/while")
		synctest.Wait()
		if len(taken()) > 0 {
			t.Errorf("workers have got %v before the gate was open", taken())
		}
		if s := c.tap.State(); s.Idle() {
			t.Error("nothing is left to do, although keys wait for the gate")
		}
		open.Store(true)
		c.Opened()
		synctest.Wait()
		if len(taken()) != 2 {
			t.Errorf("workers have got %v", taken())
		}
		open.Store(false)
		q.Add("default/after")
		synctest.Wait()
		if len(taken()) != 2 {
			t.Errorf("workers have got %v after the gate was shut", taken())
		}
		q.ShutDown()
		workers.Wait()
		if len(taken()) != 2 {
			t.Errorf("workers have got %v from a queue that was shut down behind a gate", taken())
		}
	})
}

// TestDelivered: what an informer has listed has reached its handlers, and what these hand on within a controller is done.
func TestDelivered(t *testing.T) {
	tap, _ := recording()
	c := tap.Controller("garbagecollector")
	r := newRelay(c, "graphChanges", plainQueue())
	defer r.ShutDown()
	if !c.Delivered() {
		t.Error("nothing is there, and not delivered")
	}
	r.Add("default/web")
	if c.Delivered() {
		t.Error("a change is on its way")
	}
	k, _ := r.Get()
	if c.Delivered() {
		t.Error("a change is being worked on")
	}
	r.Done(k)
	if !c.Delivered() {
		t.Error("every change is done")
	}
}
