package nodes

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/apitest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// waitTimeout is how long a test waits for a condition on a busy machine. No test depends on its length.
const waitTimeout = 2 * time.Minute

// sandbox is an embedded API server with simulated nodes.
type sandbox struct {
	kubernetes.Interface
	t      testing.TB
	config *rest.Config
	nodes  *Nodes
	trace  *events
}

// events keeps a trace.
type events struct {
	mu  sync.Mutex
	all []*trace.Event
}

func (e *events) Record(ev *trace.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

func (e *events) list() []*trace.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*trace.Event(nil), e.all...)
}

// Servers that tests share, one test after another: for pods, which need no ServiceAccounts there, and for volumes.
var (
	podServers    = apitest.NewPool(api.Options{DisableAdmission: []string{"ServiceAccount"}})
	volumeServers = apitest.NewPool(api.Options{})
)

// newSandbox starts simulated nodes for the length of the test. Config, Informers and Tap are filled in.
func newSandbox(t testing.TB, o Options) *sandbox {
	t.Helper()
	return newSandboxOn(t, podServers.Server(t, nil), o)
}

// newSandboxOn is newSandbox on an API server that the test has already.
func newSandboxOn(t testing.TB, server *api.Server, o Options) *sandbox {
	t.Helper()
	s := &sandbox{t: t, trace: &events{}}
	o.Tap = tap.New(tap.Options{Recorder: trace.NewRecorder(clock.RealClock{}, s.trace)})
	var err error
	if s.Interface, err = kubernetes.NewForConfig(server.Config()); err != nil {
		t.Fatal(err)
	}
	o.Config, s.config = server.Config(), server.Config()
	o.Informers = o.Tap.Informers(s, 0)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	if s.nodes, err = Start(ctx, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.nodes.Stop()
		if err := s.nodes.Wait(); err != nil {
			t.Error(err)
		}
		cancel()
		o.Informers.Shutdown()
	})
	return s
}

// create creates the pod in the namespace default.
func (s *sandbox) create(pod *corev1.Pod) *corev1.Pod {
	s.t.Helper()
	made, err := s.CoreV1().Pods("default").Create(s.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

// until waits until the pod satisfies the condition, and returns it.
func (s *sandbox) until(name, what string, condition func(*corev1.Pod) bool) *corev1.Pod {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	var last *corev1.Pod
	lw := cache.NewListWatchFromClient(s.CoreV1().RESTClient(), "pods", "default",
		fields.OneTermEqualSelector("metadata.name", name))
	_, err := watchtools.UntilWithSync(ctx, lw, &corev1.Pod{}, nil, func(e watch.Event) (bool, error) {
		if e.Type == watch.Deleted {
			return false, fmt.Errorf("pod %q was deleted", name)
		}
		pod, ok := e.Object.(*corev1.Pod)
		if ok {
			last = pod
		}
		return ok && condition(pod), nil
	})
	if err != nil {
		s.t.Fatalf("waiting for pod %q to be %s: %v; it was %v", name, what, err, text(last))
	}
	return last
}

// untilGone waits until the pod is not there.
func (s *sandbox) untilGone(name string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	lw := cache.NewListWatchFromClient(s.CoreV1().RESTClient(), "pods", "default",
		fields.OneTermEqualSelector("metadata.name", name))
	_, err := watchtools.UntilWithSync(ctx, lw, &corev1.Pod{},
		func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil },
		func(e watch.Event) (bool, error) { return e.Type == watch.Deleted, nil })
	if err != nil {
		s.t.Fatalf("waiting for pod %q to be gone: %v", name, err)
	}
}

// untilEvent waits for an Event about the pod whose message contains that text, and returns it.
func (s *sandbox) untilEvent(pod, reason, message string) *corev1.Event {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	var found *corev1.Event
	lw := cache.NewListWatchFromClient(s.CoreV1().RESTClient(), "events", "default", fields.Everything())
	_, err := watchtools.UntilWithSync(ctx, lw, &corev1.Event{}, nil, func(e watch.Event) (bool, error) {
		ev, ok := e.Object.(*corev1.Event)
		if ok && ev.InvolvedObject.Name == pod && ev.Reason == reason && strings.Contains(ev.Message, message) {
			found = ev
		}
		return found != nil, nil
	})
	if err != nil {
		s.t.Fatalf("waiting for the event %s (%s) of pod %q: %v", reason, message, pod, err)
	}
	return found
}

func text(pod *corev1.Pod) string {
	if pod == nil {
		return "not seen"
	}
	json, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod.Status)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(json)
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// podOf returns a pod of one container, changed by the given functions.
func podOf(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-of-" + "x", Generation: 1},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "web", Image: "nginx:1"}},
		},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func annotated(annotation, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[annotation] = value
	}
}

func restart(policy corev1.RestartPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.RestartPolicy = policy }
}

func requesting(name corev1.ResourceName, quantity string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(quantity)}
	}
}

func (s *sandbox) get(name string) *corev1.Pod {
	s.t.Helper()
	pod, err := s.CoreV1().Pods("default").Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return pod
}

// fixed is a clock that stands still.
func fixed(t time.Time) clock.WithTicker { return clocktesting.NewFakeClock(t) }

// TestMain checks that nothing is left running by the tests. Klog's flusher is the process's.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(apitest.Main{M: m, Pools: []*apitest.Pool{podServers, volumeServers}})
}
