package memstore

import (
	"sync"

	"k8s.io/utils/clock"
)

// compactor calls Store.Compact periodically. Its goroutine runs from start until close.
type compactor struct {
	stop chan struct{} // nil if it was never started
	end  sync.Once
	wg   sync.WaitGroup
}

// start compacts s at every tick of ticker, which it stops at the end, to the resource version of the tick before: so a state can be
// read for one interval at least, and for two at most. It mirrors runCompactLoop of k8s.io/apiserver/pkg/storage/etcd3/compact.go.
func (c *compactor) start(s *Store, ticker clock.Ticker) {
	c.stop = make(chan struct{})
	c.wg.Go(func() {
		defer ticker.Stop()
		var before uint64 // 0 at the first tick, which compacts nothing
		for {
			select {
			case <-ticker.C():
			case <-c.stop:
				return
			}
			s.Compact(before)
			before = s.ResourceVersion()
		}
	})
}

// close ends the goroutine, if there is one, and waits for it. It may be called again.
func (c *compactor) close() {
	if c.stop != nil {
		c.end.Do(func() { close(c.stop) })
		c.wg.Wait()
	}
}
