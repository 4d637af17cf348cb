// Package connect is how commands reach a cluster: kubectl's connection flags, the objects that a command line names
// (TYPE, TYPE/NAME, -l, -f), manifests, completion from a cluster, and the errors of an API server as errors with
// hints.
//
// Flags (flags.go) become a Connection (connection.go) by Flags.Connect, which sends nothing; Connection.Open makes
// the first requests and returns a Cluster (cluster.go), which knows the kinds that are served. Arguments become
// Targets (targets.go), files Manifests (manifests.go). With --from a moment of a recording takes the place of the
// cluster (recording.go): a function that the command hands in opens it. errors.go explains what could not be reached
// or read, and transport.go is what each request passes through. Reading objects belongs to pkg/inspect/cluster and to
// the commands.
package connect
