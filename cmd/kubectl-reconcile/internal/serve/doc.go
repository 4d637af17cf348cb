// Package serve is what `replay --serve` does: it serves a recording by the embedded API to kubectl and other programs,
// or to a program that it starts. pkg/runlocal/playback serves and plays it.
//
// serve.go has the flags and Run, text.go what is printed, keys.go what keys do on a terminal, and command.go runs a
// program.
package serve
