package tap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// inReconcile runs work in a reconcile of the controller and returns its end.
func inReconcile(t *testing.T, c *Controller, sink *eventLog, work func(ctx context.Context)) *trace.End {
	t.Helper()
	q := newQueue(c)
	defer q.ShutDown()
	q.Add("web")
	_, end := reconcileOnce(q, sink, func(string) { work(c.Context(t.Context())) })
	return end
}

func TestLogsBelongToTheReconcile(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("replicaset")
	inReconcile(t, c, sink, func(ctx context.Context) {
		logger := klog.FromContext(ctx).WithValues("set", klog.KRef("default", "web"))
		logger.V(2).Info("Too few replicas", "need", 3)
		logger.WithName("x").V(4).Info("Adopting", "need", 3, "need", 4)
		logger.V(5).Info("Too deep to be recorded")
		logger.Error(errors.New("quota"), "Creating", "odd")
	})
	klog.FromContext(c.Context(t.Context())).Info("Starting controller")
	got := details[*trace.Log](sink)
	set := trace.Value{Key: "set", Value: "default/web"}
	want := []*trace.Log{
		{Level: 2, Message: "Too few replicas", Values: trace.Values{set, {Key: "need", Value: "3"}}},
		{Level: 4, Message: "Adopting", Values: trace.Values{set, {Key: "need", Value: "4"}}},
		{Message: "Creating", Error: "quota", Values: trace.Values{set, {Key: "odd", Value: "(MISSING)"}}},
		{Message: "Starting controller"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for _, e := range sink.list() {
		if l, ok := e.Detail.(*trace.Log); ok {
			if inside := l.Message != "Starting controller"; inside != (e.Reconcile == 1 && e.Key == "web") ||
				e.Controller != "replicaset" {
				t.Errorf("%q is of reconcile %d, key %q, of %q", l.Message, e.Reconcile, e.Key, e.Controller)
			}
		}
	}
}

func TestVerbosity(t *testing.T) {
	for _, test := range []struct {
		reason    string
		verbosity int
		want      int
	}{
		{"0 is the default", 0, DefaultVerbosity},
		{"a negative one is the least", -1, 0},
		{"what is requested", 6, 6},
		{"less than upstream needs to say why it failed", 1, 1},
	} {
		sink := &eventLog{}
		tap := New(Options{Recorder: trace.NewRecorder(klogClock{}, sink), Verbosity: test.verbosity})
		logger := klog.FromContext(tap.Controller("x").Context(t.Context()))
		for level := range 10 {
			logger.V(level).Info("line")
		}
		if n := len(details[*trace.Log](sink)); n != test.want+1 {
			t.Errorf("%s: levels up to %d are recorded, want %d", test.reason, n-1, test.want)
		}
	}
}

type klogClock struct{}

func (klogClock) Now() time.Time                          { return time.Time{} }
func (klogClock) Since(time.Time) (elapsed time.Duration) { return 0 }

func TestErrorsAreRecordedOnceHoweverTheyAreReported(t *testing.T) {
	refused := errors.New("the object has been modified")
	for _, test := range []struct {
		reason string
		report func(ctx context.Context)
	}{
		{"without a context, as ReplicaSet does", func(context.Context) { utilruntime.HandleError(refused) }},
		{"with the controller's context", func(ctx context.Context) {
			utilruntime.HandleErrorWithContext(ctx, refused,
				"Syncing")
		}},
		{"with its logger", func(ctx context.Context) {
			utilruntime.HandleErrorWithLogger(klog.FromContext(ctx), refused, "Syncing")
		}},
		{"by a logger alone", func(ctx context.Context) { klog.FromContext(ctx).Error(refused, "Syncing") }},
		{"with a context that has another logger", func(ctx context.Context) {
			utilruntime.HandleErrorWithContext(klog.NewContext(ctx, klog.Logger{}), refused, "Syncing")
		}},
	} {
		tap, sink := recording()
		c := tap.Controller("replicaset")
		inReconcile(t, c, sink, test.report)
		logs := details[*trace.Log](sink)
		if len(logs) != 1 || logs[0].Error != refused.Error() {
			t.Errorf("%s: recorded %+v, want the error once", test.reason, logs)
		}
	}
}

func TestErrorsOfOthersAreNotTheControllers(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("replicaset")
	utilruntime.HandleError(errors.New("of no controller"))
	end := inReconcile(t, c, sink, func(context.Context) {
		s := &activity{controller: c, reconcile: currentActivity().reconcile, inRequest: true}
		defer s.enter(pprof.Labels()).end()
		utilruntime.HandleError(errors.New("of an API server in this process"))
	})
	if logs := details[*trace.Log](sink); len(logs) != 0 || end.Error != "" {
		t.Errorf("recorded %+v, end %+v", logs, end)
	}
}

func TestReasonForAFailureIsTheLastError(t *testing.T) {
	for _, test := range []struct {
		reason string
		work   func(ctx context.Context, again func())
		want   trace.End
	}{
		{"an error among the values, as Deployment's", func(ctx context.Context, again func()) {
			klog.FromContext(ctx).V(2).Info("Error syncing deployment", "err", errors.New("conflict"))
			again()
		}, trace.End{Outcome: trace.Failed, Error: "conflict", Next: &trace.Next{Retry: 1}}},
		{"the later of two", func(ctx context.Context, again func()) {
			klog.FromContext(ctx).Error(errors.New("first"), "x")
			utilruntime.HandleError(errors.New("second"))
			again()
		}, trace.End{Outcome: trace.Failed, Error: "second", Next: &trace.Next{Retry: 1}}},
		{"a message without an error", func(ctx context.Context, again func()) {
			klog.FromContext(ctx).Error(nil, "Observed a panic")
			again()
		}, trace.End{Outcome: trace.Failed, Error: "Observed a panic", Next: &trace.Next{Retry: 1}}},
		{"that its cache is behind its own writes puts it off", func(ctx context.Context, again func()) {
			utilruntime.HandleError(errors.New("read version: 1 is not as new as written version: 2 for group resource pods"))
			again()
		}, trace.End{
			Outcome: trace.Failed, PutOff: "pods", Error: "read version: 1 is not as new as written version: 2 for group resource pods",
			Next: &trace.Next{Retry: 1},
		}},
		{"an error that did not make it fail is no reason", func(ctx context.Context, _ func()) {
			klog.FromContext(ctx).Error(errors.New("ignored"), "x")
		}, trace.End{Outcome: trace.Done}},
	} {
		tap, sink := recording()
		q := newQueue(tap.Controller("x"))
		q.Add("web")
		_, end := reconcileOnce(q, sink, func(k string) {
			test.work(tap.Controller("x").Context(t.Context()), func() { q.AddRateLimited(k) })
		})
		q.ShutDown()
		got := *end
		got.Duration = 0
		if got.Next != nil {
			got.Next = &trace.Next{Retry: got.Next.Retry}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// marshaler logs itself as something else.
type marshaler struct{ v any }

func (m marshaler) MarshalLog() any { return m.v }

// broken panics when it is made text.
type broken struct{}

func (broken) String() string { panic("boom") }

// byKlog is the text that klog's text output has for a value, without quotes.
func byKlog(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&b), textlogger.WithHeader(false))).Info("m", "k", v)
	_, text, found := strings.Cut(strings.TrimSpace(b.String()), "k=")
	if !found {
		t.Fatalf("klog wrote %q", b.String())
	}
	if unquoted, err := strconv.Unquote(text); err == nil {
		return unquoted
	}
	return text
}

func TestValuesAreFormattedAsKlogDoes(t *testing.T) {
	for _, v := range []any{
		"text", 3, 2.5, true, nil, time.Minute, errors.New("refused"), fmt.Errorf("wrapped: %w", errors.New("x")),
		klog.KRef("default", "web"), klog.KRef("", "node"), klog.KObj(testPod("web", "a")), cache.ExplicitKey("a/b"),
		[]string{"a", "b"}, map[string]int{"a": 1}, struct{ A, B string }{"x", "y"}, &struct{ A int }{1},
		marshaler{"as this"}, marshaler{map[string]string{"a": "b"}}, broken{}, []byte("ab"),
	} {
		if got, want := valueText(v), byKlog(t, v); got != want {
			t.Errorf("%T: got %q, klog has %q", v, got, want)
		}
	}
}

func TestLongValuesAreCut(t *testing.T) {
	if got := valueText(testPod("web", "a")); got != "default/web" {
		t.Errorf("a whole object is logged as %q", got)
	}
	got := valueText(strings.Repeat("ä", maxValue))
	if len(got) > maxValue+40 || !strings.HasSuffix(got, " bytes more)") || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("got %d bytes: %q…", len(got), got[maxValue-10:])
	}
}

// TestStuckKeys: a key that is put off again and again while its controller's cache does not change has failed.
func TestStuckKeys(t *testing.T) {
	const first, second = "read version: 1 is not as new as written version: 2 for group resource pods",
		"read version: 3 is not as new as written version: 4 for group resource pods"
	type reconciled struct {
		key, err string
		times    int
	}
	for _, test := range []struct {
		reason string
		before []reconciled
		apart  time.Duration
		want   bool // one more by the first error is stuck
	}{
		{"a few times", []reconciled{{"web", first, maxPutOff - 1}}, time.Second, false},
		{"too often", []reconciled{{"web", first, maxPutOff}}, time.Second, true},
		{"often in a moment, as events add it", []reconciled{{"web", first, 5 * maxPutOff}}, time.Millisecond, false},
		{"the cache changes", []reconciled{{"web", first, maxPutOff}, {"web", second, maxPutOff}}, time.Second, false},
		{"it was done in between", []reconciled{{"web", first, maxPutOff}, {"web", "", 1}}, time.Second, false},
		{"another key", []reconciled{{"api", first, maxPutOff}}, time.Second, false},
	} {
		var keys staleKeys
		now := time.Unix(1700000000, 0)
		for _, r := range test.before {
			for range r.times {
				keys.isStuck("", r.key, r.err, r.err != "", now)
				now = now.Add(test.apart)
			}
		}
		if got := keys.isStuck("", "web", first, true, now); got != test.want {
			t.Errorf("%s: stuck: %t, want %t", test.reason, got, test.want)
		}
	}
}
