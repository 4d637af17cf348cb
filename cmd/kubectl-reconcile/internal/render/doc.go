// Package render makes text for a terminal out of the project's data: tables, trees, colours, and the blocks of a
// trace. It is the only package that knows what a terminal is. It reads no cluster, keeps no data but for drawing,
// and decides nothing.
//
// Texts that may come from a cluster are escaped here, by Escape, wherever the type that holds them says so.
//
// The files, by what they draw:
//
//   - A trace: story.go writes the steps of a trace.Story; blocks.go has Blocks, the sink that collects the events of
//     each reconcile; filter.go decides what is shown of them; blocklines.go, requestlines.go and causes.go write the
//     lines, changes.go the changes of fields. fieldlines.go has FieldLines, the sink that follows single fields.
//   - Tables: table.go has Table, which fits columns to the width of a terminal. On it stand tree.go, status.go,
//     conditions.go (`status --conditions`), and summary.go (the end of a run).
//   - The terminal itself: terminal.go (is it one, how wide, and Screen for --watch), palette.go (colours and tones),
//     progress.go (a line that is erased again), text.go (escaping, cutting and wrapping).
package render
