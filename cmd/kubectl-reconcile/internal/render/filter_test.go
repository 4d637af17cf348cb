package render

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// dryWrite returns a dry-run write of an object.
func dryWrite(verb, name string, replicas int) *trace.Request {
	return &trace.Request{
		Verb: verb, Code: 200, DryRun: true,
		Object: trace.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: name},
		Change: trace.ChangeFrom(func() []fields.Change { return []fields.Change{{Path: "spec.replicas", New: replicas}} }),
	}
}

func TestReconcilesWithoutABlock(t *testing.T) {
	type reconcile struct {
		key    string
		writes []*trace.Request
		end    trace.End
		logged string // an error
	}
	wrote := func(key string, writes ...*trace.Request) reconcile {
		return reconcile{key: key, writes: writes, end: trace.End{Outcome: trace.Done, Writes: len(writes)}}
	}
	fails := func(why string, writes ...*trace.Request) reconcile {
		return reconcile{key: "a", writes: writes, end: trace.End{Outcome: trace.Failed, Error: why, Refused: len(writes), Next: &trace.Next{Retry: 1}}}
	}
	conflict := func(retry int) reconcile {
		r := fails(`Operation cannot be fulfilled on deployments.apps "a": modified`, &trace.Request{
			Verb: "update", Code: 409, Reason: "Conflict", Message: `Operation cannot be fulfilled on deployments.apps "a": modified`,
		})
		r.end.Next.Retry = retry
		return r
	}
	putOff := fails(stale)
	putOff.end.PutOff = "pods"
	loud := wrote("a")
	loud.logged = "boom"
	refused := wrote("a")
	refused.end.Refused = 1
	kept := dryWrite("update", "web-1", 3)
	kept.DryRun = false
	for _, test := range []struct {
		reason     string
		reconciles []reconcile
		detail     Detail
		shown      int
		left       NotShown
	}{
		{"what wrote nothing is counted", []reconcile{wrote("a"), wrote("b")}, Normal, 0, NotShown{Idle: 2}},
		{"-v shows it", []reconcile{wrote("a"), wrote("b")}, Verbose, 2, NotShown{}},
		{"what waits for its cache is counted separately", []reconcile{putOff, putOff, wrote("a")}, Normal, 0, NotShown{PutOff: 2, Idle: 1}},
		{"a failure is shown", []reconcile{fails("no")}, Normal, 1, NotShown{}},
		{"an error that was logged is shown", []reconcile{loud}, Normal, 1, NotShown{}},
		{"so is a refused write, even if the reconcile succeeded", []reconcile{refused}, Normal, 1, NotShown{}},
		{"a conflict is a line, and those that follow it are counted", []reconcile{conflict(1), conflict(2), conflict(3), wrote("a")}, Normal, 0, NotShown{Conflicts: 2, Idle: 1}},
		{"persistent conflicts are failures", []reconcile{conflict(trace.PersistentConflict)}, Normal, 1, NotShown{}},
		{"-v shows each", []reconcile{conflict(1), conflict(2), putOff}, Verbose, 3, NotShown{}},
		{"the same dry writes are shown once", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3)), wrote("a", dryWrite("update", "web-1", 3)), wrote("a", dryWrite("update", "web-1", 3)),
		}, Normal, 1, NotShown{Repeated: 2}},
		{"others are shown, and so is the first when it occurs again", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3)), wrote("a", dryWrite("update", "web-1", 4)), wrote("a", dryWrite("update", "web-1", 3)),
		}, Normal, 3, NotShown{}},
		{"those of another key are shown", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3)), wrote("b", dryWrite("update", "web-1", 3)),
		}, Normal, 2, NotShown{}},
		{"the order of concurrent writes does not matter", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3), dryWrite("update", "web-2", 3)), wrote("a", dryWrite("update", "web-2", 3), dryWrite("update", "web-1", 3)),
		}, Normal, 1, NotShown{Repeated: 1}},
		{"generated names differ each time", []reconcile{
			wrote("a", dryWrite("create", "web-x7k2p", 3)), wrote("a", dryWrite("create", "web-9vqlm", 3)),
		}, Normal, 1, NotShown{Repeated: 1}},
		{"what was really written is always shown", []reconcile{wrote("a", kept), wrote("a", kept)}, Normal, 2, NotShown{}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			var out bytes.Buffer
			b := NewBlocks(&out, BlocksOptions{Detail: test.detail})
			for n, r := range test.reconciles {
				id := trace.ReconcileID(n + 1)
				emit := func(d trace.Detail) { b.Record(&trace.Event{Controller: "c", Reconcile: id, Key: r.key, Detail: d}) }
				emit(&trace.Start{})
				for _, w := range r.writes {
					emit(w)
				}
				if r.logged != "" {
					emit(&trace.Log{Message: "m", Error: r.logged})
				}
				emit(&r.end)
			}
			if got := strings.Count(out.String(), "  because  "); got != test.shown {
				t.Errorf("%d blocks are shown, want %d:\n%s", got, test.shown, &out)
			}
			if diff := cmp.Diff(test.left, b.NotShown()); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnattributedDryWrites: a timer loop makes the same dry writes in each iteration.
func TestUnattributedDryWrites(t *testing.T) {
	var out bytes.Buffer
	b := NewBlocks(&out, BlocksOptions{Detail: Normal})
	for _, r := range []*trace.Request{
		dryWrite("delete", "a", 0), dryWrite("delete", "b", 0), dryWrite("delete", "a", 0), dryWrite("delete", "b", 0),
	} {
		b.Record(&trace.Event{Controller: "podgc", Detail: r})
	}
	if got := strings.Count(out.String(), "  would    delete ReplicaSet"); got != 2 || b.NotShown().Repeated != 2 {
		t.Errorf("%d are shown and %+v left out, want 2 each:\n%s", got, b.NotShown(), &out)
	}
}

func TestDryWritesAreWhatWouldBe(t *testing.T) {
	refused := dryWrite("update", "web-2", 1)
	refused.Code, refused.Message = 422, "invalid"
	for _, test := range []struct {
		reason string
		write  *trace.Request
		want   string
	}{
		{"a dry write", dryWrite("update", "web-1", 3), "  would    update ReplicaSet web-1                     200  0s  spec.replicas: 3\n"},
		{"a dry write that was refused", refused, "  tried    update ReplicaSet web-2                     422  0s  invalid\n"},
	} {
		var out bytes.Buffer
		b := NewBlocks(&out, BlocksOptions{Detail: Normal})
		b.Record(&trace.Event{Reconcile: 1, Controller: "c", Key: "k", Detail: &trace.Start{}})
		b.Record(&trace.Event{Reconcile: 1, Controller: "c", Key: "k", Detail: test.write})
		b.Record(&trace.Event{Reconcile: 1, Controller: "c", Key: "k", Detail: &trace.End{Outcome: trace.Done, Writes: 1}})
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: want %q in:\n%s", test.reason, test.want, &out)
		}
	}
}

