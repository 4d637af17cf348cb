package controllers

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/apitest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestMain fails if a test leaves a goroutine running.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(apitest.Main{M: m, Pools: []*apitest.Pool{servers, bareServers}})
}

// eventLog is a sink that keeps everything.
type eventLog struct {
	mu  sync.Mutex
	all []*trace.Event
}

// Record implements trace.Sink.
func (l *eventLog) Record(e *trace.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
}

func (l *eventLog) list() []*trace.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// waitTimeout is how long a test waits for a condition on a busy machine. No test depends on its length.
const waitTimeout = 2 * time.Minute

// session is an embedded API with controllers.
type session struct {
	client kubernetes.Interface
	config *rest.Config
	tap    *tap.Tap
	log    *eventLog
	server *api.Server
}

// Servers that tests share, one test after another. One with DefaultServiceAccounts makes ServiceAccounts itself; a
// bare one leaves that to the controllers.
var (
	servers     = apitest.NewPool(api.Options{DefaultServiceAccounts: true})
	bareServers = apitest.NewPool(api.Options{})
)

// serverFunc returns an API server for the length of the test, which calls onCommit after every write.
type serverFunc func(t testing.TB, onCommit func(context.Context, uint64)) *api.Server

// ownServer starts a server for one test alone. A test needs that if it has other options, defines kinds or makes
// quotas: a server does not forget these at once.
func ownServer(o api.Options) serverFunc {
	return func(t testing.TB, onCommit func(context.Context, uint64)) *api.Server {
		t.Helper()
		o.OnCommit = onCommit
		server, err := api.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := server.Stop(); err != nil {
				t.Error(err)
			}
		})
		return server
	}
}

// newSession returns a session on a server.
func newSession(t testing.TB, observing tap.Options, serverOf serverFunc) *session {
	t.Helper()
	tapped := tap.New(observing)
	server := serverOf(t, tapped.Committed)
	tapped.Committed(t.Context(), server.ResourceVersion()) // what was written before is not waited for
	config := server.Config()
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	return &session{client: kubernetes.NewForConfigOrDie(config), config: config, tap: tapped, server: server}
}

// recordedSessionOn returns a session on a server, with a log of the events.
func recordedSessionOn(t testing.TB, observing tap.Options, serverOf serverFunc) *session {
	t.Helper()
	log := &eventLog{}
	observing.Recorder = trace.NewRecorder(clock.RealClock{}, log)
	s := newSession(t, observing, serverOf)
	s.log = log
	return s
}

// recordedSession returns a session with a log of the events, on a server that makes ServiceAccounts.
func recordedSession(t testing.TB) *session {
	t.Helper()
	return recordedSessionOn(t, tap.Options{}, servers.Server)
}

// ownSession is recordedSession on a server for this test alone.
func ownSession(t testing.TB) *session {
	t.Helper()
	return recordedSessionOn(t, tap.Options{}, ownServer(api.Options{DefaultServiceAccounts: true}))
}

// bareSession is recordedSession on a server that does nothing in a controller's place.
func bareSession(t testing.TB) *session {
	t.Helper()
	return recordedSessionOn(t, tap.Options{}, bareServers.Server)
}

// run starts the controllers until the test ends.
func (s *session) run(t testing.TB, workers int, args ...string) {
	t.Helper()
	t.Cleanup(s.start(t, workers, args...))
}

// start starts the controllers, and returns what stops them.
func (s *session) start(t testing.TB, workers int, args ...string) (stop func()) {
	t.Helper()
	chosen, err := Select(args)
	if err != nil {
		t.Fatal(err)
	}
	return s.startThese(t, workers, chosen...)
}

