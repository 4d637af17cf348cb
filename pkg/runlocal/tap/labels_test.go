package tap

import (
	"runtime/pprof"
	"sync"
	"testing"
)

// in returns the scope that a goroutine finds that is started by the caller.
func in(wg *sync.WaitGroup, got **activity) {
	wg.Go(func() { *got = currentActivity() })
}

func TestGoroutineInheritance(t *testing.T) {
	s := &activity{reconcile: &reconcile{key: "a"}}
	l := s.enter(pprof.Labels("key", "a"))
	if currentActivity() != s {
		t.Fatal("the labelled goroutine does not find its scope: runtime_getProfLabel has changed")
	}
	var wg sync.WaitGroup
	var child *activity
	in(&wg, &child)
	wg.Wait()
	if child != s {
		t.Error("a goroutine started in the scope is not in it: labels are no longer inherited")
	}
	l.end()
	if currentActivity() != noActivity {
		t.Error("the activity continues after its end")
	}
}

func TestOutlivingGoroutineBelongsToNoLaterScope(t *testing.T) {
	first, second := &activity{reconcile: &reconcile{key: "a"}}, &activity{reconcile: &reconcile{key: "b"}}
	l := first.enter(pprof.Labels("key", "a"))
	release := make(chan struct{})
	var wg sync.WaitGroup
	var late *activity
	wg.Go(func() {
		<-release
		late = currentActivity()
	})
	l.end()
	defer second.enter(pprof.Labels("key", "b")).end()
	close(release)
	wg.Wait()
	if late != noActivity {
		t.Errorf("a goroutine that outlived its reconcile is attributed to %q", late.reconcile.key)
	}
}

func TestNestedScopesAreRestored(t *testing.T) {
	outer, inner := &activity{inRequest: false}, &activity{inRequest: true}
	a := outer.enter(pprof.Labels("n", "1"))
	b := inner.enter(pprof.Labels("n", "2"))
	b.end()
	if currentActivity() != outer {
		t.Error("leaving the inner scope does not lead back to the outer one")
	}
	a.end()
	if p := getProfLabel(); p != nil {
		t.Error("the goroutine keeps labels that it did not have before")
	}
}
