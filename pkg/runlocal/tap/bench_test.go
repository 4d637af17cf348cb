package tap

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// taps are what a benchmark compares: nothing observed, observed without a recorder, and recorded.
func taps(b *testing.B, run func(b *testing.B, t *Tap)) {
	b.Run("untapped", func(b *testing.B) { run(b, nil) })
	b.Run("off", func(b *testing.B) { run(b, New(Options{})) })
	b.Run("on", func(b *testing.B) {
		run(b, New(Options{Recorder: trace.NewRecorder(clock.RealClock{}, trace.NewSummary())}))
	})
}

func BenchmarkAddGetDone(b *testing.B) {
	taps(b, func(b *testing.B, t *Tap) {
		q := plainQueue()
		if t != nil {
			q = WrapQueue(t.Controller("x"), "", q, text)
		}
		defer q.ShutDown()
		b.ReportAllocs()
		for b.Loop() {
			enqueueWeb(q)
			k, _ := q.Get()
			q.Forget(k)
			q.Done(k)
		}
	})
}

func BenchmarkHandler(b *testing.B) {
	taps(b, func(b *testing.B, t *Tap) {
		var next cache.ResourceEventHandler = cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {}}
		if t != nil {
			source := cachetesting.NewFakeControllerSource()
			defer source.Shutdown()
			next = &handler{informer: podInformer(t, source), next: next}
		}
		old, updated := testPod("web", "a"), testPod("web", "b")
		old.ResourceVersion, updated.ResourceVersion = "1", "2"
		b.ReportAllocs()
		for b.Loop() {
			next.OnUpdate(old, updated)
		}
	})
}

func BenchmarkLog(b *testing.B) {
	taps(b, func(b *testing.B, t *Tap) {
		if t == nil {
			t = New(Options{})
		}
		logger := klog.FromContext(t.Controller("x").Context(b.Context()))
		b.ReportAllocs()
		for b.Loop() {
			logger.V(4).Info("Adding", "pod", klog.KRef("default", "web"), "count", 3)
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	replicas := int32(3)
	body := encode(b, runtime.ContentTypeProtobuf, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: "4"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector(), Template: template()},
	})
	taps(b, func(b *testing.B, t *Tap) {
		var rt http.RoundTripper = answering(200, body)
		if t != nil {
			rt = &transport{c: t.Controller("x"), next: rt}
		}
		b.ReportAllocs()
		for b.Loop() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodPut,
				"https://h/apis/apps/v1/namespaces/default/replicasets/web/status", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			resp, err := rt.RoundTrip(req)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Fatal(err)
			}
		}
	})
}
