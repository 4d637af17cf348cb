package run

import (
	"flag"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
)

var update = flag.Bool("update", false, "write the schema")

// TestSchemas compares docs/controllers.schema.json with the type; with -update it writes it.
func TestSchemas(t *testing.T) {
	g := &schematest.Generator{
		Fields:  map[string]schematest.Schema{"controllerList.Kind": {"const": listKind}},
		Sources: []string{"."},
	}
	g.Compare(t, "../../../../docs/controllers.schema.json",
		"What kubectl reconcile run --list prints with -o json and -o yaml", *update, controllerList{})
	if unused := g.Unused(); unused != nil {
		t.Errorf("no document has %q", unused)
	}
}
