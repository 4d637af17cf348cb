// Command reference writes a page for each command, made of the command's own help: Markdown for docs/reference, and
// man pages for releases.
//
//	go run ./cmd/kubectl-reconcile/internal/reference -markdown docs/reference
//	go run ./cmd/kubectl-reconcile/internal/reference -man bin/man -version v0.1.0 -date 1767225600
//
// `make reference` and `make man` run it. The package cobra/doc does not fit: it takes descriptions for Markdown, in
// which '*' and <NAME> have a meaning, joins lines that are to stay apart, and knows no sections of flags.
//
// page.go reads a command, markdown.go and man.go write what was read, and main.go writes the files.
package main
