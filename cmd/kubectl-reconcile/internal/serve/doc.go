// Package serve is what `replay --serve` does: it serves a recording by an API of its own to kubectl and other programs,
// and to a program that it starts itself. pkg/runlocal/playback serves and plays it.
//
// serve.go has the flags and Run, text.go what is printed, and command.go runs a program.
package serve
