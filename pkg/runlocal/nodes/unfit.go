package nodes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// noNodesMessage is worded as ErrNoNodesAvailable in pkg/scheduler/scheduler.go.
const noNodesMessage = "no nodes available to schedule pods"

// noPostFilterMessage stands in the place of what preemption would say if no node was looked at: kube-scheduler's plugin DynamicResources, which is
// asked next, then misses what it notes when it looks at nodes (PostFilter in pkg/scheduler/framework/plugins/dynamicresources).
const noPostFilterMessage = "not found"

// fitError says why no node will do for a pod. Its text is that of FitError in pkg/scheduler/framework/types.go, with what
// the preemption plugin would add.
type fitError struct {
	nodes            int
	preFilterMessage string         // why no node was looked at; empty if they were
	bindError        string         // what went wrong after a node was found; empty if nothing
	reasons          map[string]int // nodes by reason
	// resolvable counts the nodes that would do if pods on them went away, victims those where pods of a lower
	// priority are.
	resolvable, victims int
	neverPreempts       bool // the pod may not preempt
	lacksRoom           bool // a node was refused for what pods take of it
	volumes             bool // claims are why, or why a node was refused
	seen                changeCounts
}

func (u *fitError) addNode(pod *corev1.Pod, on *nodeInfo, r *rejection) {
	for _, reason := range r.reasons {
		u.reasons[reason]++
	}
	u.lacksRoom, u.volumes = u.lacksRoom || r.lacksRoom, u.volumes || r.volumes
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

func (u *fitError) String() string {
	switch {
	case u.bindError != "":
		return u.bindError
	case u.nodes == 0:
		return noNodesMessage
	}
	if u.preFilterMessage != "" {
		return fmt.Sprintf("0/%d nodes are available: %s. %s", u.nodes, u.preFilterMessage, noPostFilterMessage)
	}
	return fmt.Sprintf("0/%d nodes are available: %s. %s", u.nodes, countsText(u.reasons), u.preemption())
}

// preemption is what upstream says when preemption does not help. Where it might, which would take more than is simulated, that is
// said.
func (u *fitError) preemption() string {
	switch {
	case u.neverPreempts:
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
	return fmt.Sprintf("preemption: 0/%d nodes are available: %s.", u.nodes, countsText(counts))
}

// countsText lists "3 Insufficient cpu", sorted as text.
func countsText(reasons map[string]int) string {
	var all []string
	for reason, n := range reasons {
		all = append(all, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
