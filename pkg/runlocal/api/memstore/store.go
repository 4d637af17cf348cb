package memstore

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/clock"
)

// DefaultHistory is the number of watch events kept per resource when Options.History is 0. Each holds one superseded
// object: with pods of 5 KB they are 10 MB. A kube-apiserver's watch cache keeps between 100 and 100 thousand.
const DefaultHistory = 2000

// Options configure a Store. The zero value is usable.
type Options struct {
	// History is how many watch events are kept per resource for watches and lists from an older resource version; 0
	// means DefaultHistory. Up to a quarter more are kept between two trims, and events that a running watcher has not
	// read yet are kept beyond that, up to 16 times as many.
	History int
	// OnCommit, if not nil, is called for every committed write with the context of the request that wrote and the
	// resource version of the write, before any watcher can see the event, in the goroutine of the writer. It is called
	// with a lock held: it must be fast and must not call the store. An object that expires is written by no request:
	// its deletion comes with an empty context.
	OnCommit func(ctx context.Context, resourceVersion uint64)
	// NewUID, if not nil, returns the uid of an object of the resource that is created, in place of the random one that
	// it has; empty leaves that. It must be safe for concurrent use. It is for resources whose strategies do not put
	// uids elsewhere before an object is stored, as that of Jobs does into labels.
	NewUID func(schema.GroupResource) types.UID
	// Clock drives the expiry of objects, bookmarks and compaction; nil means the real clock.
	Clock clock.WithTicker
	// CompactionInterval is how often Compact is called, with the resource version of one interval ago; 0 means never.
	CompactionInterval time.Duration
}

// Store is what an etcd is to a kube-apiserver: the tables of all resources, and the resource version they share. Its
// methods are safe for concurrent use. Create it with New and end it with Close.
type Store struct {
	clock    clock.WithTicker
	history  int
	onCommit func(ctx context.Context, resourceVersion uint64)
	newUID   func(schema.GroupResource) types.UID // nil leaves uids as they are

	revision  atomic.Uint64 // of the newest write of any table; changed under the lock of the table written
	compacted atomic.Uint64 // as of the last Compact
	expiry    expiry
	compactor compactor

	mu     sync.Mutex // guards what follows; taken before a table's lock, never after
	tables map[string]*table
	groups []*watcherGroup
	closed bool
}

// New returns an empty store at resource version 1, as an empty etcd is.
func New(o Options) *Store {
	s := &Store{clock: o.Clock, history: o.History, onCommit: o.OnCommit, newUID: o.NewUID, tables: map[string]*table{}}
	if s.clock == nil {
		s.clock = clock.RealClock{}
	}
	if s.history <= 0 {
		s.history = DefaultHistory
	}
	s.expiry.init(s.clock)
	s.revision.Store(1)
	if o.CompactionInterval > 0 {
		s.compactor.start(s, s.clock.NewTicker(o.CompactionInterval))
	}
	return s
}

// Ready returns nil until Close is called, and storage.ErrStorageNotReady then.
func (s *Store) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storage.ErrStorageNotReady
	}
	return nil
}

// ResourceVersion returns the resource version of the newest write.
func (s *Store) ResourceVersion() uint64 {
	return s.revision.Load()
}

// LastEvent returns the resource version of the newest event of the resource stored under resourcePrefix ("/pods" and
// "pods" are the same), 0 if it never had one. A watcher that has been sent this event has been sent everything.
func (s *Store) LastEvent(resourcePrefix string) uint64 {
	s.mu.Lock()
	t := s.tables[tableName(resourcePrefix)]
	s.mu.Unlock()
	if t == nil {
		return 0
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.last
}

// Compact drops the states before resourceVersion, as an etcd compaction does: lists at an older version are answered
// with "410 Gone" from then on, and so are watches from an older version of what is kept Uncached. Watches of other
// resources can still begin there, for a kube-apiserver answers them from its watch cache, which is not compacted.
// Objects are not touched. Compacting to an older version than before, or to one that is yet to come, only forgets what
// there is.
func (s *Store) Compact(resourceVersion uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resourceVersion = min(resourceVersion, s.revision.Load())
	s.compacted.Store(max(resourceVersion, s.compacted.Load()))
	for _, t := range s.tables {
		t.compact(resourceVersion)
	}
}

// Close ends every watch, every expiry and the compactions, and returns when no goroutine of the store is left. Reads
// and writes work after it, but watches are refused and nothing expires any more. Closing twice is allowed.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	groups := s.groups
	s.groups = nil
	s.mu.Unlock()
	for _, g := range groups {
		g.close()
	}
	s.expiry.close()
	s.compactor.close()
}

// table returns the table of resourcePrefix, and makes it if there is none.
func (s *Store) table(resourcePrefix string, mode Mode) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := tableName(resourcePrefix)
	t := s.tables[name]
	if t == nil {
		t = newTable(s, mode)
		s.tables[name] = t
	}
	return t
}

// newGroup returns a group of watchers that Close ends; it is closed already if the store is.
func (s *Store) newGroup() *watcherGroup {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &watcherGroup{members: map[*watcher]struct{}{}, closed: s.closed}
	if !s.closed {
		s.groups = append(s.groups, g)
	}
	return g
}

// dropGroup ends g, and forgets it.
func (s *Store) dropGroup(g *watcherGroup) {
	s.mu.Lock()
	for i := range s.groups {
		if s.groups[i] == g {
			s.groups = append(s.groups[:i:i], s.groups[i+1:]...)
			break
		}
	}
	s.mu.Unlock()
	g.close()
}

// tableName returns the name under which the table of resourcePrefix is kept: the prefix may or may not begin with a
// slash.
func tableName(resourcePrefix string) string {
	return "/" + strings.Trim(resourcePrefix, "/")
}

// compactor calls Store.Compact periodically. Its goroutine runs from start until close.
type compactor struct {
	stop chan struct{} // nil if it was never started
	end  sync.Once
	wg   sync.WaitGroup
}

// start compacts s at every tick of ticker, which it stops at the end, to the resource version of the tick before: so a
// state can be read for one interval at least, and for two at most. It mirrors compactor.runCompactLoop of
// k8s.io/apiserver/pkg/storage/etcd3/compact.go.
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
