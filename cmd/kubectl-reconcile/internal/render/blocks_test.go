package render

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var update = flag.Bool("update", false, "update the golden files of testdata")

// began returns the time at which the traces of these tests begin.
func began() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// shown returns what Blocks writes of events that are a millisecond apart, Close included.
func shown(t *testing.T, o BlocksOptions, events ...*trace.Event) string {
	t.Helper()
	var out bytes.Buffer
	blocks := NewBlocks(&out, o)
	blocks.StartAt(began())
	record(blocks, events...)
	if err := blocks.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func record(blocks *Blocks, events ...*trace.Event) {
	for i, e := range events {
		timed := *e
		timed.Seq, timed.Time = uint64(i)+1, began().Add(time.Duration(i+1)*time.Millisecond)
		blocks.Record(&timed)
	}
}

// of1 returns an event of reconcile 1 of the Deployment web, ofNone one outside of reconciles.
func of1(d trace.Detail) *trace.Event {
	return &trace.Event{Controller: "deployment", Reconcile: 1, Key: "default/web", Detail: d}
}

func ofNone(controller string, d trace.Detail) *trace.Event {
	return &trace.Event{Controller: controller, Detail: d}
}

// golden compares text with a file of testdata, or writes the file if -update is given.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

func TestBlocksDetail(t *testing.T) {
	coloured := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	for _, tt := range []struct {
		name   string
		o      BlocksOptions
		reason string
	}{
		{"quiet", BlocksOptions{Detail: Quiet, Events: true}, "nothing is shown, not even Events"},
		{"normal", BlocksOptions{Detail: Normal, VerboseOnly: []string{"kubelet"}}, "causes, decisions, writes, outcomes"},
		{"events", BlocksOptions{Detail: Normal, VerboseOnly: []string{"kubelet"}, Events: true}, "and what controllers record"},
		{"verbose", BlocksOptions{Detail: Verbose, VerboseOnly: []string{"kubelet"}}, "and reads, log lines up to 4, the controllers aside, all names and fields"},
		{"everything", BlocksOptions{Detail: Everything}, "and all log lines"},
		{"narrow", BlocksOptions{Detail: Normal, VerboseOnly: []string{"kubelet"}, Width: 80}, "lines are broken between words and indented"},
		{"coloured", BlocksOptions{Detail: Normal, VerboseOnly: []string{"kubelet"}, Palette: coloured}, "red for trouble, yellow for change, dim for what is seldom read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Log(tt.reason)
			golden(t, tt.name, shown(t, tt.o, story()...))
		})
	}
}

func TestBlocksDoNotMix(t *testing.T) {
	other := func(d trace.Detail) *trace.Event {
		return &trace.Event{Controller: "replicaset", Reconcile: 2, Key: "default/web-1", Detail: d}
	}
	got := shown(t, BlocksOptions{Detail: Normal},
		of1(&trace.Start{}), other(&trace.Start{}),
		of1(&trace.Log{Message: "of the first"}), other(&trace.Log{Message: "of the second"}),
		other(&trace.End{Outcome: trace.Done, Writes: 1}), of1(&trace.End{Outcome: trace.Done, Writes: 1}))
	want := `
+0.005s  replicaset  default/web-1  #2
  because  its cause was not seen
  decided  of the second
  done     1 write, 0s

+0.006s  deployment  default/web  #1
  because  its cause was not seen
  decided  of the first
  done     1 write, 0s
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("each reconcile is a block, written when it ends, with that time (-want +got):\n%s", diff)
	}
}

func TestBlocksClose(t *testing.T) {
	second := &trace.Event{Controller: "replicaset", Reconcile: 2, Key: "default/web-1", Detail: &trace.Start{}}
	got := shown(t, BlocksOptions{Detail: Normal},
		of1(&trace.Start{}), second, of1(&trace.Log{Message: "begun"}))
	want := `
+0.003s  deployment  default/web  #1
  because  its cause was not seen
  decided  begun
  cut off  the session ended before this reconcile did

+0.003s  replicaset  default/web-1  #2
  because  its cause was not seen
  cut off  the session ended before this reconcile did
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what has not ended is shown at the end, in the order of its start (-want +got):\n%s", diff)
	}
}

