// Package diff is the command `diff`: it shows what controllers would do next, and what that makes of the objects. The
// controllers run in the embedded API, on the objects of files; what they do is found out by package plan.
//
// diff.go has flags and options; sandbox.go starts the session and has the plan made; steps.go prints its steps and
// summary.go what it comes to, unified.go the differences of the objects, by a program of the user's if there is one
// (external.go); document.go is -o json and yaml.
package diff
