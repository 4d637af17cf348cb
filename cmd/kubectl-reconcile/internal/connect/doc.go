// Package connect is how commands reach a cluster: kubectl's connection flags, the objects that a command line names
// (TYPE, TYPE/NAME, -l, -f), manifests, completion from a cluster, and errors of an API server as errors with hints.
//
// Flags become a Connection by Flags.Connect, which sends nothing; Connection.Open makes the first requests and returns a
// Cluster. What is read of objects belongs to pkg/inspect/cluster and to the commands.
package connect
