// Package cli holds what every command of the program shares and that has to do with no cluster: errors with hints, suggestions
// for misspelt names, standard streams that may be closed pipes, progress on a terminal, documents (-o json and yaml), words in
// sentences, and the settings of the logs of libraries.
//
// It knows no command and no Kubernetes API; what reads a cluster is in package connect, and what draws is in package render.
package cli
