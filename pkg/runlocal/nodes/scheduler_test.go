package nodes

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
)

// fakeScheduler is a scheduler whose informer and queue are the test's, so that events come between any two of its steps.
type fakeScheduler struct {
	*scheduler
	store  cache.Indexer // what its lister reads
	client *fake.Clientset
	again  []engine.Request // added to the queue by the scheduler itself
}

func newFakeScheduler(t *testing.T, pods []*corev1.Pod, nodes ...*corev1.Node) *fakeScheduler {
	t.Helper()
	l := &fakeScheduler{store: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), client: fake.NewClientset()}
	for _, p := range pods {
		if err := l.store.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	l.scheduler = &scheduler{
		pods: corelisters.NewPodLister(l.store), client: l.client, clock: fixed(epoch), cache: cacheOf(nodes),
		waiting:      map[engine.Request]schedulingAttempts{},
		enqueueAfter: func(r engine.Request, _ time.Duration) { l.again = append(l.again, r) },
	}
	return l
}

// answer answers the writes of that verb and subresource of pods.
func (l *fakeScheduler) answer(verb, subresource string, do func() error) {
	l.client.PrependReactor(verb, "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != subresource {
			return false, nil, nil
		}
		return true, &corev1.Pod{}, do()
	})
}

func requestOf(p *corev1.Pod) engine.Request {
	return engine.Request{Namespace: p.Namespace, Name: p.Name}
}

func podNotFound() error { return apierrors.NewNotFound(corev1.Resource("pods"), "p") }

