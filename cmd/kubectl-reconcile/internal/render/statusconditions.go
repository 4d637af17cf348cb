package render

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// conditionIndent stands before the conditions of an object, messageIndent before what a condition says.
const (
	conditionIndent = "  "
	messageIndent   = "      "
)

// Conditions writes each object with every condition in full, bad ones first. Messages are broken at the terminal's width.
func Conditions(w io.Writer, rows []StatusRow, o ListingOptions) error {
	out := bufio.NewWriterSize(w, 1<<16)
	for i := range rows {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := rows[i].writeConditions(out, o); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (r *StatusRow) writeConditions(w io.Writer, o ListingOptions) error {
	fmt.Fprintln(w, Wrap(r.heading(o.Palette), o.Width, messageIndent))
	if len(r.Conditions) == 0 {
		fmt.Fprintln(w, conditionIndent+o.Palette.Dim("no conditions"))
		return nil
	}
	var table bytes.Buffer
	columns := []Column{
		{Title: "TYPE"}, {Title: "STATUS"}, {Title: "REASON", Free: true}, {Title: "SINCE", Rank: 2}, {Title: "OBSERVED", Rank: 1},
	}
	cells := make([][]Cell, len(r.Conditions))
	for i, c := range r.Conditions {
		cells[i] = r.conditionCells(c)
	}
	if o.Width > 0 {
		o.Width = max(1, o.Width-len(conditionIndent))
	}
	if err := NewListing(columns, o).Write(&table, cells); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n")
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

// heading names the object and what is to be said about it as a whole.
func (r *StatusRow) heading(p Palette) string {
	name := Escape(r.Name)
	if r.Namespace != "" {
		name = Escape(r.Namespace) + " " + name
	}
	parts := []string{p.Strong(name), p.Paint(StatusTone(r.Status), Escape(r.Status.Status))}
	if r.Reason != "" {
		parts = append(parts, Escape(r.Reason))
	}
	if r.Drift.Generation > 0 {
		parts = append(parts, r.generations(p))
	}
	return strings.Join(parts, "   ")
}

func (r *StatusRow) generations(p Palette) string {
	text := fmt.Sprintf("generation %d, ", r.Drift.Generation)
	if r.Drift.Observed == nil {
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
	of := toned(observed(c.Generation), ToneDim)
	if isBehind(c) {
		of = toned(fmt.Sprintf("%d of %d", *c.Generation, r.Drift.Generation), ToneChange)
	}
	return []Cell{
		toned(c.Type, tone), toned(dash(c.Status), tone), toned(dash(c.Reason), quiet(c.Reason, tone)),
		{Text: sinceText(c.Since, r.Now)}, of,
	}
}
