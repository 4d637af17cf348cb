// Package input opens the files of a command as one recording: recordings, and what other tools wrote, recognised by
// content.
//
// input.go opens files and standard input, buffered.go is a recording of what can be read only once, merge.go makes one
// of several, and joined.go compares lists with what is known. interrupt.go ends reading when the command is
// interrupted. errors.go are errors with hints, notes.go says what an input cannot have, and at.go parses moments.
package input
