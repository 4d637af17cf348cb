// Package diff is the command `diff`: it shows what controllers would do next, and what that makes of the objects. The
// controllers run in the embedded API, on a copy of a part of a cluster or on the objects of files; what they do is
// found out by package plan. With --to it compares two moments of a recording instead.
//
// diff.go has flags and options, recording.go those of recordings, and the objects of a moment. source.go has the plan
// made, with advice to its errors; made.go says what is not in it. comparison.go compares two moments. steps.go prints
// the steps, drift.go what is not as it is wanted, summary.go what the plan comes to, unified.go the differences of the
// objects, by a program of the user's if there is one (external.go); document.go is -o json and yaml.
package diff
