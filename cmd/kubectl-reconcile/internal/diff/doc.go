// Package diff is the command `diff`: it shows what controllers would do next, and what that makes of the objects. The
// controllers run in the embedded API, on a copy of a part of a cluster or on the objects of files; what they do is
// found out by package plan. With --to it compares two moments of a recording instead.
//
// diff.go has flags and options, asked.go the objects that the arguments name. cluster.go and try.go read the cluster
// and what it would make of the objects of -f, files.go the objects of files, recording.go those of a moment of a
// recording, prune.go what --prune deletes; incopy.go has the plan made in a session that begins with a copy, and
// admission.go asks the cluster whether it would refuse what that creates. comparison.go compares two moments. steps.go
// prints the steps, drift.go what is not as it is wanted, summary.go what the plan comes to, unified.go the differences
// of the objects, by a program of the user's if there is one (external.go); document.go is -o json and yaml.
package diff
