package diff

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// print prints the plan as it was asked for. Where what is not in the plan has no place in the output, it is printed on
// stderr.
func (o *Options) print(ctx context.Context, made *madePlan) error {
	out := o.streams.Out
	if o.summary || o.output == "name" {
		for _, line := range made.lines() {
			if _, err := fmt.Fprintln(o.streams.ErrOut, cli.OneLine(line)); err != nil {
				return err
			}
		}
	}
	switch {
	case o.output == "name":
		return cli.WriteNames(out, made.Objects, kubectlName)
	case o.output != "":
		return cli.WriteDocument(out, o.output, o.document(made))
	case o.summary:
		_, err := fmt.Fprintln(out, o.summaryLine(made))
		return err
	}
	if err := o.printSteps(out, made); err != nil {
		return err
	}
	if err := o.printObjects(ctx, out, made); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, cli.Wrap(out, o.summaryLine(made)))
	return err
}

// kubectlName names an object as `kubectl get -o name` does.
func kubectlName(obj plan.Object) string {
	gvk := obj.Resource.GroupVersion().WithKind(obj.Kind)
	return cluster.Kind{GroupVersionKind: gvk}.String() + "/" + obj.Name
}

// printSteps prints a row for each write of the steps that are shown, and the lines below the table.
func (o *Options) printSteps(out io.Writer, made *madePlan) error {
	if err := o.printDrift(out, made); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, cli.Wrap(out, render.Escape(o.title(made)))); err != nil {
		return err
	}
	table := render.NewTable([]render.Column{
		{Title: "STEP"}, {Title: "BY"}, {Title: "WRITE", Truncatable: true}, {Title: "CHANGES", Truncatable: true},
		{Title: "BECAUSE", Truncatable: true, DropOrder: 1},
	}, render.TableOptions{Palette: o.palette, Width: o.width, ASCII: o.ascii})
	rows, hidden := o.rows(made)
	if err := table.Write(out, rows); err != nil {
		return err
	}
	for _, line := range append(hidden.lines(), o.notes(made)...) {
		if _, err := fmt.Fprintln(out, cli.Wrap(out, render.Escape(line))); err != nil {
			return err
		}
	}
	return nil
}

// title says what the plan is.
func (o *Options) title(made *madePlan) string {
	text := "plan by the controllers of Kubernetes " + api.KubernetesVersion()
	switch {
	case len(made.from) > 0:
		text += ", from " + cli.Plural(len(made.from), "object") + " of files"
	case made.State.Copy != nil:
		text += ", on a copy of " + copiedText(made.State.Copy)
	default:
		text += ", from an empty cluster"
	}
	if len(made.Steps) == 0 {
		return text + ": nothing to do"
	}
	return text
}

// copiedText says what was copied.
func copiedText(c *seed.Copy) string {
	what := "all namespaces"
	if !c.AllNamespaces {
		what = cli.PluralOf(len(c.Namespaces), "namespace ", "namespaces ") + cli.Enumerate(c.Namespaces)
	}
	what += " (" + cli.Plural(len(c.Objects), "object")
	if c.Unrelated > 0 {
		what += fmt.Sprintf(", without %d unrelated %s", c.Unrelated, cli.PluralOf(c.Unrelated, "one", "ones"))
	}
	return what + ")"
}

// hiddenSteps counts the steps that are not shown.
type hiddenSteps struct{ status, simulated int }

func (h hiddenSteps) lines() []string {
	var parts []string
	if h.status > 0 {
		parts = append(parts,
			cli.Plural(h.status, "step")+" that "+cli.PluralOf(h.status, "changes", "change")+
				" only status (their numbers are left out)")
	}
	if h.simulated > 0 {
		parts = append(parts, fmt.Sprintf("%d of simulated nodes", h.simulated))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"not shown: " + strings.Join(parts, ", ") + "; -v shows them"}
}

