package trace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPrograms: what is counted of programs outside, and that no controller gets it.
func TestPrograms(t *testing.T) {
	programs, summary := NewPrograms(), NewSummary()
	send := func(program, verb string, code int, reason string, recorded *RecordedEvent) {
		e := &Event{Detail: &ClientRequest{Program: program, Request: Request{
			Verb: verb, Code: code, Reason: reason, Recorded: recorded, Latency: Duration(time.Millisecond)}}}
		programs.Record(e)
		summary.Record(e)
	}
	send("manager", "get", 200, "", nil)
	send("manager", "get", 404, "NotFound", nil)
	send("manager", "list", 403, "Forbidden", nil)
	send("manager", "watch", 200, "", nil)
	send("manager", "update", 200, "", nil)
	send("manager", "update", 409, "Conflict", nil)
	send("manager", "create", 409, "AlreadyExists", nil)
	send("manager", "create", 201, "", &RecordedEvent{})
	send("manager", "delete", 404, "NotFound", nil)
	send("kubectl", "get", 200, "", nil)
	want := []ProgramSummary{
		{Program: "kubectl", Gets: 1},
		{Program: "manager", Gets: 2, Lists: 1, Watches: 1, Writes: 1, Events: 1, Conflicts: 1, Refused: 3},
	}
	got := programs.Programs()
	for i := range got {
		if p := got[i].P99; p < Duration(time.Millisecond*9/10) || p > Duration(time.Millisecond) {
			t.Errorf("%s: P99 is %s", got[i].Program, p)
		}
		got[i].P50, got[i].P99 = 0, 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
	if len(summary.Controllers()) > 0 {
		t.Errorf("they count as controllers: %+v", summary.Controllers())
	}
}
