package replay

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// summary is a sink that writes what the entries have in common.
type summary struct {
	out        io.Writer
	format     string // json, yaml or empty for text
	o          *Options
	summarizer *timeline.Summarizer
}

var _ sink = (*summary)(nil)

// add implements sink.
func (s *summary) add(e *timeline.Entry) error {
	s.summarizer.Add(e)
	return nil
}

// end implements sink.
func (s *summary) end() error {
	sum := s.summarizer.Summary()
	if s.format != "" {
		return cli.WriteDocument(s.out, s.format, v1alpha1.TimelineSummary{
			APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.TimelineSummaryKind, Summary: *sum,
		})
	}
	return s.write(sum)
}

// maxRows bounds the rows of each table of the summary without -v.
const maxRows = 10

// write writes the summary as tables, each under its title; what there is nothing of is left out.
func (s *summary) write(sum *timeline.Summary) error {
	if _, err := io.WriteString(s.out, s.head(sum)+"\n"); err != nil {
		return err
	}
	if err := render.Findings(s.out, sum.Findings, s.o.findingsOptions()); err != nil {
		return err
	}
	for _, table := range []struct {
		title   string
		columns []string
		rows    [][]render.Cell
		more    int
	}{
		{"", []string{"KIND", "EXISTING", "ADDED", "MODIFIED", "DELETED"}, kindRows(sum, s.o.verbose), 0},
		{"time to ready", []string{"WORKLOAD", "SINCE", "AT", "TOOK", "IDLE", "END"}, readinessRows(sum), 0},
		{"alternating", []string{"OBJECT", "FIELD", "RETURNS", "VALUES"}, flappingRows(sum), 0},
		{
			"written without a change", []string{"OBJECT", "WRITES", "A MINUTE", "ONLY", "FIELDS", "BY"},
			rewriteRows(sum), 0,
		},
		{"made and deleted", []string{"OBJECT", "MADE", "DELETED", "A MINUTE", "LIVED", "BY", "OWNER"},
			recreationRows(sum), 0},
		{"restarts", []string{"OBJECT", "CONTAINER", "RESTARTS", "LAST"}, restartRows(sum), 0},
		{"changed most", []string{"OBJECT", "CHANGES", "OF SPEC", "A MINUTE"}, objectRows(sum), sum.MoreObjects},
		{"wrote most", []string{"WRITER", "CHANGES", "A MINUTE", "OBJECTS"}, writerRows(sum), sum.MoreWriters},
		{"controllers", []string{"CONTROLLER", "RECONCILES", "FAILED", "PUT OFF", "WRITES", "REFUSED"},
			controllerRows(sum), 0},
		{"Events", []string{"TYPE", "REASON", "COUNT", "OBJECTS", "BY", "LAST"}, eventRows(sum), 0},
	} {
		if err := s.table(table.title, table.columns, table.rows, table.more); err != nil {
			return err
		}
	}
	return nil
}

func (s *summary) table(title string, columns []string, rows [][]render.Cell, more int) error {
	if len(rows) == 0 {
		return nil
	}
	if !s.o.verbose && len(rows) > maxRows {
		more += len(rows) - maxRows
		rows = rows[:maxRows]
	}
	if title != "" {
		title = "\n" + s.o.palette.Strong(title)
	}
	if _, err := io.WriteString(s.out, title+"\n"); err != nil {
		return err
	}
	list := make([]render.Column, len(columns))
	for i, c := range columns {
		list[i] = render.Column{Title: c, Truncatable: i == 0 || i == len(columns)-1}
	}
	table := render.NewTable(list, render.TableOptions{Palette: s.o.palette, Width: s.o.width})
	if err := table.Write(s.out, rows); err != nil {
		return err
	}
	if more == 0 {
		return nil
	}
	_, err := fmt.Fprintln(s.out, s.o.palette.Dim(fmt.Sprintf("and %d more", more)))
	return err
}

