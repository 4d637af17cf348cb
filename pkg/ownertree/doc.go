// Package ownertree finds out who owns whom in a cluster: it collects the metadata of objects, links them by their
// owner references, judges each reference by the rules of the garbage collector, and lays trees out.
//
// The rules are those of k8s.io/kubernetes/pkg/controller/garbagecollector: an owner is what a live read finds under
// the reference's kind and name, in the dependent's namespace if the kind is namespaced, and only with the reference's
// uid. What could not be read leaves a verdict unknown; it never makes an owner missing.
//
// [Read] does all that a tree needs, in one call; Graph.LayOut does it for a graph that is there, and objects that were
// found in it (layout.go). These are the steps, of which only the first is required:
//
//   - Collect lists metadata and links it (collect.go, graph.go, node.go); Watch does so again after each change
//     (watch.go).
//   - Confirm and Ascend read live what lists did not have, FindElsewhere looks in other namespaces (ownerverdicts.go).
//   - Tree lays out owners and dependents (tree.go). Relate finds what objects use in other ways: relations.go follows
//     relations, relationsource.go, relationlists.go and relationtargets.go read what they are made of,
//     relationindex.go finds what a name or a selector leads to, relationkinds.go has the kinds that refer to others,
//     and the files references*.go what each of them refers to. Related draws relations into trees.
//   - GCOutcome predicts what the garbage collector will do about an object, by a simulation of all (gcoutcome.go,
//     gcsimulation.go). Blockers are what delays the deletion of one that is being deleted (deletionblockers.go,
//     finalizerremoval.go).
//   - DeletePreview predicts a deletion by the same simulation (preview.go), with what would delay it
//     (previewblockers.go) and what would become of volumes (previewclaims.go).
//   - Events reads what was reported about objects (events.go).
//
// It judges no status, which package treestatus below it does, draws nothing and deletes nothing.
package ownertree
