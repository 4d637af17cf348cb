// Package replay is the command `replay`: it shows what happened in a recording, as a timeline or summed up. What a
// change consists of, and who made it, is found in pkg/replay/timeline.
//
// replay.go has the flags and options, narrow.go the flags that select and the moments, run.go reads the timeline and
// gives it to what prints: lines.go writes entries as lines, changetext.go the change of an object, summary.go the
// summary, and document.go documents for programs. follow.go plays the timeline in time, with the keys of keys.go;
// pager.go runs a pager.
package replay
