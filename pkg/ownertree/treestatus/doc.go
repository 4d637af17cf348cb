// Package treestatus finds out how the objects of an owner tree are, and why. [Read] reads a [Tree] of a cluster, and
// [Walk] goes through its nodes, each with its status. For a graph that is there, these are the three steps of it, each
// on what the one before returns:
//
//   - ReadFacts reads the objects in full and keeps what they report, each by FactsOf (facts.go); that of Services and
//     Ingresses it corrects by what they route requests to (backends.go), as JudgeRouted does outside of a tree.
//   - Find looks for reasons in other objects: what the worst of them need and does not exist, and their Events
//     (findings.go).
//   - RollUp gives each object of the tree its severity, the worst severity of what it owns, and the object that causes
//     that (rollup.go).
//
// What an object's own fields say is judged by package inspect; what the garbage collector will do about it by package
// ownertree. This package writes no sentences for people beyond the reasons that inspect gives.
package treestatus
