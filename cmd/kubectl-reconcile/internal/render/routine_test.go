package render

import (
	"strings"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestRoutineIsShownOnDemand: what a controller logs each time that it looks at a key is no decision.
func TestRoutineIsShownOnDemand(t *testing.T) {
	look := of1(&trace.Log{Level: 2, Message: "Processing item"})
	wrote := of1(&trace.End{Outcome: trace.Done, Writes: 1})
	for _, test := range []struct {
		reason string
		events []*trace.Event
		detail Detail
		want   string // words at the begin of the lines after the head
	}{
		{"a look is routine", []*trace.Event{look, wrote}, Normal, "because done"},
		{"-v shows it", []*trace.Event{look, wrote}, Verbose, "because decided done"},
		{"a look that led to nothing is not shown at all", []*trace.Event{look, of1(&trace.End{Outcome: trace.Done})}, Normal, ""},
		{"a decision is none", []*trace.Event{look, of1(&trace.Log{Level: 2, Message: "Deleting item"}), wrote}, Normal, "because decided done"},
		{"nor is an error, whatever its message", []*trace.Event{of1(&trace.Log{Message: "Processing item", Error: "no"}), wrote}, Normal, "because error done"},
	} {
		o := BlocksOptions{Detail: test.detail, Routine: map[string][]string{"deployment": {"Processing item"}}}
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

func TestMachineryIsShownWithEverything(t *testing.T) {
	for detail, want := range map[Detail]bool{Verbose: false, Everything: true} {
		got := shown(t, BlocksOptions{Detail: detail}, ofNone("garbagecollector", &trace.Log{Level: 4, Message: "using a shared informer"}))
		if (got != "") != want {
			t.Errorf("at detail %d: %q", detail, got)
		}
	}
}
