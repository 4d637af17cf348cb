package render

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// conditionIndent precedes the conditions of an object, messageIndent the message of a condition.
const (
	conditionIndent = "  "
	messageIndent   = "      "
)

// Conditions writes each object with all its conditions in full, in the order given. Messages are wrapped at the
// width of the terminal. The columns of all objects are aligned.
func Conditions(w io.Writer, rows []StatusRow, o StatusOptions) error {
	out := bufio.NewWriterSize(w, 1<<16)
	widths := conditionWidths(rows, o.TableOptions)
	for i := range rows {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, Wrap(rows[i].heading(o), o.Width, messageIndent))
		if err := rows[i].writeConditions(out, widths, o.TableOptions); err != nil {
			return err
		}
	}
	return out.Flush()
}

// conditionWidths returns the widths of columns that fit the conditions of all objects.
func conditionWidths(rows []StatusRow, o TableOptions) []int {
	all := NewTable(conditionColumns(), o)
	for i := range rows {
		all.measureRows(rows[i].allConditions())
	}
	return all.widths
}

func conditionColumns() []Column {
	return []Column{
		{Title: "TYPE"}, {Title: "STATUS"}, {Title: "REASON", Truncatable: true},
		{Title: "SINCE", DropOrder: 2}, {Title: "OBSERVED", DropOrder: 1},
	}
}

// allConditions returns a row for each condition.
func (r *StatusRow) allConditions() [][]Cell {
	out := make([][]Cell, len(r.Conditions))
	for i, c := range r.Conditions {
		out[i] = r.conditionCells(c)
	}
	return out
}

// writeConditions writes the table of the conditions of one object, each with its message on the lines below.
func (r *StatusRow) writeConditions(w io.Writer, widths []int, o TableOptions) error {
	if len(r.Conditions) == 0 {
		fmt.Fprintln(w, conditionIndent+o.Palette.Dim("no conditions"))
		return nil
	}
	var text bytes.Buffer
	if o.Width > 0 {
		o.Width = max(1, o.Width-len(conditionIndent))
	}
	table := NewTable(conditionColumns(), o)
	copy(table.widths, widths)
	if err := table.Write(&text, r.allConditions()); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if !o.NoHeader {
		fmt.Fprintln(w, conditionIndent+lines[0])
		lines = lines[1:]
	}
	for i, line := range lines {
		fmt.Fprintln(w, conditionIndent+line)
		if message := Escape(r.Conditions[i].Message); message != "" {
			fmt.Fprintln(w, Wrap(messageIndent+message, o.Width+len(conditionIndent)*min(1, o.Width), messageIndent))
		}
	}
	return nil
}

// heading returns the line of an object: its name, with the namespace if namespaces are shown, its status and
// generations.
func (r *StatusRow) heading(o StatusOptions) string {
	p, name := o.Palette, Escape(r.Name)
	if o.Namespaces && r.Namespace != "" {
		name = Escape(r.Namespace) + " " + name
	}
	parts := []string{p.Strong(name), p.Paint(StatusTone(r.Status), Escape(r.Status.Status))}
	if r.Reason != "" {
		parts = append(parts, Escape(r.Reason))
	}
	if r.Drift.Generation > 0 {
		parts = append(parts, r.generationsText(p))
	}
	return strings.Join(parts, "   ")
}

// generationsText spells the generation of an object and which one its controller has observed.
func (r *StatusRow) generationsText(p Palette) string {
	text := fmt.Sprintf("generation %d, ", r.Drift.Generation)
	switch {
	case r.Drift.State == inspect.NeverSeen:
		return text + p.Paint(ToneChange, "never seen")
	case r.Drift.Observed == nil:
		return text + "observed: not reported"
	}
	text += fmt.Sprintf("observed %d", *r.Drift.Observed)
	if drift := r.drift(); r.Drift.State == inspect.Behind || r.Drift.State == inspect.Ahead {
		return text + " (" + p.Paint(drift.Tone, drift.Text) + ")"
	}
	return text
}

func (r *StatusRow) conditionCells(c inspect.Condition) []Cell {
	tone := TonePlain
	switch {
	case c.Bad:
		tone = ToneTrouble
	case c.Status != "True" && c.Status != "False":
		tone = ToneChange
	}
	of := toned(observedText(c.Generation), ToneDim)
	if isBehind(c) {
		of = toned(fmt.Sprintf("%d of %d", *c.Generation, r.Drift.Generation), ToneChange)
	}
	return []Cell{
		toned(strings.TrimPrefix(c.Of+": "+c.Type, ": "), tone), toned(dashIfEmpty(c.Status), tone),
		toned(dashIfEmpty(c.Reason), dimIfEmpty(c.Reason, tone)),
		{Text: sinceText(c.Since, r.Now)}, of,
	}
}
