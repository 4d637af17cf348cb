package session

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// How many entries of each list the summary shows, unless Detail is Verbose.
const (
	maxPending  = 5
	maxFailing  = 5
	maxRefusals = 8
	maxFindings = 10
	// maxAppliedRows is up to how many applied objects have a row each, whatever their state.
	maxAppliedRows = 10
	// maxHeadlineNames bounds the objects that the headline names.
	maxHeadlineNames = 3
)

// printSummary writes the summary for people.
func (out *Outputs) printSummary(r *result) error {
	if r.unused {
		return nil
	}
	fmt.Fprintln(out.stdout)
	if out.narrowed != nil {
		out.Summaryf("shown: what concerns %s; the summary is of the whole run", out.narrowed.shownText())
		for _, name := range out.narrowed.unseen() {
			out.Summaryf("%s: no controller watched, reconciled or wrote such an object", name)
		}
		fmt.Fprintln(out.stdout)
	}
	if out.story != nil {
		if text := render.NotTold(out.story.NotTold()); text != "" {
			out.Summaryf("%s; --blocks shows each reconcile that wrote, -v all", text)
			fmt.Fprintln(out.stdout)
		}
	}
	if out.blocks != nil {
		if text := notShownText(out.blocks.NotShown()); text != "" {
			out.Summaryf("%s", text)
			fmt.Fprintln(out.stdout)
		}
	}
	if out.fields != nil {
		for _, path := range out.fields.Unchanged() {
			out.Summaryf("%s: did not change in any object of the kinds that the controllers watch", path)
		}
	}
	out.Summaryf("%s", r.headline()+r.objectsText())
	shown := slices.DeleteFunc(slices.Clone(r.trace.controllers), func(c trace.ControllerSummary) bool {
		return out.o.Detail < render.Verbose && slices.Contains(simulated, c.Controller)
	})
	err := render.ControllerTable(out.stdout, shown, render.ControllerTableOptions{
		TableOptions: out.tableOptions(), Dry: out.o.Writes.IsDryRun(),
		Failing: func(controller string) bool {
			return slices.ContainsFunc(r.trace.failing,
				func(k trace.FailingKey) bool { return k.Controller == controller })
		},
	})
	if err != nil {
		return err
	}
	if err := render.ProgramTable(out.stdout, r.trace.programs, out.tableOptions()); err != nil {
		return err
	}
	if err := out.printWrites(r.trace); err != nil {
		return err
	}
	if err := render.ObjectTable(out.stdout, objectRows(r.objects), out.tableOptions()); err != nil {
		return err
	}
	out.printPending(r.pending)
	out.printFailing(r.trace.failing)
	limit := maxFindings
	if out.o.Detail >= render.Verbose {
		limit = 0
	}
	return render.Findings(out.notes, r.trace.findings, out.findingsOptions(limit))
}

// tableOptions are the options of a table on stdout.
func (out *Outputs) tableOptions() render.TableOptions {
	return render.TableOptions{Palette: out.o.Palette, Width: render.TerminalWidth(out.stdout)}
}

// shorten returns the first of a list in the summary, unless Detail is Verbose, and how many more there are.
func shorten[T any](out *Outputs, all []T, limit int) (first []T, more int) {
	if out.o.Detail >= render.Verbose || len(all) <= limit {
		return all, 0
	}
	return all[:limit], len(all) - limit
}

// printWrites prints what was written to a cluster, or would be, and what was refused.
func (out *Outputs) printWrites(r recorded) error {
	if !out.o.onCluster() {
		return nil
	}
	word, nothing := "WROTE", "nothing was written"
	if out.o.Writes.IsDryRun() {
		word, nothing = "WOULD", "nothing would be written"
	}
	if len(r.written) == 0 && len(r.refused) == 0 {
		out.Summaryf("%s", nothing)
		return nil
	}
	if err := render.WriteCountTable(out.stdout, word, writeRows(r.written, r.refused),
		out.tableOptions()); err != nil {
		return err
	}
	refused, more := shorten(out, slices.DeleteFunc(slices.Clone(r.refused), trace.WriteCount.IsRace), maxRefusals)
	for _, w := range refused {
		out.Summaryf("%s", refusalText(w))
	}
	if more > 0 {
		out.Summaryf("%s more refused", cli.Plural(more, "sort"))
	}
	if len(r.unverified) > 0 {
		out.Summaryf("so what would be written is not known in full")
	}
	return nil
}

