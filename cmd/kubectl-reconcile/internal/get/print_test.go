package get

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// TestPrintTable: tables are as kubectl prints them, and safe for a terminal.
func TestPrintTable(t *testing.T) {
	object := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "shop", Labels: map[string]string{"b": "2", "a": "1"},
	}}
	one := &table{
		kind: cluster.Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespaced: true},
		columns: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string"}, {Name: "Ready", Type: "string"}, {Name: "Node", Type: "string", Priority: 1},
			{Name: "Count", Type: "integer"},
		},
		rows: []row{{cells: []any{"web", "0/1\nand more", "node-1", int64(3)}, object: object}},
	}
	for _, row := range []struct {
		reason  string
		options Options
		kinds   bool
		want    string
	}{
		{"as it is", Options{}, false, "NAME   READY    COUNT\nweb    0/1...   3\n"},
		{"wide", Options{output: "wide"}, false, "NAME   READY    NODE     COUNT\nweb    0/1...   node-1   3\n"},
		{"all namespaces", Options{targets: &connect.TargetFlags{AllNamespaces: true}}, false,
			"NAMESPACE   NAME   READY    COUNT\nshop        web    0/1...   3\n"},
		{"no titles", Options{noHeaders: true}, false, "web   0/1...   3\n"},
		{"labels", Options{showLabels: true}, false, "NAME   READY    COUNT   LABELS\nweb    0/1...   3       a=1,b=2\n"},
		{"one of several kinds", Options{}, true, "NAME      READY    COUNT\npod/web   0/1...   3\n"},
	} {
		if row.options.targets == nil {
			row.options.targets = &connect.TargetFlags{}
		}
		var out strings.Builder
		row.options.printTable(&out, one, row.kinds)
		if diff := cmp.Diff(row.want, out.String()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", row.reason, diff)
		}
	}
	if text := cellText("\x1b[31mred\tgreen"); strings.ContainsAny(text, "\x1b\t") {
		t.Errorf("%q controls a terminal", text)
	}
}
