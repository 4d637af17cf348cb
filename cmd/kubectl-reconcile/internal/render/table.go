package render

import (
	"bytes"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Table writes a table as kubectl does: columns by three blanks, no lines, no blanks at the end of a row. Cells may be
// coloured; they must be escaped already. It is meant for small tables.
func Table(w io.Writer, header []string, rows [][]string) error {
	padding := make([]tw.Padding, len(header))
	for i := range padding {
		padding[i] = tw.Padding{Left: tw.Empty, Right: "   ", Overwrite: true}
	}
	padding[len(padding)-1].Right = tw.Empty
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Padding:    tw.CellPadding{PerColumn: padding},
	}
	var out bytes.Buffer
	table := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone},
		})),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithConfig(tablewriter.Config{Header: cells, Row: cells}),
		tablewriter.WithHeaderAutoFormat(tw.Off),
	)
	table.Header(header)
	for _, row := range rows {
		if err := table.Append(row); err != nil {
			return fmt.Errorf("laying out a table: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("laying out a table: %w", err)
	}
	return writeTrimmed(w, out.Bytes())
}

// writeTrimmed writes lines without the blanks at their ends.
func writeTrimmed(w io.Writer, text []byte) error {
	for line := range bytes.Lines(text) {
		if _, err := fmt.Fprintf(w, "%s\n", bytes.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
