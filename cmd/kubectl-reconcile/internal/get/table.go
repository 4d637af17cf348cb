package get

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// table is the objects of one kind as rows.
type table struct {
	kind    cluster.Kind
	columns []metav1.TableColumnDefinition
	rows    []row
}

// row is an object: the cells of its columns, and what the columns beside need.
type row struct {
	cells  []any
	object metav1.PartialObjectMetadata
}

// tabler makes rows of objects. It is used by one goroutine.
type tabler struct {
	options   *Options
	opened    *connect.Cluster
	generator *printers.HumanReadableGenerator // of built-in kinds
}

func newTabler(o *Options, opened *connect.Cluster) *tabler {
	return &tabler{o, opened, printers.NewTableGenerator().With(printersinternal.AddHandlers)}
}

// table returns the rows of a list.
func (m *tabler) table(ctx context.Context, list *objectList) (*table, error) {
	t := &table{kind: list.kind}
	convert := converter(m.builtIn)
	if !legacyscheme.Scheme.Recognizes(list.kind.GroupVersionKind) {
		convert = m.custom(ctx, list.kind)
	}
	for _, object := range list.objects {
		r := row{}
		if err := json.Unmarshal(object, &r.object); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", list.kind, err)
		}
		made, err := converted(ctx, convert, list.kind, object)
		switch {
		case err != nil:
			warning := fmt.Sprintf("warning: the columns of %s/%s cannot be made: %v", list.kind, r.object.Name, err)
			fmt.Fprintln(m.options.streams.ErrOut, cli.OneLine(warning))
			r.cells = []any{r.object.Name}
		default:
			t.columns = made.ColumnDefinitions
			if len(made.Rows) > 0 {
				r.cells = made.Rows[0].Cells
			}
		}
		t.rows = append(t.rows, r)
	}
	if t.columns == nil {
		t.columns = []metav1.TableColumnDefinition{{Name: "Name", Type: "string"}}
	}
	return t, nil
}

// converter makes the table of one object.
type converter func(context.Context, cluster.Kind, json.RawMessage) (*metav1.Table, error)

// converted makes the table of one object. What is in a recording was not validated, and the code for columns
// expects valid objects: that it panics is an error.
func converted(ctx context.Context, convert converter, kind cluster.Kind, object json.RawMessage) (
	made *metav1.Table, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the object is not valid: %v", cause)
		}
	}()
	return convert(ctx, kind, object)
}

// builtIn returns the table of one object of a kind that the API server has: see pkg/printers/internalversion of
// k8s.io/kubernetes.
func (m *tabler) builtIn(ctx context.Context, kind cluster.Kind, object json.RawMessage) (*metav1.Table, error) {
	decoded, _, err := legacyscheme.Codecs.UniversalDecoder().Decode(object, &kind.GroupVersionKind, nil)
	if err != nil {
		return nil, err
	}
	var made *metav1.Table
	err = asOf(m.options.clock, m.options.at, func(move func(time.Time) time.Time) error {
		moved := decoded.DeepCopyObject()
		moveTimes(moved, move)
		var failed error
		made, failed = m.generator.GenerateTable(moved, printers.GenerateOptions{Wide: true})
		return failed
	})
	if err != nil { // the kind has no columns of its own
		return rest.NewDefaultTableConvertor(kind.GroupResource()).ConvertToTable(ctx, decoded, nil)
	}
	return made, nil
}

// custom returns a function that makes the table of one object of a custom resource, with the columns of its definition
// if that was recorded.
func (m *tabler) custom(ctx context.Context, kind cluster.Kind) converter {
	convertor, err := tableconvertor.New(m.columnsOf(ctx, kind))
	if err != nil { // what the definition has is shown up to there
		fmt.Fprintln(m.options.streams.ErrOut, cli.OneLine(fmt.Sprintf("warning: the columns of %s: %v", kind, err)))
	}
	return func(ctx context.Context, _ cluster.Kind, object json.RawMessage) (*metav1.Table, error) {
		made, err := convertJSON(ctx, convertor, object, func(any) {})
		if err != nil {
			return nil, err
		}
		var moved *metav1.Table
		err = asOf(m.options.clock, m.options.at, func(move func(time.Time) time.Time) error {
			var failed error
			moved, failed = convertJSON(ctx, convertor, object, func(v any) { moveTexts(v, move) })
			return failed
		})
		if err != nil {
			return nil, err
		}
		for i, column := range made.ColumnDefinitions { // a text that is a time is shown as it is
			if column.Type == "date" {
				made.Rows[0].Cells[i] = moved.Rows[0].Cells[i]
			}
		}
		return made, nil
	}
}

// convertJSON returns the table of an object after change was called with it.
func convertJSON(
	ctx context.Context, c rest.TableConvertor, object json.RawMessage, change func(any),
) (*metav1.Table, error) {
	fields := map[string]any{}
	if err := utiljson.Unmarshal(object, &fields); err != nil {
		return nil, err
	}
	change(fields)
	return c.ConvertToTable(ctx, &unstructured.Unstructured{Object: fields}, nil)
}

// ageColumn is that of custom resources which define no columns.
var ageColumn = apiextensionsv1.CustomResourceColumnDefinition{
	Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp",
}

// columnsOf returns the columns of a custom resource in its version.
func (m *tabler) columnsOf(ctx context.Context, kind cluster.Kind) []apiextensionsv1.CustomResourceColumnDefinition {
	only := []apiextensionsv1.CustomResourceColumnDefinition{ageColumn}
	definitions, ok, err := m.opened.Kinds.Lookup(schema.GroupVersionKind{
		Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition",
	})
	if err != nil || !ok {
		return only
	}
	text, err := m.opened.Reader.ObjectJSON(ctx, definitions, "", kind.GroupResource().String())
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err != nil || json.Unmarshal(text, definition) != nil {
		return only
	}
	for i := range definition.Spec.Versions {
		version := &definition.Spec.Versions[i]
		if version.Name == kind.Version && len(version.AdditionalPrinterColumns) > 0 {
			return version.AdditionalPrinterColumns
		}
	}
	return only
}
