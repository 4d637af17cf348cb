package render

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

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
		{"what starts is worth seeing", BlocksOptions{Detail: Normal}, nil, shownFrom(t, BlocksOptions{Detail: Normal}, start, nil)},
	} {
		if diff := cmp.Diff(tt.want, shownFrom(t, tt.o, start, tt.events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// shownFrom is what is shown of a run that begins a tenth of a second after the first events.
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
