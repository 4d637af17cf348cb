package render

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// podDeletion is the deletion of a pod.
func podDeletion(name string) *trace.Request {
	return &trace.Request{
		Verb: "delete", Object: trace.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: name},
		Code: 200, Latency: trace.Duration(time.Millisecond),
	}
}

func TestWritesOutsideOfReconciles(t *testing.T) {
	for _, test := range []struct {
		reason string
		events []*trace.Event
		want   string
	}{
		{
			"a write by no reconcile is the controller's own", []*trace.Event{ofNone("podgc", podDeletion("web-1"))}, `
+0.001s  podgc  (by itself)
  delete   Pod web-1                                   200  1ms
`,
		},
		{
			"those that follow at once go with it", []*trace.Event{
				ofNone("podgc", podDeletion("web-1")),
				ofNone("podgc", &trace.Log{Message: "Failed to delete", Error: "no"}), ofNone("podgc", podDeletion("web-2")),
			}, `
+0.001s  podgc  (by itself)
  delete   Pod web-1                                   200  1ms
  error    Failed to delete: no
  delete   Pod web-2                                   200  1ms
`,
		},
		{
			"not those of others", []*trace.Event{
				ofNone("podgc", podDeletion("web-1")), ofNone("csrcleaner", podDeletion("csr-1")), ofNone("podgc", podDeletion("web-2")),
			}, `
+0.001s  podgc  (by itself)
  delete   Pod web-1                                   200  1ms

+0.002s  csrcleaner  (by itself)
  delete   Pod csr-1                                   200  1ms

+0.003s  podgc  (by itself)
  delete   Pod web-2                                   200  1ms
`,
		},
		{
			"nor those after a reconcile", []*trace.Event{
				ofNone("deployment", podDeletion("web-1")), of1(&trace.Start{}), of1(&trace.End{Outcome: trace.Done, Writes: 1}), ofNone("deployment", podDeletion("web-2")),
			}, `
+0.001s  deployment  (by itself)
  delete   Pod web-1                                   200  1ms

+0.003s  deployment  default/web  #1
  because  its cause was not seen
  done     1 write, 0s

+0.004s  deployment  (by itself)
  delete   Pod web-2                                   200  1ms
`,
		},
		{
			"a turn of a loop is a block without a key", []*trace.Event{
				{Controller: "podgc", Reconcile: 1, Detail: &trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer}}}},
				{Controller: "podgc", Reconcile: 1, Detail: podDeletion("web-1")},
				{Controller: "podgc", Reconcile: 1, Detail: &trace.End{Outcome: trace.Done, Writes: 1}},
			}, `
+0.003s  podgc  (by itself)  #1
  because  a timer of its own
  delete   Pod web-1                                   200  1ms
  done     1 write, 0s
`,
		},
		{
			"what a turn queues has it for its cause", []*trace.Event{
				of1(&trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer, Handler: "enqueueAll"}}}), of1(&trace.End{Outcome: trace.Done, Writes: 1}),
			}, `
+0.002s  deployment  default/web  #1
  because  a timer of its own, added by enqueueAll
  done     1 write, 0s
`,
		},
	} {
		if diff := cmp.Diff(test.want, shown(t, BlocksOptions{Detail: Normal}, test.events...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestWritesOutsideOfReconcilesAreApartInTime(t *testing.T) {
	var out bytes.Buffer
	blocks := NewBlocks(&out, BlocksOptions{Detail: Normal})
	for n, at := range []time.Duration{0, time.Second, 3 * time.Second} {
		e := ofNone("podgc", podDeletion("web"))
		e.Seq, e.Time = uint64(n)+1, began().Add(at)
		blocks.Record(e)
	}
	want := `
+0.000s  podgc  (by itself)
  delete   Pod web                                     200  1ms
  delete   Pod web                                     200  1ms

+3.000s  podgc  (by itself)
  delete   Pod web                                     200  1ms
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("a loop's turns are some seconds apart (-want +got):\n%s", diff)
	}
}
