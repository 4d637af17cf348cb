package nodes

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// onlyContainer returns the status of the pod's only container.
func onlyContainer(pod *corev1.Pod) corev1.ContainerStatus {
	if len(pod.Status.ContainerStatuses) != 1 {
		return corev1.ContainerStatus{}
	}
	return pod.Status.ContainerStatuses[0]
}

func waitingFor(reason string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		w := onlyContainer(pod).State.Waiting
		return w != nil && w.Reason == reason
	}
}

func TestFailuresOnDemand(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("crash", annotated(SimulateAnnotation, "crash-loop"), annotated(RunForAnnotation, "10ms")))
	s.create(podOf("image", annotated(SimulateAnnotation, "image-pull-error")))
	s.create(podOf("unready", annotated(SimulateAnnotation, "never-ready")))
	s.create(podOf("wrong", annotated(SimulateAnnotation, "explode")))

	s.until("image", "waiting for its image", waitingFor("ErrImagePull"))
	s.until("image", "backing off", waitingFor("ImagePullBackOff"))
	s.until("unready", "running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && !ready(p) })
	s.until("wrong", "ready all the same", ready)
	if e := s.untilEvent("wrong", "InvalidAnnotation", `"explode" is none of`); e.Type != "Warning" {
		t.Errorf("event %s %q", e.Type, e.Message)
	}
	pod := s.until("crash", "in its back-off", waitingFor("CrashLoopBackOff"))
	c := onlyContainer(pod)
	if c.RestartCount != 1 || c.LastTerminationState.Terminated == nil ||
		c.LastTerminationState.Terminated.ExitCode != 1 || ready(pod) {
		t.Errorf("crashing container: %+v", c)
	}
	if e := s.untilEvent("crash", "BackOff", ""); e.InvolvedObject.FieldPath != "spec.containers{web}" ||
		e.Source.Host != "node-1" {
		t.Errorf("event about %q from %q", e.InvolvedObject.FieldPath, e.Source.Host)
	}
}

func TestPodsThatEnd(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1, RunFor: 10 * time.Millisecond})
	s.create(podOf("done", restart(corev1.RestartPolicyNever)))
	s.create(podOf("failed", restart(corev1.RestartPolicyNever), annotated(ExitCodeAnnotation, "3")))
	s.create(podOf("retried", restart(corev1.RestartPolicyOnFailure), annotated(ExitCodeAnnotation, "3")))
	s.until("done", "succeeded", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	pod := s.until("failed", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if code := onlyContainer(pod).State.Terminated.ExitCode; code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	s.until("retried", "started again", func(p *corev1.Pod) bool { return onlyContainer(p).RestartCount > 0 })
	for _, name := range []string{"done", "failed", "retried"} {
		if err := s.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.untilGone(name)
	}
}

// TestPhases sees every version of the pod, and has a fake clock, which it steps from one phase to the next: none can
// be missed, however long the kubelet takes.
func TestPhases(t *testing.T) {
	t.Parallel()
	ticking := clocktesting.NewFakeClock(time.Now())
	s := newSandbox(t, Options{Count: 1, PodReadyAfter: 2 * time.Second, Clock: ticking})
	w, err := s.CoreV1().Pods("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	s.create(podOf("web", withInit("setup")))
	for _, phase := range []struct {
		name  string
		after time.Duration // since the phase before
		is    func(*corev1.Pod) bool
	}{
		{"seen by the kubelet", 0, func(p *corev1.Pod) bool { return p.Status.StartTime != nil && !initializing(p) }},
		{"initializing", 500 * time.Millisecond, initializing},
		{"running and not ready", 500 * time.Millisecond, func(p *corev1.Pod) bool {
			return p.Status.Phase == corev1.PodRunning && !ready(p)
		}},
		{"ready", time.Second, ready},
	} {
		ticking.Step(phase.after)
		untilVersion(t, w, ticking, phase.name, phase.is)
	}
}

func initializing(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodPending && len(p.Status.InitContainerStatuses) == 1 &&
		p.Status.InitContainerStatuses[0].State.Running != nil
}

// untilVersion reads versions of pods until one is as it should be. Meanwhile it steps the clock by next to nothing: a
// reconcile that began before the clock was last stepped comes back after the shortest delay that there is.
func untilVersion(
	t *testing.T, w watch.Interface, ticking *clocktesting.FakeClock, what string, is func(*corev1.Pod) bool,
) {
	t.Helper()
	late, nudge := time.After(waitTimeout), time.NewTicker(10*time.Millisecond)
	defer nudge.Stop()
	for {
		select {
		case e := <-w.ResultChan():
			if pod, ok := e.Object.(*corev1.Pod); ok && is(pod) {
				return
			}
		case <-nudge.C:
			ticking.Step(time.Microsecond)
		case <-late:
			t.Fatalf("no version of the pod was %s", what)
		}
	}
}

func TestReadinessGateOpens(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("web", func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/up"}}
	}))
	pod := s.until("web", "running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	if ready(pod) {
		t.Error("the pod is ready though its gate is closed")
	}
	pod.Status.Conditions = append(pod.Status.Conditions,
		corev1.PodCondition{Type: "example.com/up", Status: corev1.ConditionTrue})
	if _, err := s.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("web", "ready", ready)
}

