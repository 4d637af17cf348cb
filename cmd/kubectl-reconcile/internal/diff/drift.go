package diff

import (
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

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
	if made.drift == nil || made.drift.Empty() {
		return nil
	}
	var rows [][]render.Cell
	row := func(obj *unstructured.Unstructured, tone render.Tone, text, note string) {
		rows = append(rows, []render.Cell{
			{Text: objectName(obj, len(made.copied.Namespaces) != 1)}, {Text: text, Tone: tone},
			{Text: note, Tone: render.ToneDim},
		})
	}
	for _, u := range made.drift.Unseen {
		row(u.Object, render.ToneTrouble, unseenText(u), writerText("last written", u.Writer))
	}
	for _, f := range made.drift.SetFields {
		row(f.Object, render.ToneChange, setFieldText(f), writerText("set", f.By))
	}
	for _, old := range made.drift.OldPods {
		text := fmt.Sprintf("%s of revision %s, wants %s: %s", cli.Plural(len(old.Pods), "pod"), old.Actual, old.Wanted,
			render.Names(old.Pods, maxNames))
		row(old.Object, render.ToneChange, text, "")
	}
	for _, c := range made.drift.Counts {
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

// driftOf returns the drift of the objects that were asked for and of what they own; all if none were.
func driftOf(report drift.Report, objects []*unstructured.Unstructured, a asked) drift.Report {
	if a.empty() {
		return report
	}
	byUID := map[types.UID]*unstructured.Unstructured{}
	for _, obj := range objects {
		byUID[obj.GetUID()] = obj
	}
	isAsked := func(obj *unstructured.Unstructured) bool {
		for range len(byUID) + 1 { // owners may own each other in a circle
			if obj == nil {
				return false
			}
			if a.has(obj) {
				return true
			}
			c := metav1.GetControllerOfNoCopy(obj)
			if c == nil {
				return false
			}
			obj = byUID[c.UID]
		}
		return false
	}
	var out drift.Report
	for _, u := range report.Unseen {
		if isAsked(u.Object) {
			out.Unseen = append(out.Unseen, u)
		}
	}
	for _, old := range report.OldPods {
		if isAsked(old.Object) {
			out.OldPods = append(out.OldPods, old)
		}
	}
	for _, c := range report.Counts {
		if isAsked(c.Object) {
			out.Counts = append(out.Counts, c)
		}
	}
	for _, f := range report.SetFields {
		if isAsked(f.Object) {
			out.SetFields = append(out.SetFields, f)
		}
	}
	return out
}
