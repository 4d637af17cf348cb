package diff

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
)

// objectDiff is an object before and after, as YAML without what is not shown.
type objectDiff struct {
	plan.Object
	// file is how `kubectl diff` names the file of the object.
	file          string
	before, after string // empty if it is not there
	// like names others that are created or deleted alike; they have no texts of their own.
	like []string
}

// printObjects prints how the objects differ.
func (o *Options) printObjects(ctx context.Context, out io.Writer, made *madePlan) error {
	diffs, err := o.diffs(made.Objects)
	if err != nil {
		return err
	}
	return o.printDiffs(ctx, out, diffs)
}

// printDiffs prints unified diffs, or has another program print them.
func (o *Options) printDiffs(ctx context.Context, out io.Writer, diffs []objectDiff) error {
	if len(diffs) == 0 {
		return nil
	}
	if o.external != "" {
		return o.runExternal(ctx, diffs)
	}
	for _, d := range diffs {
		if _, err := io.WriteString(out, "\n"+o.unified(d)); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, "\n")
	return err
}

// diffs returns the objects that differ in what is shown. Objects that are created or deleted alike, as pods of one
// owner, are one without -v.
func (o *Options) diffs(objects []plan.Object) ([]objectDiff, error) {
	var out []objectDiff
	groups := map[string]int{}
	for _, obj := range objects {
		group := groupOf(obj)
		if at, known := groups[group]; known && group != "" && !o.verbose {
			out[at].like = append(out[at].like, obj.Name)
			continue
		}
		d := objectDiff{Object: obj, file: fileName(obj.ObjectID)}
		var err error
		if d.before, err = o.text(obj.Before); err != nil {
			return nil, err
		}
		if d.after, err = o.text(obj.After); err != nil {
			return nil, err
		}
		if d.before == d.after {
			continue
		}
		groups[group] = len(out)
		out = append(out, d)
	}
	return out, nil
}

// groupOf returns what objects have in common that are created or deleted alike; empty for others.
func groupOf(obj plan.Object) string {
	one := obj.After
	if obj.Verb() == plan.Delete {
		one = obj.Before
	}
	if obj.Verb() == plan.Update || one.GetGenerateName() == "" {
		return ""
	}
	return fmt.Sprint(obj.Verb(), obj.Resource, obj.Namespace, "/", one.GetGenerateName())
}

// fileName is how `kubectl diff` names the file of an object.
func fileName(id plan.ObjectID) string {
	name := fmt.Sprintf("%s.%s.%s.%s", id.Resource.Version, id.Kind, id.Namespace, id.Name)
	if id.Resource.Group != "" {
		name = id.Resource.Group + "." + name
	}
	return name
}

// text returns an object as YAML without what is not shown; empty for nil.
func (o *Options) text(obj *unstructured.Unstructured) (string, error) {
	if obj == nil {
		return "", nil
	}
	shown := o.shownObject(obj)
	text, err := yaml.Marshal(shown.Object)
	if err != nil {
		return "", fmt.Errorf("encoding %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	return string(text), nil
}

// shownObject returns a copy of an object without what is not shown.
func (o *Options) shownObject(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	if !o.shown.managedFields {
		out.SetManagedFields(nil)
	}
	if !o.shown.status {
		unstructured.RemoveNestedField(out.Object, "status")
	}
	if strings.HasPrefix(string(out.GetUID()), "<") { // made by the plan
		for _, field := range []string{"uid", "creationTimestamp"} {
			unstructured.RemoveNestedField(out.Object, "metadata", field)
		}
	}
	return out
}

// sides are what the two versions of objects are called.
func (o *Options) sides() (before, after string) {
	if o.comparison != nil {
		return "FROM", "TO"
	}
	return "LIVE", "PLANNED"
}

// contextLines is how many lines around a change are shown, as by diff -u.
const contextLines = 3

// unified returns the heading of an object and its unified diff.
func (o *Options) unified(d objectDiff) string {
	var out strings.Builder
	heading := signs[d.Verb()] + " " + d.Kind + " " + d.Name
	if d.Namespace != "" {
		heading += " (" + d.Namespace + ")"
	}
	if len(d.like) > 0 {
		heading += fmt.Sprintf(", and %s like it: %s", cli.Plural(len(d.like), "other"), render.Names(d.like, maxNames))
	}
	out.WriteString(o.palette.Strong(render.Escape(heading)) + "\n")
	for line := range strings.Lines(o.unifiedText(d)) {
		out.WriteString(o.paintLine(render.Escape(strings.TrimSuffix(line, "\n"))) + "\n")
	}
	return out.String()
}

// unifiedText returns the unified diff of an object.
func (o *Options) unifiedText(d objectDiff) string {
	edits := udiff.Lines(d.before, d.after)
	before, after := o.sides()
	unified, err := udiff.ToUnifiedDiff(before+"/"+d.file, after+"/"+d.file, d.before, edits, contextLines)
	if err != nil {
		return err.Error() // cannot happen: the edits are of the text
	}
	longer := 0 // by how many lines the text is after, up to a hunk; the module's own count skips some lines
	for _, hunk := range unified.Hunks {
		hunk.ToLine = hunk.FromLine + longer
		for _, line := range hunk.Lines {
			switch line.Kind {
			case udiff.Insert:
				longer++
			case udiff.Delete:
				longer--
			case udiff.Equal:
			}
		}
	}
	return unified.String()
}

// paintLine colours a line of a unified diff.
func (o *Options) paintLine(line string) string {
	switch {
	case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "@@"):
		return o.palette.Dim(line)
	case strings.HasPrefix(line, "-"):
		return o.palette.Trouble(line)
	case strings.HasPrefix(line, "+"):
		return o.palette.Change(line)
	}
	return line
}
