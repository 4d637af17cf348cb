// Package release tests what .goreleaser.yaml builds: its settings, that the program can be compiled for each platform,
// and, if SNAPSHOT names the folder of a build, what the archives contain and how the program in them runs.
package release
