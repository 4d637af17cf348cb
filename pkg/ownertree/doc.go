// Package ownertree finds out who owns whom in a cluster: it collects the metadata of objects, links them by their
// owner references, judges each reference by the rules of the garbage collector, and lays trees out.
//
// The rules are those of k8s.io/kubernetes/pkg/controller/garbagecollector: an owner is what a live read finds under
// the reference's kind and name, in the dependent's namespace if the kind is namespaced, and only with the reference's
// uid. What could not be read leaves a verdict unknown; it never makes an owner missing.
//
// It judges no status, draws nothing and deletes nothing.
package ownertree
