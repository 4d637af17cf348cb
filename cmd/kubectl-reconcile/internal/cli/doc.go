// Package cli holds what all commands share and that has to do with no cluster. It knows no command and no Kubernetes
// API: what reads a cluster is in package connect, and what draws on a terminal in package render.
//
// errors.go prints errors with hints and turns them into an exit code, suggest.go makes hints for misspelt names, and
// text.go the parts of sentences; streams.go has what happens on the standard streams beside the output (closed
// pipes, progress, the logs of libraries), document.go the output as a document (-o json, yaml and name), and
// command.go what commands of cobra have in common.
package cli