func TestRoomOfFailedBindings(t *testing.T) {
	seenBound := func(l *fakeScheduler) { l.onPod(engine.Event{Old: named("p"), New: bound(named("p"), "a")}) }
	tests := []struct {
		name   string
		reason string
		before func(l *fakeScheduler) // the scheduler reads the pod
		bind   func(l *fakeScheduler) error
		fails  bool
		left   int64 // thousandths of a CPU that are taken
	}{{
		name: "bound", reason: "a bound pod takes its room",
		bind: func(*fakeScheduler) error { return nil },
		left: 1000,
	}, {
		name: "deleted before it was read", reason: "no event comes any more that could free the room",
		before: func(l *fakeScheduler) { l.onPod(engine.Event{Old: named("p")}) },
		bind:   func(*fakeScheduler) error { return podNotFound() },
	}, {
		name: "deleted while it is bound", reason: "room is freed once",
		bind: func(l *fakeScheduler) error {
			l.onPod(engine.Event{Old: named("p")})
			return podNotFound()
		},
	}, {
		name: "replaced", reason: "the pod of that uid is gone, and the one in its place is tried again",
		bind: func(*fakeScheduler) error {
			return apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("other uid"))
		},
		fails: true,
	}, {
		name: "refused", reason: "what is not bound needs no room until it is tried again",
		bind:  func(*fakeScheduler) error { return errors.New("boom") },
		fails: true,
	}, {
		name: "answer lost", reason: "what has been seen bound needs its room, whatever the answer",
		bind: func(l *fakeScheduler) error {
			seenBound(l)
			return errors.New("timeout")
		},
		fails: true, left: 1000,
	}, {
		name: "bound and deleted, answer lost", reason: "and none when it has been seen to go",
		bind: func(l *fakeScheduler) error {
			seenBound(l)
			l.onPod(engine.Event{Old: bound(named("p"), "a")})
			return errors.New("timeout")
		},
		fails: true,
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newFakeScheduler(t, []*corev1.Pod{named("p")}, nodeOf("a"))
			other := engine.Request{Namespace: "default", Name: "waits for room"}
			l.addWaiting(other, "other", &fitError{lacksRoom: true})
			if tt.before != nil {
				tt.before(l)
			}
			l.answer("create", "binding", func() error { return tt.bind(l) })
			_, err := l.Reconcile(t.Context(), requestOf(named("p")))
			if fails := err != nil; fails != tt.fails {
				t.Errorf("%s: error %v, want one = %t", tt.reason, err, tt.fails)
			}
			if got := l.cache.nodes["a"].requested[corev1.ResourceCPU]; got != tt.left {
				t.Errorf("%s: %d of a CPU are taken, want %d", tt.reason, got, tt.left)
			}
			var woken []engine.Request
			if tt.left == 0 {
				woken = append(woken, other)
			}
			if diff := cmp.Diff(woken, l.again); diff != "" {
				t.Errorf("%s: whoever waits for room is tried again when there is some (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// TestLongestWaitingIsTriedFirst: it gets the room that there is then, and every run of a manifest goes the same way.
func TestLongestWaitingIsTriedFirst(t *testing.T) {
	l := newFakeScheduler(t, nil)
	for n, name := range []string{"c", "b", "d", "a"} {
		r := engine.Request{Namespace: "default", Name: name}
		l.clock = fixed(epoch.Add(time.Duration(n/2) * time.Second)) // two at a time
		l.addWaiting(r, "uid", &fitError{lacksRoom: true})
	}
	l.retryWaiting()
	var got []string
	for _, r := range l.again {
		got = append(got, r.Name)
	}
	if want := []string{"b", "c", "a", "d"}; !slices.Equal(want, got) {
		t.Errorf("tried again are %q, want %q", got, want)
	}
}

func TestPlacedPodKeepsItsPlace(t *testing.T) {
	c := cacheOf([]*corev1.Node{nodeOf("a")})
	c.setPod(bound(named("p"), "a"))
	if _, why := c.schedule(named("p"), nil, changeCounts{}); why != nil {
		t.Fatal(why)
	}
	if c.unassume("p") || !c.has("p") {
		t.Error("a pod that was seen on a node before an attempt, and whose binding is then refused, lost its room")
	}
	if c.unassume("never seen") {
		t.Error("what was not there freed room")
	}
}

func TestGonePodsDoNotWait(t *testing.T) {
	r := requestOf(named("p"))
	tests := []struct {
		name   string
		reason string
		pod    *corev1.Pod // in the lister, if any
		do     func(l *fakeScheduler)
	}{{
		name: "gone", reason: "an attempt that outlasts the deletion's event waits again; the next one ends that",
		do: func(l *fakeScheduler) { l.addWaiting(r, "p", &fitError{lacksRoom: true}) },
	}, {
		name: "not ours any more", reason: "what somebody else schedules does not wait for us",
		pod: bound(named("p"), "elsewhere"),
		do:  func(l *fakeScheduler) { l.addWaiting(r, "p", &fitError{lacksRoom: true}) },
	}, {
		name: "on a node", reason: "what has been seen on a node waits for none, though the lister is late",
		pod: named("p"),
		do: func(l *fakeScheduler) {
			l.cache.setPod(bound(named("p"), "a"))
			l.addWaiting(r, "p", &fitError{lacksRoom: true})
		},
	}, {
		name: "gone while its binding is asked for", reason: "there is nothing left to bind",
		pod: named("p"),
		do: func(l *fakeScheduler) {
			l.onNode(engine.Event{New: nodeOf("a")})
			l.addWaiting(r, "p", &fitError{lacksRoom: true})
			l.answer("create", "binding", podNotFound)
		},
	}, {
		name: "gone while its condition is written", reason: "there is nobody left to tell",
		pod: named("p"),
		do:  func(l *fakeScheduler) { l.answer("patch", "status", podNotFound) },
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var pods []*corev1.Pod
			if tt.pod != nil {
				pods = append(pods, tt.pod)
			}
			l := newFakeScheduler(t, pods)
			tt.do(l)
			result, err := l.Reconcile(t.Context(), r)
			if err != nil || result.RequeueAfter != 0 {
				t.Errorf("%s: returned %+v and %v, want it done", tt.reason, result, err)
			}
			if diff := cmp.Diff(map[engine.Request]schedulingAttempts{}, l.waiting, cmp.AllowUnexported(schedulingAttempts{})); diff != "" {
				t.Errorf("%s: waiting (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestAttemptsAreOfOnePod(t *testing.T) {
	l := newFakeScheduler(t, nil)
	r := requestOf(named("p"))
	for n, want := range []time.Duration{time.Second, 2 * time.Second} {
		if got := l.addWaiting(r, "first", &fitError{lacksRoom: true}); got != want {
			t.Errorf("backoff %v after try %d, want %v", got, n+1, want)
		}
	}
	if l.isWaiting(r, "second") {
		t.Error("a pod waits because another one of its name did")
	}
	if got := l.addWaiting(r, "second", &fitError{lacksRoom: true}); got != time.Second {
		t.Errorf("backoff %v after the first try, want %v: another pod's tries do not count", got, time.Second)
	}
	if !l.isWaiting(r, "second") || l.isWaiting(r, "first") {
		t.Error("the pod that is there waits, and no other")
	}
}

func TestWhatWakesPodsThatDoNotFit(t *testing.T) {
	changed := func(change func(*corev1.Pod)) *corev1.Pod {
		p := named("p")
		change(p)
		return p
	}
	gone := func(l *fakeScheduler) { l.onPod(engine.Event{Old: bound(named("other"), "a")}) }
	tests := []struct {
		name   string
		reason string
		pod    *corev1.Pod
		event  func(l *fakeScheduler)
		woken  bool
	}{{
		name: "no room, and a pod goes", reason: "there may be room now",
		pod: changed(requesting(corev1.ResourceCPU, "1000")), event: gone, woken: true,
	}, {
		name: "no node of that label, and a pod goes", reason: "that changes no label, so kube-scheduler does not look again either",
		pod: changed(selecting("disk", "none")), event: gone,
	}, {
		name: "no node of that label, and a node comes", reason: "it may have the label",
		pod: changed(selecting("disk", "none")), event: func(l *fakeScheduler) { l.onNode(engine.Event{New: nodeOf("b")}) }, woken: true,
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newFakeScheduler(t, []*corev1.Pod{tt.pod}, nodeOf("a"))
			l.cache.setPod(bound(named("other"), "a"))
			l.answer("patch", "status", func() error { return nil })
			if _, err := l.Reconcile(t.Context(), requestOf(tt.pod)); err != nil {
				t.Fatal(err)
			}
			tt.event(l)
			if woken := len(l.again) > 0; woken != tt.woken {
				t.Errorf("woken %t, want %t: %s", woken, tt.woken, tt.reason)
			}
		})
	}
}