func TestBlocksCloseTwice(t *testing.T) {
	var out bytes.Buffer
	blocks := NewBlocks(&out, BlocksOptions{Detail: Normal})
	record(blocks, of1(&trace.Start{}))
	for range 2 {
		if err := blocks.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "cut off"); n != 1 {
		t.Errorf("an unfinished reconcile is shown %d times:\n%s", n, out.String())
	}
}

func TestBlocksErrors(t *testing.T) {
	blocks := NewBlocks(&brokenWriter{}, BlocksOptions{Detail: Normal})
	record(blocks, of1(&trace.Start{}), of1(&trace.End{Outcome: trace.Done, Writes: 1}))
	if err := blocks.Close(); !errors.Is(err, errBroken) {
		t.Errorf("Close does not return the error of a write: %v", err)
	}
}

func TestBlocksStartAt(t *testing.T) {
	var out bytes.Buffer
	blocks := NewBlocks(&out, BlocksOptions{Detail: Normal})
	record(blocks, of1(&trace.Start{}), of1(&trace.End{Outcome: trace.Done, Writes: 1}))
	if !strings.HasPrefix(out.String(), "\n+0.000s  ") {
		t.Errorf("without a start, the first block is where counting begins:\n%s", out.String())
	}
}

func TestLogLevel(t *testing.T) {
	last := -1
	for _, d := range []Detail{Quiet, Normal, Verbose, Everything, Everything + 1} {
		if d.LogLevel() < last {
			t.Errorf("detail %d shows less than the one before it: level %d after %d", d, d.LogLevel(), last)
		}
		last = d.LogLevel()
	}
}

