package nodes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// noNodes is worded as ErrNoNodesAvailable in pkg/scheduler/scheduler.go.
const noNodes = "no nodes available to schedule pods"

// notFound stands in the place of what preemption would say if no node was looked at: kube-scheduler's plugin DynamicResources, which is
// asked next, then misses what it notes when it looks at nodes (PostFilter in pkg/scheduler/framework/plugins/dynamicresources).
const notFound = "not found"

// unfit says why no node will do for a pod. Its text is that of FitError in pkg/scheduler/framework/types.go, with what
// the preemption plugin would add.
type unfit struct {
	nodes   int
	before  string         // why no node was looked at; empty if they were
	error   string         // what went wrong after a node was found; empty if nothing
	reasons map[string]int // nodes by reason
	// resolvable counts the nodes that would do if pods on them went away, victims those where pods of a lower
	// priority are.
	resolvable, victims int
	never               bool // the pod may not preempt
	crowded             bool // a node was refused for what pods take of it
	volumes             bool // claims are why, or why a node was refused
	seen                changes
}

func (u *unfit) add(pod *corev1.Pod, on *usage, r *refusal) {
	for _, reason := range r.reasons {
		u.reasons[reason]++
	}
	u.crowded, u.volumes = u.crowded || r.crowded, u.volumes || r.volumes
	if !r.resolvable {
		return
	}
	u.resolvable++
	for _, p := range on.pods {
		if p.priority < priority(pod) {
			u.victims++
			return
		}
	}
}

func (u *unfit) String() string {
	switch {
	case u.error != "":
		return u.error
	case u.nodes == 0:
		return noNodes
	}
	if u.before != "" {
		return fmt.Sprintf("0/%d nodes are available: %s. %s", u.nodes, u.before, notFound)
	}
	return fmt.Sprintf("0/%d nodes are available: %s. %s", u.nodes, histogram(u.reasons), u.preemption())
}

// preemption is what upstream says when preemption does not help. Where it might, which would take more than is simulated, that is
// said.
func (u *unfit) preemption() string {
	switch {
	case u.never:
		return "preemption: not eligible due to preemptionPolicy=Never."
	case u.victims > 0:
		return "preemption: not simulated."
	}
	counts := map[string]int{}
	if u.resolvable > 0 {
		counts["No preemption victims found for incoming pod"] = u.resolvable
	}
	if rest := u.nodes - u.resolvable; rest > 0 {
		counts["Preemption is not helpful for scheduling"] = rest
	}
	return fmt.Sprintf("preemption: 0/%d nodes are available: %s.", u.nodes, histogram(counts))
}

// histogram lists "3 Insufficient cpu", sorted as text.
func histogram(reasons map[string]int) string {
	var all []string
	for reason, n := range reasons {
		all = append(all, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
