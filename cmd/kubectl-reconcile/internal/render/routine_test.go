package render

import (
	"strings"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestRoutineIsShownOnDemand(t *testing.T) {
	look := of1(&trace.Log{Level: 2, Message: "Processing item"})
	end := func(outcome trace.Outcome) *trace.Event { return of1(&trace.End{Outcome: outcome}) }
	for _, test := range []struct {
		reason string
		events []*trace.Event
		detail Detail
		want   []string // words at the begin of the lines after the head
	}{
		{"a look that led to nothing is routine", []*trace.Event{look, end(trace.Done)}, Normal, nil},
		{"-v shows it", []*trace.Event{look, end(trace.Done)}, Verbose, []string{"because", "decided", "done"}},
		{"a failure is no routine", []*trace.Event{look, end(trace.Failed)}, Normal, []string{"because", "failed"}},
		{"but to wait for the own write is", []*trace.Event{look, of1(&trace.End{Outcome: trace.Failed, Error: stale})}, Normal, nil},
		{"nor is a decision", []*trace.Event{look, of1(&trace.Log{Level: 2, Message: "Deleting item"}), end(trace.Done)}, Normal,
			[]string{"because", "decided", "done"}},
		{"nor is a write", []*trace.Event{look, of1(&trace.Request{Verb: "delete", Code: 200}), end(trace.Done)}, Normal,
			[]string{"because", "delete", "done"}},
		{"an error is shown whatever its message", []*trace.Event{of1(&trace.Log{Message: "Processing item", Error: "no"}), end(trace.Done)}, Normal,
			[]string{"because", "error", "done"}},
	} {
		o := BlocksOptions{Detail: test.detail, Routine: map[string][]string{"deployment": {"Processing item"}}}
		var words []string
		for l := range strings.SplitSeq(shown(t, o, append([]*trace.Event{of1(&trace.Start{})}, test.events...)...), "\n") {
			if strings.HasPrefix(l, "  ") {
				words = append(words, strings.Fields(l)[0])
			}
		}
		if strings.Join(words, " ") != strings.Join(test.want, " ") {
			t.Errorf("%s: got lines %v, want %v", test.reason, words, test.want)
		}
	}
	other := shown(t, BlocksOptions{Detail: Normal}, of1(&trace.Start{}), end(trace.Done))
	if !strings.Contains(other, "done") {
		t.Errorf("a controller without routine shows every reconcile, got %q", other)
	}
}

func TestMachineryIsShownWithEverything(t *testing.T) {
	for detail, want := range map[Detail]bool{Verbose: false, Everything: true} {
		got := shown(t, BlocksOptions{Detail: detail}, ofNone("garbagecollector", &trace.Log{Level: 4, Message: "using a shared informer"}))
		if (got != "") != want {
			t.Errorf("at detail %d: %q", detail, got)
		}
	}
}