// stepTable makes the rows of the steps that are shown.
type stepTable struct {
	o *Options
	// status is true if what changes only status is shown, namespaced if objects are shown with their namespaces.
	status, namespaced bool
	shown              map[int]bool   // numbers of steps
	keys               map[int]string // by the number of a step its controller and key
	hidden             hiddenSteps
}

// rows returns the rows of the steps that are shown, and counts the others. If all steps of controllers change only
// status, they are shown.
func (o *Options) rows(made *madePlan) (rows [][]render.Cell, hidden hiddenSteps) {
	t := &stepTable{o: o, namespaced: namespaces(made) > 1, shown: map[int]bool{}, keys: map[int]string{}}
	t.status = o.verbose || o.shown.status || !slices.ContainsFunc(made.Steps, func(s plan.Step) bool {
		return !s.Simulated && t.isShown(&s)
	})
	for i := range made.Steps {
		step := &made.Steps[i]
		t.keys[step.Number] = step.Controller + " " + step.Key
		switch {
		case step.Simulated && !o.verbose:
			t.hidden.simulated++
		case !t.isShown(step):
			t.hidden.status++
		default:
			t.shown[step.Number] = true
			rows = append(rows, t.stepRows(step)...)
		}
	}
	return rows, t.hidden
}

// isShown reports whether there is anything to show of a step.
func (t *stepTable) isShown(step *plan.Step) bool {
	return step.Error != "" || slices.ContainsFunc(step.Writes, t.showsWrite)
}

// showsWrite reports whether a write is shown: one that changes only status, or what controllers keep for themselves,
// is not.
func (t *stepTable) showsWrite(w plan.Write) bool {
	return t.status || w.Refused() || w.Verb != plan.Update || t.changesText(w) != ""
}

// changesText spells what an update changes.
func (t *stepTable) changesText(w plan.Write) string {
	if t.o.verbose {
		return render.Changes(w.Changes, render.ChangesOptions{All: true})
	}
	changes := w.Changes
	if !t.status {
		changes = w.SpecChanges()
	}
	return render.Changes(changes, render.ChangesOptions{Limit: 4})
}

// namespaces counts the namespaces in which the plan writes.
func namespaces(made *madePlan) int {
	seen := map[string]bool{}
	for i := range made.Steps {
		for _, w := range made.Steps[i].Writes {
			if w.Object.Namespace != "" {
				seen[w.Object.Namespace] = true
			}
		}
	}
	return len(seen)
}

// stepRows returns the rows of one step: one for each group of writes, and one for its error.
func (t *stepTable) stepRows(step *plan.Step) [][]render.Cell {
	var out [][]render.Cell
	add := func(write render.Cell, changes render.Cell) {
		number, by, because := "", "", ""
		if len(out) == 0 {
			if step.Number > 0 {
				number = strconv.Itoa(step.Number)
			}
			by, because = stepAuthor(step), t.becauseText(step)
		}
		out = append(out, []render.Cell{
			{Text: number, Tone: render.ToneDim}, {Text: by}, write, changes, {Text: because, Tone: render.ToneDim},
		})
	}
	refused := false
	for _, group := range groupWrites(step.Writes) {
		refused = refused || group[0].Refused()
		if t.showsWrite(group[0]) {
			add(t.writeCell(group), t.changesCell(group))
		}
	}
	if step.Error != "" && !refused {
		add(render.Cell{Text: "fails", Tone: render.ToneTrouble},
			render.Cell{Text: render.TrimAPIError(step.Error), Tone: render.ToneTrouble})
	}
	if step.Repeats > 0 && len(out) > 0 {
		last := &out[len(out)-1][3]
		last.Text += fmt.Sprintf(" (tried %d times)", step.Repeats+1)
	}
	return out
}

// stepAuthor is who does a step.
func stepAuthor(step *plan.Step) string {
	if step.Controller == "" {
		return "you"
	}
	return step.Controller
}

// groupWrites groups consecutive creations and deletions of one kind: a burst of pods is one row.
func groupWrites(writes []plan.Write) [][]plan.Write {
	var out [][]plan.Write
	for _, w := range writes {
		if last := len(out) - 1; last >= 0 && alike(out[last][0], w) {
			out[last] = append(out[last], w)
			continue
		}
		out = append(out, []plan.Write{w})
	}
	return out
}

