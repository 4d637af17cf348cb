package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// readTrace is `trace FILE [OUTCOME]`: every line of the file is an event that trace.Reader takes, numbered without
// gaps, and each cause of a key's reconcile names an event; with an outcome, the last is the summary instead, and the
// run ended so. All lines are as docs/trace.schema.json describes them.
func readTrace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: trace FILE [OUTCOME]")
	}
	text := ts.ReadFile(args[0])
	ts.Check(schematest.CheckLines("../../docs/trace.schema.json", strings.NewReader(text)))
	if len(args) == 2 {
		events, last := cutLastLine(text)
		ts.Check(checkSummary(last, args[1]))
		text = events
	}
	events, err := readEvents(text)
	ts.Check(err)
	for i, e := range events {
		if e.Seq != uint64(i)+1 {
			ts.Fatalf("event %d has the number %d", i+1, e.Seq)
		}
		start, ok := e.Detail.(*trace.Start)
		if unnamed := func(c trace.Cause) bool { return c.Seq == 0 }; ok && e.Key != "" && slices.ContainsFunc(start.Causes, unnamed) {
			ts.Fatalf("reconcile %d of %s %s has a cause that names no event: %+v", e.Reconcile, e.Controller, e.Key, start.Causes)
		}
	}
}

func cutLastLine(text string) (before, last string) {
	text = strings.TrimSuffix(text, "\n")
	i := strings.LastIndexByte(text, '\n') + 1
	return text[:i], text[i:]
}

func checkSummary(line, outcome string) error {
	var summary struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Outcome    string         `json:"outcome"`
		Elapsed    trace.Duration `json:"elapsed"`

		Controllers, WouldWrite, Wrote, Refused, Unknown, Failing, Objects, Pending, Interactions, Programs json.RawMessage
	}
	strict := json.NewDecoder(strings.NewReader(line))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&summary); err != nil {
		return fmt.Errorf("reading the summary: %w", err)
	}
	if summary.APIVersion != trace.APIVersion || summary.Kind != "TraceSummary" || summary.Outcome != outcome || summary.Elapsed <= 0 {
		return fmt.Errorf("not a TraceSummary with the outcome %s: %s", outcome, line)
	}
	return nil
}

// readEvents reads all events of a text, of which there must be some.
func readEvents(text string) ([]*trace.Event, error) {
	reader := trace.NewReader(bytes.NewBufferString(text))
	var events []*trace.Event
	for {
		switch e, err := reader.Next(); {
		case errors.Is(err, io.EOF) && len(events) == 0:
			return nil, errors.New("no events")
		case errors.Is(err, io.EOF):
			return events, nil
		case err != nil:
			return nil, err
		default:
			events = append(events, e)
		}
	}
}

// attributed is `attributed FILE N`: the trace has exactly N successful creations of pods, and each belongs to a
// reconcile of the very ReplicaSet that owns the pod, which had started and not ended by then.
func attributed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: attributed FILE N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	created, err := podsOfTheirReplicaSets(traceEvents(ts, args[0]))
	ts.Check(err)
	if created != want {
		ts.Fatalf("%d pods were created by a reconcile of their own ReplicaSet, not %d", created, want)
	}
}

// podsOfTheirReplicaSets counts the pods that were created, and fails for one whose reconcile is not that of its owner.
func podsOfTheirReplicaSets(events []*trace.Event) (int, error) {
	running := map[trace.ReconcileID]string{}
	created := map[string]bool{}
	for _, e := range events {
		switch d := e.Detail.(type) {
		case *trace.Start:
			running[e.Reconcile] = e.Controller + " " + e.Key
		case *trace.End:
			delete(running, e.Reconcile)
		case *trace.Request:
			if d.Verb != "create" || d.Resource != "pods" || d.Subresource != "" || d.Failed() {
				continue
			}
			// A ReplicaSet names its pods after itself: owner-abcde.
			owner := "replicaset " + d.Namespace + "/" + d.Name[:strings.LastIndexByte(d.Name, '-')]
			if e.Reconcile == 0 || running[e.Reconcile] != owner || e.Controller+" "+e.Key != owner {
				return 0, fmt.Errorf("pod %s of %s was created by reconcile %d of %s %s, which is %q",
					d.Name, owner, e.Reconcile, e.Controller, e.Key, running[e.Reconcile])
			}
			created[d.Namespace+"/"+d.Name] = true
		}
	}
	return len(created), nil
}

// traceEvents are the events of a trace, without its summary if it has one.
func traceEvents(ts *testscript.TestScript, file string) []*trace.Event {
	text := ts.ReadFile(file)
	if events, last := cutLastLine(text); strings.Contains(last, `"kind":"TraceSummary"`) {
		text = events
	}
	events, err := readEvents(text)
	ts.Check(err)
	return events
}

// atOnce is `atonce FILE CONTROLLER LEAST MOST`: at some moment the controller had at least so many reconciles running,
// and at none more than so many.
func atOnce(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: atonce FILE CONTROLLER LEAST MOST")
	}
	least, err := strconv.Atoi(args[2])
	ts.Check(err)
	most, err := strconv.Atoi(args[3])
	ts.Check(err)
	running, peak := 0, 0
	for _, e := range traceEvents(ts, args[0]) {
		switch {
		case e.Controller != args[1]:
		case e.Type() == trace.TypeStart:
			running++
			peak = max(peak, running)
		case e.Type() == trace.TypeEnd:
			running--
		}
	}
	if peak < least || peak > most {
		ts.Fatalf("%s ran %d reconciles at once, not %d to %d", args[1], peak, least, most)
	}
}

// sameEvents is `sameevents FILE FILE`: two traces have the same events, whichever of them has a summary.
func sameEvents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sameevents FILE FILE")
	}
	var texts [2]string
	for i, file := range args {
		events, err := json.Marshal(traceEvents(ts, file))
		ts.Check(err)
		texts[i] = string(events)
	}
	if texts[0] != texts[1] {
		ts.Fatalf("%s and %s tell different events", args[0], args[1])
	}
}
