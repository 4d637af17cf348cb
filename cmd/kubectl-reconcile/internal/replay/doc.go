// Package replay is the command `replay`: it shows what happened in a recording, as a timeline or summed up. What a
// change consists of, and who made it, is found in pkg/replay/timeline.
//
// replay.go has the flags and options, narrow.go the flags that select, and modes.go which flags go together, with the
// modes of other packages: serve and compare. run.go reads the timeline, or the part of it that moments.go finds, and
// gives it to what prints: lines.go writes entries as lines, changetext.go the change of an object, reconciletext.go a
// reconcile, summary.go the summary, and document.go documents for programs; export.go writes other formats. follow.go
// plays the timeline in time; live.go reads standard input as it comes, pager.go runs a pager. stream.go runs
// controllers on what kubectl has printed.
package replay
