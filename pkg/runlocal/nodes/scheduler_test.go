package nodes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// fakeScheduler is a scheduler whose informer and queue are the test's, so that events come between any two of its
// steps.
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
		name: "deleted before it was read", reason: "no later event could free the room",
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
				t.Errorf("%s: pods that wait for room are retried when there is some (-want +got):\n%s", tt.reason, diff)
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
	l.retryWaiting(false)
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
		name: "not ours any more", reason: "a pod of another scheduler does not wait for this one",
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
		name: "gone while its binding is requested", reason: "there is nothing left to bind",
		pod: named("p"),
		do: func(l *fakeScheduler) {
			l.onNode(engine.Event{New: nodeOf("a")})
			l.addWaiting(r, "p", &fitError{lacksRoom: true})
			l.answer("create", "binding", podNotFound)
		},
	}, {
		name: "gone while its condition is written", reason: "there is no pod left to write to",
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
			if diff := cmp.Diff(map[engine.Request]schedulingAttempts{}, l.waiting,
				cmp.AllowUnexported(schedulingAttempts{})); diff != "" {
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
		name:   "no node of that label, and a pod goes",
		reason: "that changes no label, so kube-scheduler does not retry either",
		pod:    changed(selecting("disk", "none")), event: gone,
	}, {
		name: "no node of that label, and a node comes", reason: "it may have the label",
		pod: changed(selecting("disk", "none")), event: func(l *fakeScheduler) { l.onNode(engine.Event{New: nodeOf("b")}) },
		woken: true,
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

func scheduled(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

// rejectionText says that the condition PodScheduled is False for that reason and returns its message.
func rejectionText(pod *corev1.Pod, reason string) (string, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == reason {
			return c.Message, true
		}
	}
	return "", false
}

func unschedulable(pod *corev1.Pod) bool {
	_, ok := rejectionText(pod, corev1.PodReasonUnschedulable)
	return ok
}

func TestUnschedulableUntilNodeComes(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{})
	s.create(podOf("web"))
	pod := s.until("web", "unschedulable", unschedulable)
	if message, _ := rejectionText(pod, corev1.PodReasonUnschedulable); message != "no nodes available to schedule pods" {
		t.Errorf("message %q", message)
	}
	e := s.untilEvent("web", "FailedScheduling", "")
	if e.Message != "no nodes available to schedule pods" || e.Type != "Warning" ||
		e.ReportingController != "default-scheduler" {
		t.Errorf("event %s %q from %q", e.Type, e.Message, e.ReportingController)
	}
	node := newNode(7, DefaultCapacity(), "v1.37.1", epoch)
	if _, err := ensureNode(t.Context(), s.CoreV1().Nodes(), node); err != nil {
		t.Fatal(err)
	}
	pod = s.until("web", "ready on a node of another client", ready)
	if pod.Spec.NodeName != node.Name || pod.Status.HostIP != "172.18.0.9" {
		t.Errorf("on node %q with address %q", pod.Spec.NodeName, pod.Status.HostIP)
	}
}

func TestUnschedulableUntilRoom(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 2, Capacity: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi"),
		corev1.ResourcePods: resource.MustParse("10"),
	}})
	for _, name := range []string{"a", "b"} {
		s.create(podOf(name, requesting(corev1.ResourceCPU, "1500m")))
		s.until(name, "ready", ready)
	}
	s.create(podOf("c", requesting(corev1.ResourceCPU, "1")))
	pod := s.until("c", "unschedulable", unschedulable)
	want := "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
	if message, _ := rejectionText(pod, corev1.PodReasonUnschedulable); message != want {
		t.Errorf("message %q, want %q", message, want)
	}
	if err := s.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	pod = s.until("c", "ready in the place of the deleted one", ready)
	if pod.Spec.NodeName != "node-1" {
		t.Errorf("on node %q, want node-1", pod.Spec.NodeName)
	}
}

func TestNotScheduled(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("other", func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }))
	s.create(podOf("gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}} }))
	s.create(podOf("preset", func(p *corev1.Pod) { p.Spec.NodeName = "node-1" }))
	s.create(podOf("elsewhere", func(p *corev1.Pod) { p.Spec.NodeName = "nowhere" }))
	s.create(podOf("last"))
	s.until("last", "ready", ready)
	s.until("preset", "ready without having been scheduled", ready)
	for _, name := range []string{"other", "gated"} {
		if pod := s.get(name); scheduled(pod) || unschedulable(pod) {
			t.Errorf("pod %q was scheduled, or tried to", name)
		}
	}
	if pod := s.get("elsewhere"); pod.Status.Phase != corev1.PodPending || pod.Status.StartTime != nil {
		t.Errorf("pod on a node that is not simulated moved: %v", text(pod))
	}
	gated := s.get("gated")
	if _, ok := rejectionText(gated, corev1.PodReasonSchedulingGated); !ok {
		t.Errorf("gated pod has conditions %v", gated.Status.Conditions)
	}
	gated.Spec.SchedulingGates = nil
	if _, err := s.CoreV1().Pods("default").Update(t.Context(), gated, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("gated", "ready when the gate is gone", ready)
}

func TestRetriedWhenNodeChanges(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	node, err := s.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(node.Spec.Taints) != 0 {
		t.Errorf("a ready node has taints %v", node.Spec.Taints)
	}
	s.create(podOf("web", selecting("disk", "ssd")))
	s.until("web", "unschedulable", unschedulable)
	node.Labels["disk"] = "ssd"
	if _, err := s.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("web", "ready on the labelled node", ready)
}

func TestTrace(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("web"))
	s.until("web", "ready", ready)
	s.untilEvent("web", "Scheduled", "")
	s.untilEvent("web", "Started", "")
	s.nodes.Stop()
	if err := s.nodes.Wait(); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"scheduler create pods/binding": 1,
		"scheduler create events":       1,
		"kubelet patch pods/status":     1,
		"kubelet create events":         3,
	}
	var writes map[string]int
	// The last Event may be seen before its writer knows that it is written.
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, waitTimeout, true,
		func(context.Context) (bool, error) {
			writes = s.writesAbout("default/web")
			return maps.Equal(want, writes), nil
		})
	if err != nil {
		t.Errorf("writes of reconciles of the pod (-want +got):\n%s", cmp.Diff(want, writes))
	}
}

// writesAbout counts the writes of reconciles of a pod.
func (s *sandbox) writesAbout(key string) map[string]int {
	writes := map[string]int{}
	for _, e := range s.trace.list() {
		if r, ok := e.Detail.(*trace.Request); ok && r.IsWrite() && e.Key == key && e.Reconcile != 0 {
			line := e.Controller + " " + r.Verb + " " + r.Resource
			if r.Subresource != "" {
				line += "/" + r.Subresource
			}
			writes[line]++
		}
	}
	return writes
}
