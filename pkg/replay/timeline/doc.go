// Package timeline describes what changed in a recording: an [Entry] for each change of an object, with the fields, the
// conditions and the writer, and for what else a recording has: Events, reconciles, gaps, errors, lists. [ReadFile]
// yields those of a file that pass a [Filter]; [New] reads them from any source. Neither keeps more in memory than the
// last version of each object that passes. A [Summary] is what many entries have in common: who changes most, what
// alternates, how long it took until workloads were ready.
//
// It is data only and makes no text for people. Whatever a recording contains, nothing here panics: what cannot be read
// of an object is a problem in its entry.
//
// The files: timeline.go reads records, objectentry.go makes entries of objects, entry.go has their types.
// difference.go compares two versions of an object, of which it decodes only the parts that differ; noise.go knows the
// fields that change with every write. objectchange.go finds in the difference what has a name: conditions, owners,
// finalizers, numbers of replicas; containers.go does for the containers of pods. managedfields.go finds who wrote, by
// managedFields and by the trace. event.go reads Events, reconcile.go puts reconciles together from the trace.
// filter.go selects, selection.go does so for whole records, names.go compares the names of kinds, and tree.go knows
// what belongs to an owner. summary.go sums up, with the alternating values of flapping.go, what rewrite.go finds to be
// written without a change, what recreation.go finds to be made and deleted, and the times of readiness.go.
package timeline