// TestConflicts: a conflict that a retry resolves is one dim line without the message of the API, and nothing of it is red.
func TestConflicts(t *testing.T) {
	p := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	const message = `Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again`
	update := &trace.Request{
		Verb: "update", Code: 409, Reason: "Conflict", Message: message, Subresource: "status",
		Object: trace.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"},
	}
	end := func(writes, retry int) *trace.End {
		return &trace.End{Outcome: trace.Failed, Error: message, Writes: writes, Refused: 1, Next: &trace.Next{Retry: retry, After: trace.Duration(5 * time.Millisecond)}}
	}
	for _, test := range []struct {
		reason string
		events []trace.Detail
		want   string
	}{
		{"by itself", []trace.Detail{update, end(0, 1)}, `
(+0.003s  deployment  default/web  #1  conflict: update Deployment web/status; retry 1 in 5ms)
`},
		{"after a write", []trace.Detail{podCreate("aaaaa"), update, end(1, 1)}, `
+0.004s  deployment  default/web  #1
  because  its cause was not seen
  create   Pod web-5fc9f4bf66-aaaaa                    201  500µs
  conflict update Deployment web/status; retry 1 in 5ms
`},
		{"again and again", []trace.Detail{update, end(0, trace.PersistentConflict)}, `
+0.003s  deployment  default/web  #1
  because  its cause was not seen
  update   Deployment web/status                       409  0s  conflict
  failed   no writes, 1 refused, 0s; retry 10 in 5ms: conflict on deployments.apps "web"
`},
		{"one that the controller handles itself", []trace.Detail{update, &trace.End{Outcome: trace.Done, Refused: 1}}, `
+0.003s  deployment  default/web  #1
  because  its cause was not seen
  update   Deployment web/status                       409  0s  conflict
  done     no writes, 1 refused, 0s
`},
	} {
		events := []*trace.Event{of1(&trace.Start{})}
		for _, d := range test.events {
			events = append(events, of1(d))
		}
		if diff := cmp.Diff(test.want, shown(t, BlocksOptions{Detail: Normal}, events...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		red := strings.Contains(shown(t, BlocksOptions{Detail: Normal, Palette: p}, events...), "\x1b[31m")
		if want := strings.Contains(test.want, "failed"); red != want {
			t.Errorf("%s: something is red: %t", test.reason, red)
		}
	}
}

// outcome is what the events of a reconcile report.
type outcome struct {
	result trace.Outcome
	err    string
	writes []*trace.Request
	retry  int
}

// refusedPod returns the creation of a pod, with a generated name, that the server refuses for a reason.
func refusedPod(why string, dry bool) *trace.Request {
	return &trace.Request{Verb: "create", Code: 403, DryRun: dry, Message: why, Object: trace.Object{Resource: "pods", Kind: "Pod", Namespace: "default"}}
}

func TestFailingAgain(t *testing.T) {
	quota := func(name string) string { return `pods "web-785f6b64f-` + name + `" is forbidden: exceeded quota: q` }
	fails := func(why string, writes ...*trace.Request) outcome { return outcome{trace.Failed, why, writes, 1} }
	refused := func(name string, more ...*trace.Request) outcome {
		return fails(quota(name), append([]*trace.Request{refusedPod(quota(name), true)}, more...)...)
	}
	kept := dryWrite("update", "web", 3)
	kept.DryRun = false
	for _, test := range []struct {
		reason     string
		reconciles []outcome
		detail     Detail
		whole      []bool // of each, whether it is shown in full; what is not is one line
	}{
		{"the same again is a line", []outcome{refused("x7k2p"), refused("mtx2p"), refused("bbbbb")}, Normal, []bool{true, false, false}},
		{"-v shows all", []outcome{refused("x7k2p"), refused("mtx2p")}, Verbose, []bool{true, true}},
		{"another reason is shown", []outcome{refused("x7k2p"), fails("no such thing"), refused("mtx2p")}, Normal, []bool{true, true, true}},
		{"other numbers are another reason", []outcome{fails("used: pods=3"), fails("used: pods=4")}, Normal, []bool{true, true}},
		{"the source port of a connection is not", []outcome{
			fails("read tcp 127.0.0.1:40211->127.0.0.1:6443: reset"), fails("read tcp 127.0.0.1:9->127.0.0.1:6443: reset"),
		}, Normal, []bool{true, false}},
		{"with other writes it is shown", []outcome{refused("x7k2p"), refused("mtx2p", dryWrite("update", "web", 3))}, Normal, []bool{true, true}},
		{"with the same other writes it is a line", []outcome{
			refused("x7k2p", dryWrite("update", "web", 3)), refused("mtx2p", dryWrite("update", "web", 3)),
		}, Normal, []bool{true, false}},
		{"a write that took effect is always shown", []outcome{refused("x7k2p", kept), refused("mtx2p", kept)}, Normal, []bool{true, true}},
		{"after that, a failure without such a write is a line", []outcome{refused("x7k2p", kept), refused("mtx2p")}, Normal, []bool{true, false}},
		{"after a success the first failure is shown", []outcome{refused("x7k2p"), {result: trace.Done, writes: []*trace.Request{kept}}, refused("mtx2p")}, Normal, []bool{true, true, true}},
		{"giving up is shown", []outcome{refused("x7k2p"), {trace.GaveUp, quota("mtx2p"), nil, 0}}, Normal, []bool{true, true}},
	} {
		var out bytes.Buffer
		b := NewBlocks(&out, BlocksOptions{Detail: test.detail})
		var whole []bool
		for n, r := range test.reconciles {
			before := out.Len()
			recordOutcome(b, trace.ReconcileID(n+1), "default/web", r)
			whole = append(whole, strings.Contains(out.String()[before:], "  because  "))
			if !whole[n] && !strings.Contains(out.String()[before:], "failed as before; retry 1 in 1s\n") {
				t.Errorf("%s: the line of number %d:\n%s", test.reason, n, out.String()[before:])
			}
		}
		if diff := cmp.Diff(test.whole, whole); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", test.reason, diff, &out)
		}
	}
}

// recordOutcome records a reconcile.
func recordOutcome(b *Blocks, id trace.ReconcileID, key string, r outcome) {
	emit := func(d trace.Detail) {
		b.Record(&trace.Event{Controller: "replicaset", Reconcile: id, Key: key, Time: began().Add(time.Duration(id) * time.Second), Detail: d})
	}
	emit(&trace.Start{})
	for _, w := range r.writes {
		emit(w)
	}
	end := &trace.End{Outcome: r.result, Error: r.err}
	for _, w := range r.writes {
		if w.Failed() {
			end.Refused++
		} else {
			end.Writes++
		}
	}
	if r.retry > 0 {
		end.Next = &trace.Next{After: trace.Duration(time.Second), Retry: r.retry}
	}
	emit(end)
}

// TestFailuresInALine: lines that follow each other, of any keys, have no blank line between them. After a success, also one
// that is not shown, a failure is a block again.
func TestFailuresInALine(t *testing.T) {
	var out bytes.Buffer
	b := NewBlocks(&out, BlocksOptions{Detail: Normal})
	b.StartAt(began())
	for n, key := range []string{"a", "b", "a", "b", "a"} {
		recordOutcome(b, trace.ReconcileID(n+1), key, outcome{trace.Failed, "no", nil, n})
	}
	recordOutcome(b, 6, "a", outcome{result: trace.Done})
	recordOutcome(b, 7, "a", outcome{trace.Failed, "no", nil, 1})
	want := `
+1.000s  replicaset  a  #1
  because  its cause was not seen
  failed   no writes, 0s: no

+2.000s  replicaset  b  #2
  because  its cause was not seen
  failed   no writes, 0s; retry 1 in 1s: no

+3.000s  replicaset  a  #3  failed as before; retry 2 in 1s
+4.000s  replicaset  b  #4  failed as before; retry 3 in 1s
+5.000s  replicaset  a  #5  failed as before; retry 4 in 1s

+7.000s  replicaset  a  #7
  because  its cause was not seen
  failed   no writes, 0s; retry 1 in 1s: no
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRefusedUnattributedWrites: a dry write that is refused in each iteration of a timer loop is shown once.
func TestRefusedUnattributedWrites(t *testing.T) {
	var out bytes.Buffer
	b := NewBlocks(&out, BlocksOptions{Detail: Normal})
	for range 3 {
		b.Record(&trace.Event{Controller: "podgc", Detail: refusedPod("no", true)})
	}
	b.Record(&trace.Event{Controller: "podgc", Detail: refusedPod("never", true)})
	if got := len(regexp.MustCompile(`  tried    create Pod .* (no|never)\n`).FindAllString(out.String(), -1)); got != 2 || b.NotShown().Repeated != 2 {
		t.Errorf("%d are shown and %+v left out, want 2 each:\n%s", got, b.NotShown(), &out)
	}
}

func TestErrorsLoggedBefore(t *testing.T) {
	rejected := func(event string) *trace.Event {
		return ofNone("deployment", &trace.Log{Message: "Server rejected event", Error: "event default/" + event + ": events is forbidden"})
	}
	events := []*trace.Event{rejected("web.18ea3d21f0392a97"), rejected("web.18ea3d21f5338d16"), rejected("api.18ea3d21f5338d16"), rejected("web.18ea3d21f5338d17")}
	for detail, want := range map[Detail]int{Normal: 2, Verbose: 4} {
		if got := strings.Count(shown(t, BlocksOptions{Detail: detail}, events...), "  error    Server rejected"); got != want {
			t.Errorf("at detail %d %d are shown, want %d", detail, got, want)
		}
	}
	var out bytes.Buffer
	b := NewBlocks(&out, BlocksOptions{Detail: Normal})
	b.StartAt(began())
	record(b, events...)
	if got := b.NotShown().Repeated; got != 2 {
		t.Errorf("%d are counted as left out, want 2", got)
	}
}

// TestNoise: what a controller logs for every key is no decision, and is shown from Verbose on.
func TestNoise(t *testing.T) {
	noise := of1(&trace.Log{Level: 2, Message: "Processing item"})
	wrote := of1(&trace.End{Outcome: trace.Done, Writes: 1})
	for _, test := range []struct {
		reason string
		events []*trace.Event
		detail Detail
		want   string // words at the begin of the lines after the head
	}{
		{"noise is left out", []*trace.Event{noise, wrote}, Normal, "because done"},
		{"-v shows it", []*trace.Event{noise, wrote}, Verbose, "because decided done"},
		{"a reconcile without effect is not shown for it", []*trace.Event{noise, of1(&trace.End{Outcome: trace.Done})}, Normal, ""},
		{"a decision is shown", []*trace.Event{noise, of1(&trace.Log{Level: 2, Message: "Deleting item"}), wrote}, Normal, "because decided done"},
		{"so is an error, whatever its message", []*trace.Event{of1(&trace.Log{Message: "Processing item", Error: "no"}), wrote}, Normal, "because error done"},
	} {
		o := BlocksOptions{Detail: test.detail, NoisyLogMessages: map[string][]string{"deployment": {"Processing item"}}}
		var words []string
		for l := range strings.SplitSeq(shown(t, o, append([]*trace.Event{of1(&trace.Start{})}, test.events...)...), "\n") {
			if strings.HasPrefix(l, "  ") {
				words = append(words, strings.Fields(l)[0])
			}
		}
		if got := strings.Join(words, " "); got != test.want {
			t.Errorf("%s: got lines %q, want %q", test.reason, got, test.want)
		}
	}
}

func TestUnattributedLogs(t *testing.T) {
	for detail, want := range map[Detail]bool{Verbose: false, Everything: true} {
		got := shown(t, BlocksOptions{Detail: detail}, ofNone("garbagecollector", &trace.Log{Level: 4, Message: "using a shared informer"}))
		if (got != "") != want {
			t.Errorf("at detail %d: %q", detail, got)
		}
	}
}

// TestBlocksForget: a run may last for weeks, with new keys all the time.
func TestBlocksForget(t *testing.T) {
	b := NewBlocks(&bytes.Buffer{}, BlocksOptions{Detail: Normal})
	b.StartAt(began())
	const many = 3 * maxRecent
	for n := range many {
		key := fmt.Sprintf("default/web%d", n)
		e := reconcileEvents("replicaset", trace.ReconcileID(3*n+1), key)
		record(b, e(&trace.Start{}), e(dryWrite("update", key, 1)), e(&trace.End{Outcome: trace.Done, Writes: 1}))
		e = reconcileEvents("replicaset", trace.ReconcileID(3*n+2), key)
		record(b, e(&trace.Start{}), e(&trace.End{Outcome: trace.Failed, Error: "no"}))
		e = reconcileEvents("replicaset", trace.ReconcileID(3*n+3), key)
		record(b, e(&trace.Start{}), e(&trace.End{Outcome: trace.Failed, PutOff: "pods"}))
		record(b, ofNone("replicaset", &trace.Log{Message: "no", Error: key}))
	}
	for what, n := range map[string]int{
		"dry writes": b.lastDryWrites.Len(), "failures": b.lastFailures.Len(), "reconciles": b.ended.Len(), "errors": b.loggedErrors.Len(),
	} {
		if n < maxRecent || n > 2*maxRecent {
			t.Errorf("%d %s are remembered, want %d or some more", n, what, maxRecent)
		}
	}
	if n := b.putOff.Len(); n < maxPutOff || n > 2*maxPutOff {
		t.Errorf("%d reconciles that were put off are remembered, want %d or some more", n, maxPutOff)
	}
	if _, known := b.ended.Get(1); known {
		t.Error("the first reconcile is remembered")
	}
	if _, known := b.ended.Get(3 * many); !known {
		t.Error("the last reconcile is not remembered")
	}
}