func TestForcedDeletionAndReplacement(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("web"))
	first := s.until("web", "ready", ready)
	if err := s.CoreV1().Pods("default").Delete(t.Context(), "web", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	s.untilGone("web")
	s.create(podOf("web"))
	second := s.until("web", "ready again", ready)
	if first.UID == second.UID || first.Status.PodIP == second.Status.PodIP {
		t.Errorf("the second pod has uid %s and address %s of the first", second.UID, second.Status.PodIP)
	}
}

func TestHostNetwork(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("web", func(p *corev1.Pod) { p.Spec.HostNetwork = true }))
	if pod := s.until("web", "ready", ready); pod.Status.PodIP != pod.Status.HostIP {
		t.Errorf("a pod of the host's network has address %q, the host %q", pod.Status.PodIP, pod.Status.HostIP)
	}
}

func TestDeletionIsStatusThenDelete(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("web"))
	s.until("web", "ready", ready)
	if err := s.CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.untilGone("web")
	s.untilEvent("web", "Killing", "")
	want := []string{"patch status", "patch status", "delete"}
	var writes []string
	// That the pod is gone may be seen before the kubelet knows it.
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, waitTimeout, true,
		func(context.Context) (bool, error) {
			writes = nil
			for _, e := range s.trace.list() {
				if r, ok := e.Detail.(*trace.Request); ok && e.Controller == KubeletName && r.IsWrite() && r.Resource == "pods" {
					writes = append(writes, strings.TrimSuffix(r.Verb+" "+r.Subresource, " "))
				}
			}
			return len(writes) >= len(want), nil
		})
	if diff := cmp.Diff(want, writes); err != nil || diff != "" {
		t.Errorf("the kubelet's writes of pods (-want +got): %v\n%s", err, diff)
	}
}

func TestFreshest(t *testing.T) {
	version := func(v string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: v}}
	}
	tests := []struct {
		reason         string
		written, cache *corev1.Pod
		want           string
	}{
		{"nothing was written yet", nil, version("5"), "5"},
		{"a cache that has not seen the write yet is stale", version("10"), version("9"), "10"},
		{"a cache that has seen more counts", version("9"), version("10"), "10"},
		{"versions that cannot be compared are left to the API", version("9"), version("x"), "x"},
	}
	for _, tt := range tests {
		k, m := &kubelet{}, &podState{latest: tt.written}
		if got := k.newest(m, tt.cache).ResourceVersion; got != tt.want {
			t.Errorf("%s: got version %s, want %s", tt.reason, got, tt.want)
		}
	}
}

func TestOwnIsKeptOnce(t *testing.T) {
	version := func(v string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: v}}
	}
	m := &podState{latest: version("5")}
	k := &kubelet{states: map[types.UID]*podState{"u": m}}
	if k.isOwnWrite(version("4")) || k.isOwnWrite(version("6")) {
		t.Error("a change by others counts as the kubelet's own")
	}
	seen := version("5")
	if !k.isOwnWrite(seen) || m.latest != seen {
		t.Error("the kubelet's own write was not known, or is kept beside the informer's copy of it")
	}
	if !k.isOwnWrite(version("5")) {
		t.Error("the kubelet's own write is not known a second time")
	}
}

func TestKubeletForgets(t *testing.T) {
	k := &kubelet{addresses: newPodAddresses(), states: map[types.UID]*podState{"old": {ip: "10.0.0.1"}}}
	k.addresses.reserve("10.0.0.1")
	old, replaced := bound(named("old"), "a"), bound(named("new"), "a")
	replaced.Name = "old"
	requests := k.onPod(engine.Event{Old: old, New: replaced})
	if len(k.states) != 0 || k.addresses.used["10.0.0.1"] {
		t.Error("the state or the address of a pod is kept whose deletion was seen as an update")
	}
	if !slices.Equal(requests, []engine.Request{{Namespace: "default", Name: "old"}}) {
		t.Errorf("requests %v, want one for the pod in its place", requests)
	}
	if requests := k.onPod(engine.Event{Old: replaced}); len(requests) != 0 {
		t.Errorf("requests %v for a pod that is gone", requests)
	}
	if requests := k.onPod(engine.Event{New: named("free")}); len(requests) != 0 {
		t.Errorf("requests %v for a pod without a node", requests)
	}
}

