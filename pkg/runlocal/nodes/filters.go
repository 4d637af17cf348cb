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

// rejection is why a node does not fit a pod.
type rejection struct {
	// reasons are those of upstream's plugins; NodeResourcesFit has one for each resource.
	reasons []string
	// resolvable is true if the node would fit without some of its pods.
	resolvable bool
	// lacksRoom is true if pods on the node take something that this pod needs, whether the node would fit without them
	// or not.
	lacksRoom bool
	// volumes is true if the pod's volumes are or would be on other nodes.
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

// filter returns why the pod does not fit the node, nil if it does. As in upstream's default profile the first plugin
// that rejects the node wins: NodeUnschedulable, TaintToleration, NodeAffinity (with nodeSelector), NodePorts,
// NodeResourcesFit.
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

// tolerates reports whether the pod tolerates the taint.
func tolerates(pod *corev1.Pod, taint *corev1.Taint) bool {
	return schedulinghelper.TolerationsTolerateTaint(logr.Discard(), pod.Spec.Tolerations, taint, false)
}

// toleratesAll reports whether the pod tolerates all taints of the node that keep pods away. PreferNoSchedule does not:
// see score.
func toleratesAll(pod *corev1.Pod, node *corev1.Node) bool {
	keepsAway := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	_, untolerated := schedulinghelper.FindMatchingUntoleratedTaint(
		logr.Discard(), node.Spec.Taints, pod.Spec.Tolerations, keepsAway, false)
	return !untolerated
}

// matchesNodeAffinity reports whether the node matches nodeSelector and required node affinity. Terms that cannot be
// parsed match nothing, as upstream.
func matchesNodeAffinity(pod *corev1.Pod, node *corev1.Node) bool {
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && match
}

// portsFree reports whether no pod on the node takes a host port that the pod needs.
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

// fitsResources mirrors fitsRequest of k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources/fit.go.
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

// score ranks the nodes that fit. Where upstream adds up weighted scores, its fields are compared one after another, in
// the order of upstream's weights. The name comes last, so that equal clusters are scheduled equally.
type score struct {
	taints    int   // PreferNoSchedule taints that the pod does not tolerate: fewer are better
	preferred int64 // weight of the preferred node affinity that matches: more is better
	load      int64 // of CPU and memory with the pod, in thousandths: less is better
	pods      int   // fewer are better
	name      string
}

// better reports whether s ranks before other. Of two nodes exactly one does, because names differ.
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

// scoreOf scores a node that filter has accepted. Resources that the node does not have count as no load.
func scoreOf(pod *corev1.Pod, d podDemand, u *nodeInfo) score {
	s := score{pods: len(u.pods), name: u.node.Name}
	for i := range u.node.Spec.Taints {
		if t := &u.node.Spec.Taints[i]; t.Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(pod, t) {
			s.taints++
		}
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		preferred := a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		if terms, err := nodeaffinity.NewPreferredSchedulingTerms(preferred); err == nil {
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

// noNodesMessage mirrors ErrNoNodesAvailable of k8s.io/kubernetes/pkg/scheduler/scheduler.go.
const noNodesMessage = "no nodes available to schedule pods"

// noPostFilterMessage is what kube-scheduler's message ends with if no node was filtered: its plugin DynamicResources
// does not find the state that it would have written in Filter (PostFilter in
// pkg/scheduler/framework/plugins/dynamicresources).
const noPostFilterMessage = "not found"

// fitError is why no node fits a pod. Its text mirrors FitError.Error of
// k8s.io/kubernetes/pkg/scheduler/framework/types.go, with what the preemption plugin would add.
type fitError struct {
	nodes            int
	preFilterMessage string         // why no node was filtered; empty if nodes were
	bindError        string         // what failed after a node was chosen; empty if nothing
	reasons          map[string]int // nodes by reason
	// resolvable counts the nodes that would fit without some of their pods, victims those of them that have pods of a
	// lower priority.
	resolvable, victims int
	neverPreempts       bool // the pod may not preempt
	lacksRoom           bool // a node was rejected because of what pods take of it
	volumes             bool // claims are the cause, or why a node was rejected
	seen                changeCounts
}

// addNode adds a node that rejected the pod.
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

// preemption returns what upstream adds when preemption does not help. Where it might help, it returns that preemption
// is not simulated.
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

// countsText returns the reasons with their counts, such as "3 Insufficient cpu", sorted as text.
func countsText(reasons map[string]int) string {
	var all []string
	for reason, n := range reasons {
		all = append(all, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