// startThese starts controllers whose rows were made for the test.
func (s *session) startThese(t testing.TB, workers int, chosen ...Controller) (stop func()) {
	t.Helper()
	informersClient, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running, err := Start(ctx, Deps{
		Tap: s.tap, Informers: s.tap.Informers(informersClient, 0), Config: s.config, Workers: workers,
		Authority: s.authority(t), Kinds: s.server.Kinds(), Newest: s.server.LastEvent,
	}, chosen)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// eventually waits for the condition, and fails the test if it does not come about.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, waitTimeout, true,
		func(context.Context) (bool, error) {
			return condition(), nil
		})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// activity is what a controller did, by the trace.
type activity struct {
	// Causes are "EVENT KIND NAME seen by HANDLER" of the watch events that led to reconciles, each once, sorted. What
	// is generated of a pod's name is "*".
	Causes []string
	// Writes are "VERB RESOURCE[/SUBRESOURCE] by KEY" of writes that were granted, Events left out, each once, sorted.
	Writes []string
}

var generated = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// activity returns what the controller did so far. A write that belongs to no reconcile is "by no reconcile".
func (s *session) activity(controller string) activity {
	var a activity
	for _, e := range s.log.list() {
		if e.Controller != controller {
			continue
		}
		switch d := e.Detail.(type) {
		case *trace.Start:
			for _, c := range d.Causes {
				if w := c.Watch; w != nil {
					a.Causes = append(a.Causes, fmt.Sprintf("%s %s %s seen by %s", w.Event, w.Kind,
						generated.ReplaceAllString(w.Name, "-*"), c.Handler))
				}
			}
		case *trace.Request:
			if d.IsWrite() && !d.Failed() && d.Recorded == nil {
				a.Writes = append(a.Writes, describeWrite(e, d))
			}
		}
	}
	slices.Sort(a.Causes)
	slices.Sort(a.Writes)
	a.Causes, a.Writes = slices.Compact(a.Causes), slices.Compact(a.Writes)
	return a
}

func describeWrite(e *trace.Event, r *trace.Request) string {
	by := e.Key
	if e.Reconcile == 0 {
		by = "no reconcile"
	}
	target := strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")
	return fmt.Sprintf("%s %s by %s", r.Verb, target, by)
}

// expectActivity waits until the trace holds all of want, and fails if it holds other writes.
func (s *session) expectActivity(t *testing.T, controller string, want activity) {
	t.Helper()
	var got activity

	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, waitTimeout, true,
		func(context.Context) (bool, error) {
			got = s.activity(controller)
			got.Causes = slices.DeleteFunc(got.Causes, func(line string) bool { return !slices.Contains(want.Causes, line) })
			return s.tap.State().Idle() && len(got.Causes) == len(want.Causes) && len(got.Writes) >= len(want.Writes), nil
		})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("what %s did (-want +got): %v\n%s\nall: %+v", controller, err, diff, s.activity(controller))
	}
	s.retriesFollowFailures(t)
}

// retriesFollowFailures fails the test if a reconcile counts as a retry although the one before did not fail: a
// controller that adds its keys again once a period does not retry.
func (s *session) retriesFollowFailures(t *testing.T) {
	t.Helper()
	ended := map[trace.ReconcileID]trace.Outcome{}
	for _, e := range s.log.list() {
		switch d := e.Detail.(type) {
		case *trace.End:
			ended[e.Reconcile] = d.Outcome
		case *trace.Start:
			for _, c := range d.Causes {
				if c.Type == trace.CauseRetry && ended[c.Reconcile] != trace.Failed {
					t.Errorf("%s %s is retried after #%d, which ended %q", e.Controller, e.Key, c.Reconcile, ended[c.Reconcile])
				}
			}
		}
	}
}