// story is a trace with events of all kinds: two reconciles of a Deployment, one of its ReplicaSet, one of the
// simulated kubelet, and what belongs to none.
func story() []*trace.Event {
	deployment := trace.Object{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	replicaSet := trace.Object{Group: "apps", Version: "v1", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web-5fc9f4bf66"}
	first := reconcileEvents("deployment", 1, "default/web")
	second := reconcileEvents("replicaset", 2, "default/web-5fc9f4bf66")
	third := reconcileEvents("deployment", 3, "default/web")
	aside := reconcileEvents("kubelet", 4, "default/web-5fc9f4bf66-aaaaa")
	added := &trace.Watch{Event: trace.Added, Object: deployment, ResourceVersion: "14"}
	return []*trace.Event{
		ofNone("deployment", &trace.Log{Message: "Starting controller", Values: trace.Values{{Key: "controller", Value: "deployment"}}}),
		first(&trace.Start{Causes: []trace.Cause{{Type: trace.CauseWatch, Watch: added, Handler: "addDeployment > enqueue"}}}),
		first(&trace.Log{Level: 4, Message: "Started syncing deployment"}),
		first(&trace.Request{Verb: "get", Object: deployment, Code: 200, Latency: trace.Duration(300 * time.Microsecond)}),
		first(&trace.Request{Verb: "create", Object: replicaSet, Code: 201, Latency: trace.Duration(800 * time.Microsecond)}),
		first(&trace.Request{Verb: "update", Object: deployment, Subresource: "status", Code: 409, Reason: "Conflict", Message: "the object has been modified", Latency: trace.Duration(700 * time.Microsecond)}),
		first(&trace.End{Outcome: trace.Failed, Writes: 1, Refused: 1, Duration: trace.Duration(2800 * time.Microsecond), Error: "the object has been modified", Next: &trace.Next{After: trace.Duration(5 * time.Millisecond), Retry: 1}}),
		second(&trace.Start{Causes: []trace.Cause{{Type: trace.CauseWatch, Handler: "addRS > enqueueRS", Watch: &trace.Watch{
			Event: trace.Added, Object: replicaSet, ResourceVersion: "15", WrittenBy: 1,
		}}}}),
		second(&trace.Log{Level: 2, Message: "Too few replicas", Values: trace.Values{{Key: "replicaSet", Value: "default/web-5fc9f4bf66"}, {Key: "need", Value: "3"}, {Key: "creating", Value: "3"}}}),
		second(podCreate("aaaaa")), second(podCreate("bbbbb")), second(podCreate("ccccc")),
		ofNone("replicaset", &trace.Request{Verb: "create", Object: trace.Object{Version: "v1", Resource: "events", Kind: "Event"}, Code: 201, Recorded: &trace.RecordedEvent{
			Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod: web-5fc9f4bf66-aaaaa", Regarding: replicaSet,
		}}),
		second(&trace.Request{Verb: "update", Object: replicaSet, Subresource: "status", Code: 200, Latency: trace.Duration(600 * time.Microsecond), Change: changed(
			fields.Change{Path: "status.fullyLabeledReplicas", New: int64(3)}, fields.Change{Path: "status.observedGeneration", Old: int64(0), New: int64(1)},
			fields.Change{Path: "status.replicas", Old: int64(0), New: int64(3)}, fields.Change{Path: "status.terminatingReplicas", New: int64(0)}, fields.Change{Path: "status.z", New: int64(0)},
		)}),
		second(&trace.End{Outcome: trace.Done, Writes: 4, Duration: trace.Duration(3900 * time.Microsecond)}),
		aside(&trace.Start{}),
		aside(&trace.End{Outcome: trace.Done}),
		third(&trace.Start{Causes: []trace.Cause{
			{Type: trace.CauseRetry, Retry: 1, Reconcile: 1, Delay: trace.Duration(5 * time.Millisecond), Handler: "handleErr"},
			{Type: trace.CauseWatch, Handler: "updateReplicaSet", Watch: &trace.Watch{Event: trace.Modified, Object: replicaSet, ResourceVersion: "19", WrittenBy: 2, Change: changed(fields.Change{Path: "status.replicas", Old: int64(0), New: int64(3)})}},
		}}),
		third(&trace.Log{Level: 5, Message: "Calculated", Error: "never mind"}),
		third(&trace.Request{Verb: "patch", Object: deployment, Message: "connection refused"}),
		third(&trace.End{Outcome: trace.Done, Refused: 1, Duration: trace.Duration(900 * time.Microsecond), Next: &trace.Next{After: trace.Duration(10 * time.Minute)}}),
		third(&trace.Log{Message: "said after its end", Error: "too late"}),
	}
}

// reconcileEvents returns a function that makes events of one reconcile.
func reconcileEvents(controller string, id trace.ReconcileID, key string) func(trace.Detail) *trace.Event {
	return func(d trace.Detail) *trace.Event {
		return &trace.Event{Controller: controller, Reconcile: id, Key: key, Detail: d}
	}
}

func podCreate(suffix string) *trace.Request {
	return &trace.Request{
		Verb: "create", Code: 201, Latency: trace.Duration(500 * time.Microsecond),
		Object: trace.Object{Version: "v1", Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web-5fc9f4bf66-" + suffix},
	}
}

func changed(changes ...fields.Change) *trace.Change {
	return trace.ChangeFrom(func() []fields.Change { return changes })
}

// podDeletion returns the request that deletes a pod.
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
			"a write outside of reconciles has a head without a key", []*trace.Event{ofNone("podgc", podDeletion("web-1"))}, `
+0.001s  podgc  (by itself)
  delete   Pod web-1                                   200  1ms
`,
		},
		{
			"what follows at once has no head", []*trace.Event{
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
			"other controllers have their own heads", []*trace.Event{
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
			"after a block there is a head again", []*trace.Event{
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
			"an iteration of a timer loop is a block without a key", []*trace.Event{
				{Controller: "podgc", Reconcile: 1, Detail: &trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer}}}},
				{Controller: "podgc", Reconcile: 1, Detail: podDeletion("web-1")},
				{Controller: "podgc", Reconcile: 1, Detail: &trace.End{Outcome: trace.Done, Writes: 1}},
			}, `
+0.003s  podgc  (by itself)  #1
  because  its own timer
  delete   Pod web-1                                   200  1ms
  done     1 write, 0s
`,
		},
		{
			"a key that an iteration adds has the timer as its cause", []*trace.Event{
				of1(&trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer, Handler: "enqueueAll"}}}), of1(&trace.End{Outcome: trace.Done, Writes: 1}),
			}, `
+0.002s  deployment  default/web  #1
  because  its own timer, added by enqueueAll
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
		t.Errorf("iterations of a loop are some seconds apart (-want +got):\n%s", diff)
	}
}

// TestStartIsFolded plays a start, and a reconcile after it.
func TestStartIsFolded(t *testing.T) {
	at := func(ms int, id trace.ReconcileID, d trace.Detail) *trace.Event {
		return &trace.Event{Time: began().Add(time.Duration(ms) * time.Millisecond), Controller: "ttl", Reconcile: id, Key: "node-1", Detail: d}
	}
	start := []*trace.Event{
		at(1, 1, &trace.Start{}), at(2, 1, podDeletion("a")), at(3, 1, &trace.End{Outcome: trace.Done, Writes: 1}),
		at(4, 2, &trace.Start{}), at(5, 2, &trace.End{Outcome: trace.Failed, Error: "conflict"}),
		at(5, 3, &trace.Start{}), at(5, 3, &trace.End{Outcome: trace.Failed, PutOff: "pods"}),
		at(6, 0, podDeletion("b")),
	}
	after := []*trace.Event{at(101, 4, &trace.Start{}), at(102, 4, &trace.End{Outcome: trace.Done, Writes: 1})}
	failing := []*trace.Event{at(101, 4, &trace.Start{}), at(102, 4, &trace.End{Outcome: trace.Failed, Error: "conflict"})}
	const line = "\n2 controllers started: 3 reconciles, 1 failed, 2 writes; -v shows them\n"
	for _, tt := range []struct {
		reason string
		o      BlocksOptions
		events []*trace.Event
		want   string
	}{
		{"one line before the rest", BlocksOptions{Detail: Normal, Starting: "2 controllers"}, after, line + shownFrom(t, BlocksOptions{Detail: Normal}, nil, after)},
		{"a key that failed at the start, too", BlocksOptions{Detail: Normal, Starting: "2 controllers"}, failing, line + shownFrom(t, BlocksOptions{Detail: Normal}, nil, failing)},
		{"nothing comes after it", BlocksOptions{Detail: Normal, Starting: "2 controllers"}, nil, line},
		{"in detail", BlocksOptions{Detail: Verbose, Starting: "2 controllers"}, nil, shownFrom(t, BlocksOptions{Detail: Verbose}, start, nil)},
		{"quiet", BlocksOptions{Detail: Quiet, Starting: "2 controllers"}, after, ""},
		{"without a name for what starts, nothing is summed up", BlocksOptions{Detail: Normal}, nil, shownFrom(t, BlocksOptions{Detail: Normal}, start, nil)},
	} {
		if diff := cmp.Diff(tt.want, shownFrom(t, tt.o, start, tt.events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// shownFrom returns what is shown of a run that starts a tenth of a second after the first events.
func shownFrom(t *testing.T, o BlocksOptions, before, after []*trace.Event) string {
	t.Helper()
	var out bytes.Buffer
	blocks := NewBlocks(&out, o)
	for _, e := range before {
		blocks.Record(e)
	}
	blocks.StartAt(began().Add(100 * time.Millisecond))
	for _, e := range after {
		blocks.Record(e)
	}
	if err := blocks.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
