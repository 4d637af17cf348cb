package render

import (
	"bytes"
	"strings"
	"testing"

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

func TestSparing(t *testing.T) {
	type reconcile struct {
		key     string
		outcome trace.Outcome
		writes  []*trace.Request
	}
	wrote := func(key string, writes ...*trace.Request) reconcile { return reconcile{key, trace.Done, writes} }
	kept := dryWrite("update", "web-1", 3)
	kept.DryRun = false
	for _, test := range []struct {
		reason     string
		reconciles []reconcile
		detail     Detail
		shown      int
		spared     Spared
	}{
		{"what wrote nothing is counted", []reconcile{wrote("a"), wrote("b")}, Normal, 0, Spared{Idle: 2}},
		{"-v shows it", []reconcile{wrote("a"), wrote("b")}, Verbose, 2, Spared{}},
		{"a failure is shown", []reconcile{{"a", trace.Failed, nil}}, Normal, 1, Spared{}},
		{"the same dry writes are shown once", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3)), wrote("a", dryWrite("update", "web-1", 3)), wrote("a", dryWrite("update", "web-1", 3)),
		}, Normal, 1, Spared{Repeated: 2}},
		{"others are shown, and the first again when it comes back", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3)), wrote("a", dryWrite("update", "web-1", 4)), wrote("a", dryWrite("update", "web-1", 3)),
		}, Normal, 3, Spared{}},
		{"another key is another matter", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3)), wrote("b", dryWrite("update", "web-1", 3)),
		}, Normal, 2, Spared{}},
		{"the order of writes side by side does not count", []reconcile{
			wrote("a", dryWrite("update", "web-1", 3), dryWrite("update", "web-2", 3)), wrote("a", dryWrite("update", "web-2", 3), dryWrite("update", "web-1", 3)),
		}, Normal, 1, Spared{Repeated: 1}},
		{"names that a server makes differ each time", []reconcile{
			wrote("a", dryWrite("create", "web-x7k2p", 3)), wrote("a", dryWrite("create", "web-9vqlm", 3)),
		}, Normal, 1, Spared{Repeated: 1}},
		{"what was really written is always shown", []reconcile{wrote("a", kept), wrote("a", kept)}, Normal, 2, Spared{}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			var out bytes.Buffer
			b := NewBlocks(&out, BlocksOptions{Detail: test.detail, Sparing: true})
			for n, r := range test.reconciles {
				id := trace.ReconcileID(n + 1)
				emit := func(d trace.Detail) { b.Record(&trace.Event{Controller: "c", Reconcile: id, Key: r.key, Detail: d}) }
				emit(&trace.Start{})
				for _, w := range r.writes {
					emit(w)
				}
				emit(&trace.End{Outcome: r.outcome, Writes: len(r.writes)})
			}
			if got := strings.Count(out.String(), "  because  "); got != test.shown {
				t.Errorf("%d blocks are shown, want %d:\n%s", got, test.shown, &out)
			}
			if diff := cmp.Diff(test.spared, b.Spared()); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLoneDryWrites: a controller that acts by a clock comes to the same at each turn.
func TestLoneDryWrites(t *testing.T) {
	var out bytes.Buffer
	b := NewBlocks(&out, BlocksOptions{Detail: Normal, Sparing: true})
	for _, r := range []*trace.Request{
		dryWrite("delete", "a", 0), dryWrite("delete", "b", 0), dryWrite("delete", "a", 0), dryWrite("delete", "b", 0),
	} {
		b.Record(&trace.Event{Controller: "podgc", Detail: r})
	}
	if got := strings.Count(out.String(), "  would    delete ReplicaSet"); got != 2 || b.Spared().Repeated != 2 {
		t.Errorf("%d are shown and %+v left out, want 2 each:\n%s", got, b.Spared(), &out)
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
		{"a dry write", dryWrite("update", "web-1", 3), "  would    update ReplicaSet web-1                     200  0s  replicas: 3\n"},
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