// node makes a Node that pods may be bound to.
func (s *session) node(t *testing.T, name string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node, err := s.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.Taints = nil    // that it is not ready, which admission has added
	node.ResourceVersion = "" // controllers may have written it since
	if _, err := s.client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// pod makes a pod with the labels app=NAME; running and ready at an address, on node-1, if address is not empty.
func (s *session) pod(t *testing.T, name, address string) *corev1.Pod {
	t.Helper()
	pods := s.client.CoreV1().Pods("default")
	spec := template(name)
	if address != "" {
		spec.Spec.NodeName = "node-1"
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: spec.Labels}, Spec: spec.Spec}
	pod, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if address == "" {
		return pod
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.ResourceVersion = "" // controllers may have written it since
	if pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return pod
}

// writesWithCauses are the writes of a controller that were granted, Events left out, each with the key that it was
// made for and the first watch event that led to it: "VERB RESOURCE[/SUBRESOURCE] by KEY because EVENT KIND NAME seen
// by HANDLER". A write outside of any reconcile is "by no reconcile". They are sorted, and each is there once.
func (s *session) writesWithCauses(controller string) []string {
	var out []string
	causes := map[trace.ReconcileID]string{}
	for _, e := range s.log.list() {
		if e.Controller != controller {
			continue
		}
		switch d := e.Detail.(type) {
		case *trace.Start:
			causes[e.Reconcile] = describeCause(d.Causes)
		case *trace.Request:
			if d.IsWrite() && !d.Failed() && d.Recorded == nil {
				out = append(out, describeWrite(e, d)+causes[e.Reconcile])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func describeCause(causes []trace.Cause) string {
	for _, c := range causes {
		if c.Watch != nil {
			return fmt.Sprintf(" because %s %s %s seen by %s", c.Watch.Event, c.Watch.Kind, c.Watch.Name, c.Handler)
		}
	}
	if len(causes) > 0 {
		return " because of " + causes[0].Handler
	}
	return ""
}

// expect waits until the controller has made all of these writes, as writesWithCauses returns them.
func (s *session) expect(t testing.TB, controller string, want ...string) {
	t.Helper()
	var missing, got []string
	err := wait.PollUntilContextTimeout(t.Context(), 2*time.Millisecond, waitTimeout, true,
		func(context.Context) (bool, error) {
			got = s.writesWithCauses(controller)
			missing = slices.DeleteFunc(slices.Clone(want), func(write string) bool { return slices.Contains(got, write) })
			return len(missing) == 0, nil
		})
	if err != nil {
		t.Errorf("%s has not made the writes\n\t%s\nbut\n\t%s",
			controller, strings.Join(missing, "\n\t"), strings.Join(got, "\n\t"))
	}
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustValue is what a client's Create returned, which must not have failed.
func mustValue[T any](t testing.TB) func(T, error) T {
	return func(created T, err error) T {
		t.Helper()
		must(t, err)
		return created
	}
}

func (s *session) namespace(t testing.TB, name string) *corev1.Namespace {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return mustValue[*corev1.Namespace](t)(s.client.CoreV1().Namespaces().Create(t.Context(), namespace,
		metav1.CreateOptions{}))
}

// impersonating is a client in the name of another.
func (s *session) impersonating(t testing.TB, user string, groups ...string) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return mustValue[*kubernetes.Clientset](t)(kubernetes.NewForConfig(config))
}

func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}},
	}
}

// requests are the log's requests with that verb for that resource that were granted: a controller whose informer lags
// may create an object twice, and the second request fails.
func (s *session) requests(verb, resource string) []*trace.Event {
	var out []*trace.Event
	for _, e := range s.log.list() {
		if r, ok := e.Detail.(*trace.Request); ok && r.Verb == verb && r.Resource == resource && !r.Failed() {
			out = append(out, e)
		}
	}
	return out
}

// settle waits until there is nothing left to do, as Session.Settled does.
func (s *session) settle(t *testing.T) {
	t.Helper()
	eventually(t, "nothing to do", func() bool {
		state := s.tap.State()
		if !state.Idle() {
			return false
		}
		for resource, handled := range state.Handled {
			if handled < s.server.LastEvent(resource) {
				return false
			}
		}
		return true
	})
}

// jsonConfig is the configuration for objects that have no protobuf.
func jsonConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeJSON
	return config
}
