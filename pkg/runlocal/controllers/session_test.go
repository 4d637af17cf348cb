package controllers

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// patience bounds what a test waits for on a busy machine; nothing is timed by it.
const patience = 2 * time.Minute

// session is an embedded API with controllers.
type session struct {
	client kubernetes.Interface
	config *rest.Config
	tap    *tap.Tap
	log    *eventLog
	server *api.Server
}

// newSession starts the API; recorder may be nil.
func newSession(t testing.TB, recorder *trace.Recorder) *session {
	t.Helper()
	return newSessionOf(t, tap.Options{Recorder: recorder}, api.Options{DefaultServiceAccounts: true})
}

// newSessionOf starts the API; OnCommit is set.
func newSessionOf(t testing.TB, observing tap.Options, serving api.Options) *session {
	t.Helper()
	tapped := tap.New(observing)
	serving.OnCommit = tapped.Committed
	server, err := api.Start(t.Context(), serving)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	config := server.Config()
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	return &session{client: kubernetes.NewForConfigOrDie(config), config: config, tap: tapped, server: server}
}

// recordedSession is newSession with a log of the events.
func recordedSession(t testing.TB) *session {
	t.Helper()
	log := &eventLog{}
	s := newSession(t, trace.NewRecorder(clock.RealClock{}, log))
	s.log = log
	return s
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
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}