// timers are what the timers of controllers are for, of those that set them for one thing only: the calls of AddAfter
// in pkg/controller of k8s.io/kubernetes.
var timers = map[string]string{
	"cronjob":                  "next time of its schedule",
	"deployment":               "check of the progress deadline",
	"horizontalpodautoscaling": "next look at the metrics",
	"replicaset":               "minReadySeconds of a pod",
	"replicationcontroller":    "minReadySeconds of a pod",
	"statefulset":              "minReadySeconds of a pod",
	"ttl-after-finished":       "end of its time to live",
}

func (out *Outputs) printPending(pending []pendingKey) {
	pending, more := shorten(out, pending, maxPending)
	for _, p := range pending {
		why := cmp.Or(timers[p.Controller], "timer")
		if p.Retry > 0 {
			why = fmt.Sprintf("retry %d", p.Retry)
		}
		out.Summaryf("still to come: %s %s in %s (%s)%s", p.Controller, p.Key, render.FormatDuration(p.In), why,
			out.o.untilText(p))
	}
	if more > 0 {
		out.Summaryf("still to come: %d more", more)
	}
}

func (out *Outputs) printFailing(failing []trace.FailingKey) {
	failing, more := shorten(out, failing, maxFailing)
	for _, k := range failing {
		text := fmt.Sprintf(" %s %s, %s", k.Controller, k.Key, cli.Plural(k.Failures, "time"))
		if k.Error != "" {
			text += ": " + render.TrimAPIError(k.Error)
		}
		printLine(out.notes, out.o.Palette.Trouble("failing:")+render.Escape(text))
	}
	if more > 0 {
		out.Summaryf("failing: %d more", more)
	}
}

// printLine writes a line that is escaped already.
func printLine(w io.Writer, line string) { _, _ = fmt.Fprintln(w, cli.Wrap(w, line)) }

// notShownText counts the reconciles that have no block; empty if there are none.
func notShownText(n render.NotShown) string {
	var parts, kinds []string
	if n.PutOff > 0 {
		kinds = append(kinds, fmt.Sprintf("%d put off", n.PutOff))
	}
	if n.Conflicts > 0 {
		kinds = append(kinds, cli.Plural(n.Conflicts, "conflict"))
	}
	if idle := n.Idle + n.PutOff + n.Conflicts; idle > 0 {
		text := cli.Plural(idle, "reconcile") + " wrote nothing"
		if kinds != nil {
			text += " (" + strings.Join(kinds, ", ") + ")"
		}
		parts = append(parts, text)
	}
	if n.Repeated > 0 {
		parts = append(parts, strconv.Itoa(n.Repeated)+" came to the same as before")
	}
	if len(parts) == 0 {
		return ""
	}
	return "not shown: " + strings.Join(parts, ", ") + "; -v shows them"
}

// headline is how the run ended, and when.
func (r *result) headline() string {
	after := fmt.Sprintf("after %.2fs", r.elapsed.Seconds())
	switch {
	case r.interrupted():
		return "interrupted " + after
	case r.outcome.Is(runlocal.GoalInterrupted), r.outcome.Is(runlocal.GoalElapsed):
		return "ended " + after
	case r.outcome == runlocal.OutcomeTimedOut:
		return "not " + goalText(r.goal) + " " + after
	case r.outcome == runlocal.OutcomeStuck:
		if job, failed := r.objects.FailedJob(); failed && r.objects.OnlyFailedJobs() {
			return failedText(job) + " " + after
		}
		return "not ready, gave up " + after + r.nextText()
	case r.outcome == runlocal.OutcomeLapsed:
		return "not ready any more " + after
	}
	return string(r.outcome) + " " + after
}

// next returns the key that would have come back first; nil if none would.
func (r *result) next() *pendingKey {
	if len(r.pending) == 0 {
		return nil
	}
	return &r.pending[0]
}

