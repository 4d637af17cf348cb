package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// reject is why a node does not do.
type rejection struct {
	// reasons are worded as upstream's plugins do; NodeResourcesFit has one for each resource.
	reasons []string
	// resolvable says that it would do if pods on it went away.
	resolvable bool
	// lacksRoom says that pods take what it would need to have, be it enough or not.
	lacksRoom bool
	// volumeBinder says that the pod's volumes are or would be elsewhere.
	volumes bool
}

// Reasons of upstream's filter plugins, in pkg/scheduler/framework/plugins/*.
const (
	reasonUnschedulable = "node(s) were unschedulable"
	reasonTaint         = "node(s) had untolerated taint(s)"
	reasonAffinity      = "node(s) didn't match Pod's node affinity/selector"
	reasonPorts         = "node(s) didn't have free ports for the requested pod ports"
	reasonTooManyPods   = "Too many pods"
)

// filter says why the pod cannot go to the node, nil if it can. As in upstream's default profile the first plugin that
// refuses counts: NodeUnschedulable, TaintToleration, NodeAffinity (with nodeSelector), NodePorts, NodeResourcesFit.
func filter(pod *corev1.Pod, d podDemand, u *nodeInfo) *rejection {
	unschedulable := &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	switch {
	case u.node.Spec.Unschedulable && !tolerates(pod, unschedulable):
		return &rejection{reasons: []string{reasonUnschedulable}}
	case !toleratesAll(pod, u.node):
		return &rejection{reasons: []string{reasonTaint}}
	case !matchesNodeAffinity(pod, u.node):
		return &rejection{reasons: []string{reasonAffinity}}
	case !portsFree(d, u):
		return &rejection{reasons: []string{reasonPorts}, resolvable: true, lacksRoom: true}
	}
	return fitsResources(d, u)
}

func tolerates(pod *corev1.Pod, taint *corev1.Taint) bool {
	return schedulinghelper.TolerationsTolerateTaint(logr.Discard(), pod.Spec.Tolerations, taint, false)
}

func toleratesAll(pod *corev1.Pod, node *corev1.Node) bool {
	_, untolerated := schedulinghelper.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, pod.Spec.Tolerations,
		func(t *corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
		}, false)
	return !untolerated
}

// matchesNodeAffinity reports whether the node matches nodeSelector and required node affinity. Terms that cannot be
// parsed match nothing, as upstream has it.
func matchesNodeAffinity(pod *corev1.Pod, node *corev1.Node) bool {
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && match
}

func portsFree(d podDemand, u *nodeInfo) bool {
	if len(d.ports) == 0 {
		return true
	}
	for _, p := range u.pods {
		for _, taken := range p.demand.ports {
			if slices.ContainsFunc(d.ports, taken.overlaps) {
				return false
			}
		}
	}
	return true
}

// fitsResources mirrors fitsRequest in pkg/scheduler/framework/plugins/noderesources/fit.go.
func fitsResources(d podDemand, u *nodeInfo) *rejection {
	r := &rejection{resolvable: true, lacksRoom: true}
	if int64(len(u.pods))+1 > u.allocatable[corev1.ResourcePods] {
		r.reasons = append(r.reasons, reasonTooManyPods)
	}
	for name, want := range d.requests {
		if want == 0 || want <= u.allocatable[name]-u.requested[name] {
			continue
		}
		r.reasons = append(r.reasons, fmt.Sprintf("Insufficient %v", name))
		if want > u.allocatable[name] {
			r.resolvable = false
		}
	}
	if len(r.reasons) == 0 {
		return nil
	}
	return r
}

// score ranks the nodes that would do. It is not upstream's sum of weighted plugins but their order of weight, and so
// that equal clusters are scheduled equally, the name decides in the end.
type score struct {
	taints    int   // PreferNoSchedule taints that the pod does not tolerate: fewer are better
	preferred int64 // weight of the preferred node affinity that matches: more is better
	load      int64 // of CPU and memory with the pod, in thousandths: less is better
	pods      int   // fewer are better
	name      string
}

func (s score) better(other score) bool {
	return cmp.Or(
		cmp.Compare(s.taints, other.taints),
		cmp.Compare(other.preferred, s.preferred),
		cmp.Compare(s.load, other.load),
		cmp.Compare(s.pods, other.pods),
		cmp.Compare(len(s.name), len(other.name)), // node-2 before node-10
		cmp.Compare(s.name, other.name),
	) < 0
}

func scoreOf(pod *corev1.Pod, d podDemand, u *nodeInfo) score {
	s := score{pods: len(u.pods), name: u.node.Name}
	for i := range u.node.Spec.Taints {
		if t := &u.node.Spec.Taints[i]; t.Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(pod, t) {
			s.taints++
		}
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		if terms, err := nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution); err == nil {
			s.preferred = terms.Score(u.node)
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if room := u.allocatable[name]; room > 0 {
			s.load += 1000 * (u.weight[name] + d.weight[name]) / room
		}
	}
	return s
}

// noNodesMessage is worded as ErrNoNodesAvailable in pkg/scheduler/scheduler.go.
const noNodesMessage = "no nodes available to schedule pods"

// noPostFilterMessage stands in the place of what preemption would say if no node was looked at: kube-scheduler's
// plugin DynamicResources, which is asked next, then misses what it notes when it looks at nodes (PostFilter in
// pkg/scheduler/framework/plugins/dynamicresources).
const noPostFilterMessage = "not found"

// fitError says why no node will do for a pod. Its text is that of FitError in pkg/scheduler/framework/types.go, with
// what the preemption plugin would add.
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

// preemption is what upstream says when preemption does not help. Where it might, which would take more than is
// simulated, that is said.
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
