// Package seed reads a copy of a part of a cluster, for a session of package runlocal to begin with: some namespaces
// whole, and of what is in no namespace that which controllers, scheduler and admission read. The objects stay as the
// server has written them: uid, resourceVersion, generation, times, managedFields, status and finalizers included.
//
// What could not be read is a value, as are the things that are left out on purpose (the data of Secrets, webhooks,
// aggregated APIs): Copy.Incomplete and Copy.LeftOut are to be shown wherever something is concluded from a copy.
//
// It never writes, does not follow the cluster, and does not load anything: runlocal.Options.Copy does.
//
//	seed.go         Read, and what it returns
//	scope.go        which kinds are read, where, and in which version
//	lists.go        the reading of many lists at a time, bounded by Options.MaxObjects
//	related.go      the workloads that the plan for some objects needs
//	selections.go   which of them are selected by labels
//	dependents.go   what depends on others without being owned by them
//	adopters.go     the workloads that would adopt others
//	owners.go       the owners of what was read, wherever they are
//	definitions.go  the CustomResourceDefinitions of custom resources, and the versions in which these are kept
//	pairs.go        what is kept only with its counterpart: volumes with claims, addresses with Services
//	usage.go        what pods use, for autoscalers
//	neighbours.go   the pods of other namespaces, for the scheduler
//	ranges.go       a guess at the ranges of Service addresses
//	secretdigest.go what is left behind of Secrets
//	files.go        a copy made of objects of files, in the place of a cluster
package seed