// head returns the first line: over which time, how many changes, and what the recording lacks.
func (s *summary) head(sum *timeline.Summary) string {
	text := counted(sum.Changes, "change")
	if !sum.First.IsZero() && sum.Last.After(sum.First) {
		text += fmt.Sprintf(" in %s, from %s to %s", durationText(sum.Last.Sub(sum.First)),
			sum.First.UTC().Format("2006-01-02 15:04:05"), sum.Last.UTC().Format("15:04:05 UTC"))
	}
	if sum.Relisted > 0 {
		text += fmt.Sprintf("; %d found by listing again", sum.Relisted)
	}
	if sum.Gaps > 0 {
		text += "; " + cli.Plural(sum.Gaps, "gap")
		if sum.GapTime > 0 {
			text += " of " + render.FormatDuration(sum.GapTime)
		}
		if sum.LossyGaps > 0 {
			text += fmt.Sprintf(" (%d may have lost events)", sum.LossyGaps)
		}
	}
	if sum.Errors > 0 {
		text += "; " + cli.Plural(sum.Errors, "error") + " of the server"
	}
	if sum.Torn != "" {
		text += "; cut off"
	}
	return text
}

func plain(texts ...string) []render.Cell {
	out := make([]render.Cell, len(texts))
	for i, text := range texts {
		out[i] = render.Cell{Text: text}
	}
	return out
}

// qualified names an object with its namespace.
func qualified(o *timeline.Object) string {
	name := o.Kind + "/" + o.Name
	if o.Namespace != "" {
		name = o.Namespace + " " + name
	}
	return name
}

// kindRows returns the kinds; all, or those with changes.
func kindRows(sum *timeline.Summary, all bool) [][]render.Cell {
	var out [][]render.Cell
	for _, k := range sum.Kinds {
		if !all && k.Added+k.Modified+k.Deleted == 0 {
			continue
		}
		out = append(out, plain(k.Resource, number(k.Existing), number(k.Added), number(k.Modified), number(k.Deleted)))
	}
	return out
}

func readinessRows(sum *timeline.Summary) [][]render.Cell {
	var out [][]render.Cell
	for i := range sum.Readiness {
		r := &sum.Readiness[i]
		why := map[timeline.ReadyCause]string{
			timeline.ReadyCreated: "created", timeline.ReadySpecChanged: "spec changed",
			timeline.ReadyLost: "was ready", timeline.ReadyExisting: "at the start",
		}[r.Cause]
		if r.Cause == timeline.ReadySpecChanged && r.Generation != nil {
			why = fmt.Sprintf("generation %d", *r.Generation)
		}
		at := "#" + strconv.FormatInt(r.Number, 10)
		if !r.Since.IsZero() {
			at = r.Since.UTC().Format("15:04:05.000")
		}
		end, tone := "ready", render.TonePlain
		switch {
		case r.Deleted:
			end = "deleted"
		case r.Superseded:
			end = "changed again"
		case !r.Ready:
			end, tone = r.Stuck, render.ToneTrouble
		}
		row := plain(qualified(&r.Object), why, at, took(r.Took), idleText(r), "")
		row[len(row)-1] = render.Cell{Text: end, Tone: tone}
		out = append(out, row)
	}
	return out
}

// idleText returns the longest time without progress, if it was most of the time and long enough to matter.
func idleText(r *timeline.Readiness) string {
	if r.Idle < trace.Duration(time.Second) || r.Idle*2 < r.Took {
		return "-"
	}
	return took(r.Idle)
}

func took(d trace.Duration) string {
	if d <= 0 {
		return "-"
	}
	return render.FormatDuration(d)
}

func flappingRows(sum *timeline.Summary) [][]render.Cell {
	var out [][]render.Cell
	for i := range sum.Flapping {
		f := &sum.Flapping[i]
		out = append(out,
			plain(qualified(&f.Object), f.Field, number(f.Returns), render.AlternatingText(f.Alternation)))
	}
	return out
}