// TestNodeOfCopiedPods: a node brings back its pods, but not those that stay as they were copied.
func TestNodeOfCopiedPods(t *testing.T) {
	node := newNode(0, DefaultCapacity(), "v0.0.0", epoch)
	pod := bound(named("web"), node.Name)
	k := kubeletAnswering(t, pod, nil)
	if got := k.onNode(engine.Event{New: node, Initial: true}); len(got) != 1 {
		t.Errorf("requests %v, want one for the pod of the node", got)
	}
	k.copied = NewCopied(nil, []*corev1.Pod{pod})
	if got := k.onNode(engine.Event{New: node, Initial: true}); len(got) != 0 {
		t.Errorf("requests %v for a pod that was copied", got)
	}
}

func TestStopTime(t *testing.T) {
	k := &kubelet{stopAfter: 5 * time.Second}
	grace := func(s int64) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionGracePeriodSeconds: &s}}
	}
	tests := []struct {
		reason string
		pod    *corev1.Pod
		want   time.Duration
	}{
		{"a long grace is not used up", grace(30), 5 * time.Second},
		{"a short one is not exceeded", grace(1), time.Second},
		{"none means at once", grace(0), 0},
		{"not known means our own time", &corev1.Pod{}, 5 * time.Second},
	}
	for _, tt := range tests {
		if got := k.stopTime(tt.pod); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.reason, got, tt.want)
		}
	}
}

// kubeletAnswering answers every status patch with the pod that a kubelet at epoch would have written, changed by the
// function. It does what writes of others do that come between the kubelet's reading and its write, which an API server
// cannot be made to do on demand.
func kubeletAnswering(t *testing.T, pod *corev1.Pod, change func(*corev1.Pod)) *kubelet {
	t.Helper()
	pods, nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{}), cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	node := newNode(0, DefaultCapacity(), "v0.0.0", epoch)
	for store, object := range map[cache.Indexer]any{pods: pod, nodes: node} {
		if err := store.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	client := fake.NewClientset()
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		answer := pod.DeepCopy()
		m := newPodState(answer, plan{}, 0, epoch)
		m.advance(answer, epoch)
		m.ip = "10.128.0.1"
		answer.Status = m.status(answer, hostIP(0), epoch)
		answer.ResourceVersion = "7"
		change(answer)
		return true, answer, nil
	})
	return &kubelet{
		pods: corelisters.NewPodLister(pods), nodes: corelisters.NewNodeLister(nodes), client: client, clock: fixed(epoch),
		addresses: newPodAddresses(), states: map[types.UID]*podState{},
	}
}

func TestWritesOfOthersMeanwhile(t *testing.T) {
	gated := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/up"}}
	}
	tests := []struct {
		name   string
		reason string
		pod    *corev1.Pod
		change func(*corev1.Pod)
		again  bool
	}{
		{"none", "what was written as it should be is done with", podOf("p"), func(*corev1.Pod) {}, false},
		{"deleted", "a deletion must not be missed", podOf("p"),
			func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: epoch} }, true},
		{"gate", "nor a gate that has opened", podOf("p", gated), func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions,
				corev1.PodCondition{Type: "example.com/up", Status: corev1.ConditionTrue})
		}, true},
		{"other condition", "a condition that nothing depends on changes nothing", podOf("p"), func(p *corev1.Pod) {
			p.Status.Conditions = append([]corev1.PodCondition{{Type: "example.com/x", Status: corev1.ConditionTrue}},
				p.Status.Conditions...)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := bound(tt.pod, "node-1")
			k := kubeletAnswering(t, before, tt.change)
			result, err := k.Reconcile(t.Context(), engine.Request{Namespace: "default", Name: "p"})
			if err != nil {
				t.Fatal(err)
			}
			if again := result.RequeueAfter > 0; again != tt.again {
				t.Errorf("%s: comes back = %t, want %t", tt.reason, again, tt.again)
			}
			written := before.DeepCopy()
			written.ResourceVersion = "7"
			if r := k.onPod(engine.Event{Old: before, New: written}); len(r) != 0 {
				t.Errorf("the event of the kubelet's own write leads to %v", r)
			}
			later := written.DeepCopy()
			later.ResourceVersion = "8"
			if r := k.onPod(engine.Event{Old: written, New: later}); len(r) != 1 {
				t.Errorf("the event of another client's write leads to %v, want the pod", r)
			}
		})
	}
}