// nextText is the end of a headline that names the next key; empty if there is none.
func (r *result) nextText() string {
	next := r.next()
	if next == nil {
		return ""
	}
	return fmt.Sprintf("; the next key, %s %s, is due in %s", next.Controller, next.Key, render.FormatDuration(next.In))
}

// objectsText is the end of the headline that names the objects: those that are not ready of a run until nothing is
// left to do, and of one until they are ready all, if they are few.
func (r *result) objectsText() string {
	switch {
	case r.outcome.Is(runlocal.GoalSettled):
		return notReadyText(r.objects)
	case r.outcome.Is(runlocal.GoalReady):
		return readyText(r.objects)
	}
	return ""
}

func readyText(r runlocal.Readiness) string {
	if len(r.Applied) == 0 || len(r.Applied) > maxHeadlineNames {
		return ""
	}
	var objects []string
	for _, s := range r.Applied {
		objects = append(objects, strings.TrimSpace(s.String()+" "+s.Status.Ready))
	}
	return ": " + strings.Join(objects, ", ")
}

func notReadyText(r runlocal.Readiness) string {
	var names []string
	for _, s := range r.Late() {
		names = append(names, s.String()+" "+s.Status.Status)
	}
	if names == nil {
		return ""
	}
	text := fmt.Sprintf(", but %s not ready: ", cli.Plural(len(names), "object")+cli.PluralOf(len(names), " is",
		" are"))
	if more := len(names) - maxHeadlineNames; more > 0 {
		return text + strings.Join(names[:maxHeadlineNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return text + strings.Join(names, ", ")
}

// objectRows returns the rows of the table of objects: each applied one, and what controllers created, folded.
func objectRows(r runlocal.Readiness) []render.ObjectRow {
	var rows []render.ObjectRow
	for _, s := range r.Applied {
		row := render.ObjectRow{Name: s.String(), Namespace: s.Namespace, Status: s.Status}
		if len(r.Applied) > maxAppliedRows {
			row.Fold = strings.ToLower(schema.GroupKind{Group: s.Kind.Group, Kind: s.Kind.Kind}.String())
		}
		rows = append(rows, row)
	}
	for _, s := range r.Created {
		name := strings.ToLower(schema.GroupKind{Group: s.Kind.Group, Kind: s.Kind.Kind}.String())
		rows = append(rows, render.ObjectRow{Fold: name, Name: s.String(), Namespace: s.Namespace, Status: s.Status})
	}
	return rows
}

// refusalText is such as "create pods was refused 3 times (403): exceeded quota: …".
func refusalText(w trace.WriteCount) string {
	times, why := cli.Plural(w.Writes, "time"), render.TrimAPIError(w.Message)
	switch {
	case w.NotSent:
		return fmt.Sprintf("%s %s was not sent %s: %s", w.Verb, w.Name(), times, why)
	case w.Code == 0:
		return fmt.Sprintf("%s %s got no answer %s: %s", w.Verb, w.Name(), times, why)
	}
	return fmt.Sprintf("%s %s was refused %s (%d): %s", w.Verb, w.Name(), times, w.Code, why)
}

// writeRows returns the rows of the table of what was written, or would be, with what was refused of it.
func writeRows(accepted, refused []trace.WriteCount) []render.WriteCountRow {
	var rows []render.WriteCountRow
	all := append(slices.Clone(accepted), onlyRefused(accepted, refused)...)
	slices.SortFunc(all, trace.CompareWriteCounts)
	for _, w := range all {
		times := 0
		for _, r := range refused {
			if w.SameWrites(r) {
				times += r.Writes
			}
		}
		rows = append(rows, render.WriteCountRow{
			Verb: w.Verb, Resource: w.Name(), Objects: w.Objects, Writes: w.Writes, Refused: times,
		})
	}
	return rows
}

// onlyRefused returns a count without writes for each verb and resource of which nothing was accepted.
func onlyRefused(accepted, refused []trace.WriteCount) []trace.WriteCount {
	var out []trace.WriteCount
	for _, r := range refused {
		if !slices.ContainsFunc(append(slices.Clone(accepted), out...), r.SameWrites) {
			out = append(out, trace.WriteCount{Verb: r.Verb, Group: r.Group, Resource: r.Resource,
				Subresource: r.Subresource})
		}
	}
	return out
}
