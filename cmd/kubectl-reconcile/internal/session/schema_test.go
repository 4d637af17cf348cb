package session

import (
	"flag"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/interaction"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var update = flag.Bool("update", false, "write the schema")

// The lines of a trace, as trace.Event writes them: what all have, and what those of one type have.
type (
	header struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Seq        uint64            `json:"seq"`
		Time       string            `json:"time"`
		Controller string            `json:"controller,omitempty"`
		Reconcile  trace.ReconcileID `json:"reconcile,omitempty"`
		Key        string            `json:"key,omitempty"`
	}
	watchEvent struct {
		header
		Type trace.Type `json:"type"`
		trace.Watch
	}
	enqueueEvent struct {
		header
		Type trace.Type `json:"type"`
		trace.Enqueue
	}
	startEvent struct {
		header
		Type trace.Type `json:"type"`
		trace.Start
	}
	logEvent struct {
		header
		Type trace.Type `json:"type"`
		trace.Log
	}
	requestEvent struct {
		header
		Type trace.Type `json:"type"`
		trace.Request
	}
	endEvent struct {
		header
		Type trace.Type `json:"type"`
		trace.End
	}
	droppedEvent struct {
		header
		Type trace.Type `json:"type"`
		trace.Dropped
	}
	clientRequestEvent struct {
		header
		Type trace.Type `json:"type"`
		trace.ClientRequest
	}
)

// described is a schema with a description.
func described(s schematest.Schema, text string) schematest.Schema {
	s["description"] = text
	return s
}

// TestSchemas compares docs/trace.schema.json with the types; with -update it writes it.
func TestSchemas(t *testing.T) {
	const pkg = "../../../../pkg/"
	g := &schematest.Generator{
		Types: map[string]schematest.Schema{
			"trace.Duration":  {"type": "string", "pattern": schematest.DurationPattern},
			"trace.Values":    {"type": "object", "additionalProperties": schematest.Schema{"type": "string"}},
			"trace.WatchType": schematest.Enum(trace.Added, trace.Modified, trace.Deleted, trace.Resync),
			"trace.Operation": schematest.Enum(trace.Add, trace.AddAfter, trace.AddRateLimited),
			"trace.CauseType": schematest.Enum(trace.CauseWatch, trace.CauseRetry, trace.CauseTimer, trace.CauseReconcile,
				trace.CauseOther),
			"trace.Outcome":        schematest.Enum(trace.Done, trace.Failed, trace.GaveUp, trace.Panicked),
			"findings.Type":        schematest.Enum(findings.Types()...),
			"findings.Only":        schematest.Enum(findings.OnlyOrder, findings.OnlyTimes, findings.OnlyOrderAndTimes),
			"interaction.LintType": schematest.Enum(interaction.LintTypes()...),
			"time.Time":            {"type": "string", "format": "date-time"},
		},
		As: map[string]any{"trace.Change": []fields.Change{}, "trace.Manager": ""},
		Fields: map[string]schematest.Schema{
			"header.Kind": {"const": trace.Kind},
			"header.Seq":  described(schematest.Schema{"type": "integer", "minimum": 1}, "The number of the event, without gaps."),
			"header.Time": described(schematest.Schema{"type": "string", "format": "date-time"}, "When it happened."),
			"header.Controller": described(schematest.Schema{"type": "string"},
				"The short name of the controller; absent for a watch event, which several controllers may handle."),
			"header.Reconcile": described(schematest.Schema{"type": "integer"},
				"The number of the reconcile that the event belongs to; absent if it belongs to none, or to an unknown one."),
			"header.Key": described(schematest.Schema{"type": "string"},
				"The queue key of the reconcile, as the controller spells it: mostly namespace/name."),
			"watchEvent.Type":         {"const": trace.TypeWatch},
			"enqueueEvent.Type":       {"const": trace.TypeEnqueue},
			"startEvent.Type":         {"const": trace.TypeStart},
			"logEvent.Type":           {"const": trace.TypeLog},
			"requestEvent.Type":       {"const": trace.TypeRequest},
			"endEvent.Type":           {"const": trace.TypeEnd},
			"droppedEvent.Type":       {"const": trace.TypeDropped},
			"clientRequestEvent.Type": {"const": trace.TypeClientRequest},
			"Change.Old":              {}, // any JSON value
			"Change.New":              {},
			"summaryDocument.Kind":    {"const": summaryKind},
			"summaryDocument.Outcome": schematest.Enum[any](runlocal.GoalReady, runlocal.GoalSettled, runlocal.GoalElapsed,
				runlocal.GoalInterrupted, runlocal.OutcomeTimedOut, runlocal.OutcomeStuck, runlocal.OutcomeLapsed,
				runlocal.OutcomeFailed),
		},
		Sources: []string{
			".", pkg + "runlocal/trace", pkg + "runlocal/seed", pkg + "runlocal/findings", pkg + "runlocal/interaction",
			pkg + "inspect/fields", pkg + "inspect/cluster",
		},
	}
	g.Compare(t, "../../../../docs/trace.schema.json",
		"What kubectl reconcile run prints with -o json and writes with --trace-file, each line", *update,
		watchEvent{}, enqueueEvent{}, startEvent{}, logEvent{}, requestEvent{}, endEvent{}, droppedEvent{}, clientRequestEvent{}, summaryDocument{})
	if unused := g.Unused(); unused != nil {
		t.Errorf("no document has %q", unused)
	}
}
