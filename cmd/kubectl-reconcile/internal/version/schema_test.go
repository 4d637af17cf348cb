package version

import (
	"flag"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
)

var update = flag.Bool("update", false, "write the schema")

// TestSchemas compares docs/version.schema.json with the type; with -update it writes it.
func TestSchemas(t *testing.T) {
	g := &schematest.Generator{
		Fields:  map[string]schematest.Schema{"Info.Kind": {"const": infoKind}},
		Sources: []string{"."},
	}
	g.Compare(t, "../../../../docs/version.schema.json", "What kubectl reconcile version prints with -o json and -o yaml",
		*update, Info{})
	if unused := g.Unused(); unused != nil {
		t.Errorf("no document has %q", unused)
	}
}
