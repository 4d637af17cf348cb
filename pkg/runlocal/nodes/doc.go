// Package nodes stands in for what a cluster's nodes do: it makes Node objects, binds pods to them as kube-scheduler would,
// and moves bound pods through their phases as a kubelet would, with failures on demand by annotation.
//
// Nothing runs: no container is started, no image pulled, no probe made, no volume mounted. The scheduler looks at unschedulable nodes,
// taints, nodeSelector, required node affinity, host ports and resource requests, and at nothing else: pod affinity, topology spread,
// volumes and resource claims do not count, and it never preempts. It is for a sandbox, never for a real cluster. docs/nodes.md
// says all this to users.
package nodes
