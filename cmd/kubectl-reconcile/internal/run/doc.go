// Package run is the command `run`: it runs Kubernetes' own controllers in this process, against a cluster or in the sandbox, and
// prints their reconciles. How a session runs and is printed is in package session, which `sandbox` shares; here is what a run on a
// cluster has beside that:
//
//	run.go        the command and its help
//	flags.go      its flags; authorityflags.go those of key files
//	options.go    session.Options, made of the flags
//	scope.go      --namespaces and --shard: which controllers run there
//	cluster.go    the session.Target: the stages of a start on a cluster, and what happens to it later
//	preflight.go  what is refused or warned of before anything starts
//	lease.go      a run that writes: no other writer, the question, the Lease
//	list.go       run --list
package run