// onlyTexts are the values of findings.Only in words.
var onlyTexts = map[findings.Only]string{
	findings.OnlyOrder: "order", findings.OnlyTimes: "times", findings.OnlyOrderAndTimes: "order and times",
}

func rewriteRows(sum *timeline.Summary) [][]render.Cell {
	var out [][]render.Cell
	for i := range sum.Rewrites {
		r := &sum.Rewrites[i]
		out = append(out, plain(qualified(&r.Object), number(r.Writes), rateText(r.PerMinute), onlyTexts[r.Only],
			strings.Join(r.Fields, ", "), writersText(r.Writers)))
	}
	return out
}

func recreationRows(sum *timeline.Summary) [][]render.Cell {
	var out [][]render.Cell
	for i := range sum.Recreations {
		r := &sum.Recreations[i]
		name, owner, tone := qualified(&r.Object), "-", render.TonePlain
		if r.Names > 1 {
			name += fmt.Sprintf(" and %s", cli.Plural(r.Names-1, "other"))
		}
		if r.Owner != nil {
			owner = r.Owner.Kind + "/" + r.Owner.Name
		}
		if r.OwnerUID != "" {
			owner, tone = owner+": its uid is not that of the reference, so what it owns is deleted", render.ToneTrouble
		}
		row := plain(name, number(r.Made), number(r.Deleted), rateText(r.PerMinute), took(r.Lived),
			writersText(r.Writers), "")
		row[len(row)-1] = render.Cell{Text: owner, Tone: tone}
		out = append(out, row)
	}
	return out
}

func writersText(names []string) string {
	if len(names) == 0 {
		return "(not known)"
	}
	return strings.Join(names, " and ")
}

func restartRows(sum *timeline.Summary) [][]render.Cell {
	var out [][]render.Cell
	for i := range sum.Restarts {
		r := &sum.Restarts[i]
		last := r.Reason
		if r.ExitCode != nil {
			last = strings.TrimSpace(fmt.Sprintf("%s, exit code %d", last, *r.ExitCode))
		}
		out = append(out, plain(qualified(&r.Object), r.Container, strconv.FormatInt(r.Count, 10), last))
	}
	return out
}

func objectRows(sum *timeline.Summary) [][]render.Cell {
	var out [][]render.Cell
	for i := range sum.Objects {
		o := &sum.Objects[i]
		out = append(out, plain(qualified(&o.Object), number(o.Changes), number(o.SpecChanges), rateText(o.PerMinute)))
	}
	return out
}

func writerRows(sum *timeline.Summary) [][]render.Cell {
	var out [][]render.Cell
	for _, w := range sum.Writers {
		name := w.Name
		if name == "" {
			name = "(not known)"
		}
		out = append(out, plain(name, number(w.Changes), rateText(w.PerMinute), number(w.Objects)))
	}
	return out
}

func controllerRows(sum *timeline.Summary) [][]render.Cell {
	var out [][]render.Cell
	for _, c := range sum.Controllers {
		out = append(out, plain(c.Controller, number(c.Reconciles), number(c.Failed), number(c.PutOff),
			number(c.Writes), number(c.Refused)))
	}
	return out
}

func eventRows(sum *timeline.Summary) [][]render.Cell {
	var out [][]render.Cell
	for _, e := range sum.Events {
		row := plain(e.Type, e.Reason, strconv.FormatInt(e.Count, 10), number(e.Objects), e.By,
			render.Cut(e.Last, 2*maxMessage))
		if e.Type != "Normal" {
			row[0].Tone = render.ToneTrouble
		}
		out = append(out, row)
	}
	return out
}

func number(n int) string { return strconv.Itoa(n) }

func rateText(perMinute float64) string {
	if perMinute == 0 {
		return "-"
	}
	return render.FormatNumber(perMinute)
}

func durationText(d time.Duration) string { return render.FormatDuration(trace.Duration(d)) }
