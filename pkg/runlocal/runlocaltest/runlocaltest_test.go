package runlocaltest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// innerTest is a test that tests Start and AssertQuiescent: its failures are no failures of the real test.
type innerTest struct {
	testing.TB
	failed   bool
	text     strings.Builder
	cleanups []func()
}

func (i *innerTest) Helper()           {}
func (i *innerTest) Failed() bool      { return i.failed }
func (i *innerTest) Cleanup(do func()) { i.cleanups = append(i.cleanups, do) }

func (i *innerTest) Logf(format string, args ...any) { fmt.Fprintf(&i.text, format+"\n", args...) }

func (i *innerTest) Errorf(format string, args ...any) {
	i.failed = true
	i.Logf(format, args...)
}

func (i *innerTest) Error(args ...any) { i.Errorf("%s", fmt.Sprint(args...)) }

// errFatal is what Fatalf panics with.
type errFatal struct{}

func (i *innerTest) Fatalf(format string, args ...any) {
	i.Errorf(format, args...)
	panic(errFatal{})
}

// end calls the cleanup functions.
func (i *innerTest) end() {
	for _, cleanup := range slices.Backward(i.cleanups) {
		cleanup()
	}
}

// run runs test as an inner test to its end.
func run(t *testing.T, test func(testing.TB)) (inner *innerTest) {
	inner = &innerTest{TB: t}
	defer func() {
		if p := recover(); p != nil && p != (errFatal{}) {
			panic(p)
		}
	}()
	defer inner.end()
	test(inner)
	return inner
}

func TestStart(t *testing.T) {
	leak := make(chan struct{})
	defer close(leak)
	for _, tt := range []struct {
		reason string
		test   func(testing.TB)
		fails  bool
		text   string // in the log
	}{
		{"a session ends with its test", func(tb testing.TB) { Start(tb, runlocal.Options{}) }, false, ""},
		{"a test may stop it itself", func(tb testing.TB) {
			if err := Start(tb, runlocal.Options{}).Stop(); err != nil {
				tb.Error(err)
			}
		}, false, ""},
		{"a test that fails has the trace", func(tb testing.TB) {
			Start(tb, runlocal.Options{})
			tb.Error("it failed")
		}, true, `"controller":"kubelet"`},
		{"the trace is another's", func(tb testing.TB) {
			s := Start(tb, runlocal.Options{Recorder: trace.NewRecorder(clock.RealClock{})})
			tb.Errorf("it failed, %t", s.History == nil)
		}, true, "it failed, true"},
		{"a goroutine is left", func(tb testing.TB) {
			Start(tb, runlocal.Options{})
			go func() { <-leak }()
		}, true, "found unexpected goroutines"},
		{"there is no such controller", func(tb testing.TB) {
			Start(tb, runlocal.Options{Controllers: runlocal.Names("deploymnt")})
		}, true, `starting a session: no controller "deploymnt"`},
	} {
		inner := run(t, tt.test)
		if inner.failed != tt.fails || !strings.Contains(inner.text.String(), tt.text) {
			t.Errorf("%s: the test failed: %t; its log: %s", tt.reason, inner.failed, &inner.text)
		}
	}
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`

// started returns a session in which a Deployment is ready.
func started(t testing.TB) *Session {
	t.Helper()
	s := Start(t, runlocal.Options{Controllers: runlocal.Names("deployment", "replicaset")})
	ApplyReady(t, s, "default", web)
	return s
}

// TestApplyReady: the text in the log of a test that fails; started shows one that does not.
func TestApplyReady(t *testing.T) {
	for _, tt := range []struct {
		reason, manifests, text string
	}{
		{"no object", "replicas: 3", "reading objects: manifests: line 1: a manifest with"},
		{"an object that the API refuses", "{apiVersion: v1, kind: Pod, metadata: {name: a}}", "applying objects: "},
		{"no controller makes it ready", web, "waiting until objects are ready: "},
	} {
		inner := run(t, func(tb testing.TB) { ApplyReady(tb, Start(tb, runlocal.Options{}), "default", tt.manifests) })
		if !inner.failed || !strings.Contains(inner.text.String(), tt.text) {
			t.Errorf("%s: the test failed: %t; its log: %s", tt.reason, inner.failed, &inner.text)
		}
	}
}

func TestQuiescent(t *testing.T) {
	AssertQuiescent(t, started(t))
}

// TestMaxReconciles: the log of a test that fails has the keys.
func TestMaxReconciles(t *testing.T) {
	s := started(t)
	MaxReconciles(t, s, "deployment", 1000)
	if inner := run(t, func(tb testing.TB) { MaxReconciles(tb, s, "job", 0) }); !inner.failed ||
		!strings.Contains(inner.text.String(), `no controller "job", but deployment, `) {
		t.Errorf("a controller that does not run: %s", &inner.text)
	}
	inner := &innerTest{TB: t}
	MaxReconciles(inner, s, "deployment", 1)
	if text := inner.text.String(); !inner.failed || !strings.Contains(text, " times, more than 1:\n") ||
		!strings.Contains(text, " × default/web\n") {
		t.Errorf("the log of a test with too many reconciles: %s", text)
	}
}

// TestNotQuiescent: another writer undoes again and again what a controller has written.
func TestNotQuiescent(t *testing.T) {
	s := started(t)
	deployments := kubernetes.NewForConfigOrDie(s.Config()).AppsV1().Deployments("default")
	ctx, cancel := context.WithCancel(t.Context())
	fighting := make(chan struct{})
	go func() {
		defer close(fighting)
		ticker := time.NewTicker(quietTime / 10)
		defer ticker.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1+n%2)
			_, _ = deployments.Patch(ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	}()
	inner := &innerTest{TB: t}
	AssertQuiescent(inner, s)
	cancel()
	<-fighting
	if text := inner.text.String(); !inner.failed || !strings.Contains(text, "deployment of default/web: update replicasets default/web-") {
		t.Errorf("two writers that undo each other's writes are quiet: %s", text)
	} else if !strings.Contains(text, "loop: Deployment default/web by runlocaltest.test, spec.replicas") {
		t.Errorf("the loop is not named: %s", text)
	}
}
