package diff

import (
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/drift"
)

// printDrift prints what objects are beside what is wanted of them, a line for each difference, the specs that are not
// seen first.
func (o *Options) printDrift(out io.Writer, made *madePlan) error {
	if made.Drift == nil || made.Drift.Empty() {
		return nil
	}
	var rows [][]render.Cell
	row := func(obj *unstructured.Unstructured, tone render.Tone, text, note string) {
		rows = append(rows, []render.Cell{
			{Text: objectName(obj, len(made.State.Copy.Namespaces) != 1)}, {Text: text, Tone: tone},
			{Text: note, Tone: render.ToneDim},
		})
	}
	for _, u := range made.Drift.Unseen {
		row(u.Object, render.ToneTrouble, unseenText(u), writerText("last written", u.Writer))
	}
	for _, f := range made.Drift.SetFields {
		row(f.Object, render.ToneChange, setFieldText(f), writerText("set", f.By))
	}
	for _, old := range made.Drift.OldPods {
		text := fmt.Sprintf("%s of revision %s, wants %s: %s", cli.Plural(len(old.Pods), "pod"), old.Actual, old.Wanted,
			render.Names(old.Pods, maxNames))
		row(old.Object, render.ToneChange, text, "")
	}
	for _, c := range made.Drift.Counts {
		row(c.Object, render.ToneChange, countText(c), "")
	}
	table := render.NewTable([]render.Column{
		{Title: "DRIFT"}, {Title: "WANTED AND ACTUAL", Truncatable: true},
		{Title: "BY", Truncatable: true, DropOrder: 1},
	}, render.TableOptions{Palette: o.palette, Width: o.width, ASCII: o.ascii})
	if err := table.Write(out, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}

// objectName spells an object as kubectl does.
func objectName(obj *unstructured.Unstructured, namespaced bool) string {
	name := cluster.Kind{GroupVersionKind: obj.GroupVersionKind()}.String() + "/" + obj.GetName()
	if namespaced && obj.GetNamespace() != "" {
		return obj.GetNamespace() + " " + name
	}
	return name
}

func unseenText(u drift.Unseen) string {
	d := u.Drift
	switch {
	case d.State == inspect.NeverSeen:
		return fmt.Sprintf("generation %d: no controller has seen it", d.Generation)
	case d.Observed != nil:
		return fmt.Sprintf("generation %d: its controller has seen %d", d.Generation, *d.Observed)
	}
	return fmt.Sprintf("generation %d: a condition is of an older one", d.Generation)
}

// setFieldText spells a field that someone has set against what is wanted.
func setFieldText(f drift.SetField) string {
	change := fields.Mask{Kind: f.Object.GroupVersionKind().GroupKind()}.Change(f.Path, f.Wanted, f.Actual)
	text := render.Changes([]fields.Change{change}, render.ChangesOptions{All: true})
	if text == "" {
		text = f.Path
	}
	if f.WantedBy != nil {
		return text + ", against " + f.WantedBy.GetKind() + " " + f.WantedBy.GetName()
	}
	return text + ": the next apply takes it back"
}

// countText spells numbers beside what is wanted.
func countText(c drift.Count) string {
	parts := []string{fmt.Sprintf("wants %d", c.Wanted)}
	for _, n := range []struct {
		name  string
		value *int64
	}{{"there", c.There}, {"updated", c.Updated}, {"ready", c.Ready}, {"available", c.Available}} {
		if n.value != nil {
			parts = append(parts, fmt.Sprintf("%s %d", n.name, *n.value))
		}
	}
	return strings.Join(parts, ", ")
}

// writerText says who wrote and when; empty if that is not known.
func writerText(how string, w *fields.Writer) string {
	if w == nil || w.Manager == "" {
		return ""
	}
	text := how + " by " + w.Manager
	if w.Operation == string(metav1.ManagedFieldsOperationApply) {
		text += " (apply)"
	}
	if w.Subresource != "" {
		text += " through " + w.Subresource
	}
	if w.Time != nil {
		text += " at " + w.Time.UTC().Format(time.RFC3339)
	}
	return text
}
