// Package nodes stands in for what a cluster's nodes and storage do: it makes Node objects, binds pods to them as
// kube-scheduler would, moves bound pods through their phases as a kubelet would, with failures on demand by
// annotation, and makes volumes as the external provisioner of a storage driver would.
//
// Nothing runs: no container is started, no image pulled, no probe made, no volume mounted. The scheduler looks at
// unschedulable nodes, taints, nodeSelector, required node affinity, host ports and resource requests, and where a
// volume binder runs at claims, and at nothing else: pod affinity, topology spread and resource claims do not count,
// and it never preempts. It is for a sandbox, never for a real cluster; but a control plane without nodes or storage of
// its own may be given the provisioner for tests. docs/nodes.md says all this to users.
package nodes
