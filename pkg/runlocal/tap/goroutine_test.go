package tap

import (
	"runtime/pprof"
	"sync"
	"testing"
)

// in returns the scope that a goroutine finds that is started by the caller.
func in(wg *sync.WaitGroup, got **scope) {
	wg.Go(func() { *got = current() })
}

func TestGoroutineInheritance(t *testing.T) {
	s := &scope{reconcile: &reconcile{key: "a"}}
	l := s.enter(pprof.Labels("key", "a"))
	if current() != s {
		t.Fatal("the labelled goroutine does not find its scope: runtime_getProfLabel has changed")
	}
	var wg sync.WaitGroup
	var child *scope
	in(&wg, &child)
	wg.Wait()
	if child != s {
		t.Error("a goroutine started in the scope is not in it: labels are no longer inherited")
	}
	l.leave()
	if current() != noScope {
		t.Error("the scope goes on after it was left")
	}
}

func TestOutlivingGoroutineBelongsToNoLaterScope(t *testing.T) {
	first, second := &scope{reconcile: &reconcile{key: "a"}}, &scope{reconcile: &reconcile{key: "b"}}
	l := first.enter(pprof.Labels("key", "a"))
	release := make(chan struct{})
	var wg sync.WaitGroup
	var late *scope
	wg.Go(func() {
		<-release
		late = current()
	})
	l.leave()
	defer second.enter(pprof.Labels("key", "b")).leave()
	close(release)
	wg.Wait()
	if late != noScope {
		t.Errorf("a goroutine that outlived its reconcile is attributed to %q", late.reconcile.key)
	}
}

func TestNestedScopesAreRestored(t *testing.T) {
	outer, inner := &scope{inCall: false}, &scope{inCall: true}
	a := outer.enter(pprof.Labels("n", "1"))
	b := inner.enter(pprof.Labels("n", "2"))
	b.leave()
	if current() != outer {
		t.Error("leaving the inner scope does not lead back to the outer one")
	}
	a.leave()
	if p := getProfLabel(); p != nil {
		t.Error("the goroutine keeps labels that it did not have before")
	}
}
