// Package nodes simulates what a cluster's nodes and storage do: it makes Node objects, binds pods to them as
// kube-scheduler would, moves bound pods through their phases as a kubelet would, with failures on demand by
// annotation, and makes volumes as the external provisioner of a storage driver would.
//
// A session of package runlocal has them, with Options.Nodes; a program with an API server but no session calls
// [Start], and [StartProvisioner] for the volumes.
//
// Nothing runs: no container is started, no image pulled, no probe made, no volume mounted. The scheduler considers
// unschedulable nodes, taints, nodeSelector, required node affinity, host ports and resource requests, claims where a
// volume binder runs, and nothing else: pod affinity, topology spread and resource claims do not count, and it never
// preempts. The package is for a sandbox, never for a real cluster; but a control plane without nodes or storage may be
// given the provisioner for tests. docs/nodes.md describes all this for users.
//
// Scheduler, kubelet and provisioner are reconcilers on package engine, with clients of their own:
//
//   - nodes.go starts and stops scheduler and kubelet, from Options; builder.go makes their clients, recorders and
//     watches. node.go has the Node objects, heartbeat.go the leases and conditions that kubelets renew.
//   - scheduler.go: from a pod without a node to its binding, or to why there is none and when it is tried again. It
//     decides by schedulercache.go (what is free on which node), filters.go (why a node does not fit, which one is
//     best) and volumebinding.go (claims that must be bound first).
//   - kubelet.go: from a bound pod to its status. podstate.go and container.go simulate what runs, podstatus.go writes
//     it as a status, annotations.go reads what is to fail, addresses.go gives out addresses.
//   - events.go writes the Events of both; meter.go tells what containers use.
//   - provisioner.go starts the provisioner; provision.go makes and deletes volumes.
package nodes