func alike(a, b plan.Write) bool {
	return a.Verb == b.Verb && a.Verb != plan.Update && a.Object.Resource == b.Object.Resource &&
		a.Object.Namespace == b.Object.Namespace && a.Message == b.Message
}

// signs are how the verbs are written.
var signs = map[plan.Verb]string{plan.Create: "+", plan.Update: "~", plan.Delete: "-"}

// maxNames bounds the names in a row without -v.
const maxNames = 5

// writeCell spells what a group of writes does to which objects.
func (t *stepTable) writeCell(group []plan.Write) render.Cell {
	first := group[0]
	var names []string
	for _, w := range group {
		names = append(names, w.Object.Name)
	}
	limit := maxNames
	if t.o.verbose {
		limit = 0
	}
	kind := first.Object.Kind
	if kind == "" {
		kind = first.Object.Resource.Resource
	}
	text := signs[first.Verb] + " " + kind + " "
	if t.namespaced && first.Object.Namespace != "" {
		text += first.Object.Namespace + "/"
	}
	tone := render.TonePlain
	if first.Refused() {
		tone = render.ToneTrouble
	}
	return render.Cell{Text: text + render.Names(names, limit), Tone: tone}
}

// changesCell spells what a group of writes changes, or why it is refused.
func (t *stepTable) changesCell(group []plan.Write) render.Cell {
	w := group[0]
	switch {
	case w.Refused():
		return render.Cell{Text: "refused: " + render.TrimAPIError(w.Message), Tone: render.ToneTrouble}
	case w.Verb == plan.Create && len(group) == 1:
		return render.Cell{Text: render.CreatedReplicas(w.Changes), Tone: render.ToneChange}
	case w.Verb != plan.Update:
		return render.Cell{}
	}
	return render.Cell{Text: t.changesText(w), Tone: render.ToneChange}
}

// maxBecause bounds the causes in a row.
const maxBecause = 2

// becauseText names the causes of a step: steps that are shown by their numbers, else what was seen. That an object is
// there, or that the controller has written the status of what it reconciles, is a cause only if there is no other.
func (t *stepTable) becauseText(step *plan.Step) string {
	var steps, others, least []string
	for _, c := range step.Causes {
		switch text := causeText(c); {
		case t.shown[c.Step] && c.Step > 0:
			steps = append(steps, strconv.Itoa(c.Step))
		case text == "":
		case c.Initial, c.Step > 0 && t.keys[c.Step] == step.Controller+" "+step.Key:
			least = cli.AppendUnique(least, text)
		default:
			others = cli.AppendUnique(others, text)
		}
	}
	if len(steps)+len(others) == 0 && len(least) > 0 {
		others = least[:1]
	}
	var all []string
	if len(steps) > 0 {
		all = append(all, cli.PluralOf(len(steps), "step ", "steps ")+strings.Join(steps, ", "))
	}
	all = append(all, others...)
	if len(all) > maxBecause {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxBecause], "; "), len(all)-maxBecause)
	}
	return strings.Join(all, "; ")
}

// causeText spells a cause that is no step.
func causeText(c plan.Cause) string {
	switch {
	case c.Type == trace.CauseRetry:
		return fmt.Sprintf("retry %d", c.Retry)
	case c.Object.Kind != "" && c.Initial:
		return c.Object.Kind + " " + c.Object.Name
	case c.Object.Kind != "":
		text := c.Object.Kind + " " + c.Object.Name
		if changes := render.Changes(c.Changes, render.ChangesOptions{Limit: 1}); changes != "" {
			return text + " " + changes
		}
		return text + " " + strings.ToLower(string(c.Event))
	case c.Type == trace.CauseTimer && c.Delay > 0:
		return "timer of " + render.FormatDuration(trace.Duration(c.Delay))
	case c.Type == trace.CauseTimer:
		return "its own timer"
	}
	return ""
}
