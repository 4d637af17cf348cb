package get

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// print writes the objects in the format asked for.
func (o *Options) print(ctx context.Context, opened *connect.Cluster, lists []objectList) error {
	switch o.output {
	case "json", "yaml":
		return o.printDocument(lists)
	}
	m := newTabler(o, opened)
	var out bytes.Buffer
	shown := 0
	for i := range lists {
		if len(lists[i].objects) == 0 {
			continue
		}
		t, err := m.table(ctx, &lists[i])
		if err != nil {
			return err
		}
		if o.output == "name" {
			for _, r := range t.rows {
				fmt.Fprintln(&out, render.Escape(t.kind.String()+"/"+r.object.Name))
			}
			continue
		}
		if shown++; shown > 1 {
			fmt.Fprintln(&out)
		}
		o.printTable(&out, t, len(lists) > 1)
	}
	_, err := o.streams.Out.Write(out.Bytes())
	return err
}

// printTable writes a table as kubectl does; withKind is true if there are several.
func (o *Options) printTable(out io.Writer, t *table, withKind bool) {
	w := tabwriter.NewWriter(out, 6, 4, 3, ' ', 0) // as GetNewTabWriter of k8s.io/cli-runtime/pkg/printers
	line := func(cells []string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }
	withNamespace := o.targets.AllNamespaces && t.kind.Namespaced
	if !o.noHeaders {
		var titles []string
		if withNamespace {
			titles = append(titles, "NAMESPACE")
		}
		for i := range t.columns {
			if o.output == "wide" || t.columns[i].Priority == 0 {
				titles = append(titles, strings.ToUpper(cellText(t.columns[i].Name)))
			}
		}
		if o.showLabels {
			titles = append(titles, "LABELS")
		}
		line(titles)
	}
	for _, r := range t.rows {
		var cells []string
		if withNamespace {
			cells = append(cells, cellText(r.object.Namespace))
		}
		for i, cell := range r.cells {
			if i >= len(t.columns) || o.output != "wide" && t.columns[i].Priority != 0 {
				continue
			}
			text := cellText(cell)
			if i == 0 && withKind {
				text = cellText(t.kind.String()) + "/" + text
			}
			cells = append(cells, text)
		}
		if o.showLabels {
			text := labels.FormatLabels(r.object.Labels)
			cells = append(cells, cellText(text))
		}
		line(cells)
	}
	_ = w.Flush() // to a buffer
}

// cellText returns a cell as kubectl prints it: up to the end of its first line, and safe for a terminal.
func cellText(cell any) string {
	if cell == nil {
		return ""
	}
	text := fmt.Sprint(cell)
	if end := strings.IndexAny(text, "\f\n\r"); end >= 0 {
		text = text[:end] + "..."
	}
	return strings.ReplaceAll(render.Escape(text), "\t", " ")
}

// printDocument writes the objects as JSON or YAML: one that was named as it is, others as a list.
func (o *Options) printDocument(lists []objectList) error {
	items := []any{}
	for i := range lists {
		for _, object := range lists[i].objects {
			fields := map[string]any{}
			if err := utiljson.Unmarshal(object, &fields); err != nil {
				return fmt.Errorf("decoding %s: %w", lists[i].kind, err)
			}
			obj := &unstructured.Unstructured{Object: fields}
			obj.SetGroupVersionKind(lists[i].kind.GroupVersionKind)
			if !o.managedFields {
				unstructured.RemoveNestedField(fields, "metadata", "managedFields")
			}
			items = append(items, fields)
		}
	}
	if len(items) == 1 && o.named.Count() == 1 {
		return cli.WriteDocument(o.streams.Out, o.output, items[0])
	}
	return cli.WriteDocument(o.streams.Out, o.output, map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items,
	})
}
