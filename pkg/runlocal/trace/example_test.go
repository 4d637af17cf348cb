package trace_test

import (
	"fmt"

	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// A History keeps the trace of a session for the program that runs it.
func ExampleHistory() {
	history := &trace.History{}
	recorder := trace.NewRecorder(clock.RealClock{}, history) // Options.Recorder of a session
	recorder.Emit("replicaset", 1, "default/web", &trace.Start{})
	recorder.Emit("replicaset", 1, "default/web", &trace.End{Outcome: trace.Done, Writes: 3})
	for e := range history.All() {
		if end, ok := e.Detail.(*trace.End); ok {
			fmt.Println(e.Controller, e.Key, end.Writes, "writes")
		}
	}
	// Output: replicaset default/web 3 writes
}
