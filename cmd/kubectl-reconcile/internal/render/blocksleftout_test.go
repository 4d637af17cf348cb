package render

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// dryWrite is one that a dry run came to, of an object of that name.
func dryWrite(verb, name string, replicas int) *trace.Request {
	return &trace.Request{
		Verb: verb, Code: 200, DryRun: true,
		Object: trace.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: name},
		Change: trace.ChangeFrom(func() []inspect.Change { return []inspect.Change{{Path: "spec.replicas", New: replicas}} }),
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
		{"what waits for its cache is counted, too", []reconcile{putOff, putOff, wrote("a")}, Normal, 0, NotShown{PutOff: 2, Idle: 1}},
		{"a failure is shown", []reconcile{fails("no")}, Normal, 1, NotShown{}},
		{"an error that was logged is shown", []reconcile{loud}, Normal, 1, NotShown{}},
		{"so is a write that was refused, though the controller went on", []reconcile{refused}, Normal, 1, NotShown{}},
		{"a conflict is a line, and those that follow it are counted", []reconcile{conflict(1), conflict(2), conflict(3), wrote("a")}, Normal, 0, NotShown{Conflicts: 2, Idle: 1}},
		{"so many in a row are no conflict that will heal", []reconcile{conflict(stubborn)}, Normal, 1, NotShown{}},
		{"-v shows each", []reconcile{conflict(1), conflict(2), putOff}, Verbose, 3, NotShown{}},
		{"the same dry writes are shown once", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3)), wrote("a", dryWrite("update", "web-1", 3)), wrote("a", dryWrite("update", "web-1", 3)),
		}, Normal, 1, NotShown{Repeated: 2}},
		{"others are shown, and the first again when it comes back", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3)), wrote("a", dryWrite("update", "web-1", 4)), wrote("a", dryWrite("update", "web-1", 3)),
		}, Normal, 3, NotShown{}},
		{"another key is another matter", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3)), wrote("b", dryWrite("update", "web-1", 3)),
		}, Normal, 2, NotShown{}},
		{"the order of writes side by side does not count", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3), dryWrite("update", "web-2", 3)), wrote("a", dryWrite("update", "web-2", 3), dryWrite("update", "web-1", 3)),
		}, Normal, 1, NotShown{Repeated: 1}},
		{"names that a server makes differ each time", []reconcile{
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

// TestLoneDryWrites: a controller that acts by a clock comes to the same at each turn.
func TestLoneDryWrites(t *testing.T) {
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
		{"one that was refused would not be, either", refused, "  tried    update ReplicaSet web-2                     422  0s  invalid\n"},
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

// TestConflicts: a conflict that the next try heals is one dim line, without the API's words, and nothing of it is red.
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
		{"again and again", []trace.Detail{update, end(0, stubborn)}, `
+0.003s  deployment  default/web  #1
  because  its cause was not seen
  update   Deployment web/status                       409  0s  conflict
  failed   no writes, 1 refused, 0s; retry 10 in 5ms: conflict on deployments.apps "web"
`},
		{"one that the controller heals itself", []trace.Detail{update, &trace.End{Outcome: trace.Done, Refused: 1}}, `
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
