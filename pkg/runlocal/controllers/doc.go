// Package controllers is the table of kube-controller-manager's controllers: what each reads, writes and needs, which of
// them run here and why the others do not. Those that run are upstream's own, built as kube-controller-manager builds
// them and observed by package tap.
//
// It decides nothing for a controller: what a controller may write is the business of the client configuration that it
// is given.
package controllers
