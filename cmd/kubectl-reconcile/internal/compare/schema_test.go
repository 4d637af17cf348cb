package compare

import (
	"flag"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/compare"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var update = flag.Bool("update", false, "write the schema")

// TestSchemas compares docs/replay-comparison.schema.json with the types; with -update it writes it.
func TestSchemas(t *testing.T) {
	const pkg = "../../../../pkg/"
	g := &schematest.Generator{
		Types: map[string]schematest.Schema{
			"time.Time":       {"type": "string", "format": "date-time"},
			"trace.Duration":  {"type": "string", "pattern": schematest.DurationPattern},
			"trace.WatchType": schematest.Enum(trace.Added, trace.Modified, trace.Deleted, trace.Resync),
			"trace.CauseType": schematest.Enum(trace.CauseWatch, trace.CauseRetry, trace.CauseTimer, trace.CauseReconcile,
				trace.CauseOther),
			"compare.Verb": schematest.Enum(compare.VerbCreate, compare.VerbUpdate, compare.VerbUpdateStatus,
				compare.VerbDelete),
		},
		As: map[string]any{"trace.Change": []fields.Change{}, "trace.Manager": ""},
		Fields: map[string]schematest.Schema{
			"document.Kind": {"const": documentKind},
			"Change.Old":    {}, // any JSON value
			"Change.New":    {},
		},
		Sources: []string{".", pkg + "runlocal/compare", pkg + "runlocal/trace", pkg + "inspect/fields"},
	}
	g.Compare(t, "../../../../docs/replay-comparison.schema.json",
		"What kubectl reconcile replay prints with --controller, or with --serve -- COMMAND, and -o json or -o yaml", *update,
		document{})
	if unused := g.Unused(); unused != nil {
		t.Errorf("no document has %q", unused)
	}
}
