// Package runlocal runs Kubernetes' own controllers in this process, against an API server that it carries inside, and
// traces what they do. A Session ties the packages below together: the API server (api), the controllers, the simulated
// nodes, and the tap that observes them all.
//
// [Start] starts a session with the controllers that [Names] returns, [ParseManifests] reads objects for
// [Session.Apply], and [Session.WaitReady] waits for them; a client of your own is made with [Session.Config]. In a
// test package runlocaltest does all that. [StartCluster] runs the controllers on a cluster instead.
//
// It is no cluster: pods do not run, their nodes are simulated. It makes no text for people and reads no flags; trace
// events, statuses and errors come out of it. What Kubernetes' own code logs goes to klog.
//
//	session.go    Start, Stop: a session in the sandbox; cluster.go one on a cluster, clusterstart.go and listing.go
//	              its start there; provisioner.go the simulated provisioner of volumes
//	preflight.go  what is found out before a session on a cluster; shard.go the part of it that a session works in
//	manifests.go  objects are read from YAML and JSON
//	apply.go      objects are applied, in the order of applyorder.go; applywait.go waits for those that others need;
//	              kubectlapply.go writes them as `kubectl apply` does
//	kinds.go      which kinds the API serves
//	hold.go       HoldKeys, ReleaseKey: what is reconciled, and when, is decided one key at a time
//	copy.go       what changes in a session that begins with a copy of a cluster
//	settled.go    Settled, WaitSettled; waitready.go WaitReady; goal.go waits for one goal of several
//	status.go     the objects' states; notready.go why some are not ready
package runlocal
