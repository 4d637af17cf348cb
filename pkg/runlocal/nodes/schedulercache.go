package nodes

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// amounts are quantities of resources: CPU in thousandths, all others in their unit.
type amounts map[corev1.ResourceName]int64

// amountsOf converts a list. A fraction of a unit is rounded up, as upstream does.
func amountsOf(list corev1.ResourceList) amounts {
	a := make(amounts, len(list))
	for name, q := range list {
		if name == corev1.ResourceCPU {
			a[name] = q.MilliValue()
		} else {
			a[name] = q.Value()
		}
	}
	return a
}

// add adds b to a, or subtracts it if sign is -1.
func (a amounts) add(b amounts, sign int64) {
	for name, n := range b {
		a[name] += sign * n
	}
}

// hostPort is a port that a pod takes of its node.
type hostPort struct {
	ip       string // empty for all addresses
	protocol corev1.Protocol
	port     int32
}

// overlaps reports whether the ports conflict: one of all addresses conflicts with that of any address.
func (h hostPort) overlaps(other hostPort) bool {
	return h.port == other.port && h.protocol == other.protocol && (h.ip == other.ip || h.ip == "" || other.ip == "")
}

// podDemand is what a pod needs of a node.
type podDemand struct {
	requests amounts // what must be free on the node
	// weight is requests, with defaults for a pod that requests nothing, so that such pods are spread too. It mirrors
	// getNonMissingContainerRequests of k8s.io/kubernetes/pkg/scheduler/framework/types.go, for the pod as a whole.
	weight amounts
	ports  []hostPort
}

const (
	defaultMilliCPURequest = 100
	defaultMemoryRequest   = 200 << 20
)

// demandOf returns what the pod needs: the requests of the pod itself, or those of its containers as they run together,
// init containers, sidecars and overhead included.
func demandOf(pod *corev1.Pod) podDemand {
	d := podDemand{requests: amountsOf(resource.PodRequests(pod, resource.PodResourcesOptions{}))}
	d.weight = amounts{
		corev1.ResourceCPU:    max(d.requests[corev1.ResourceCPU], defaultMilliCPURequest),
		corev1.ResourceMemory: max(d.requests[corev1.ResourceMemory], defaultMemoryRequest),
	}
	lasting := slices.DeleteFunc(slices.Clone(pod.Spec.InitContainers), func(c corev1.Container) bool {
		return !podutil.IsRestartableInitContainer(&c)
	})
	for _, c := range append(lasting, pod.Spec.Containers...) {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			ip := p.HostIP
			if ip == "0.0.0.0" {
				ip = ""
			}
			d.ports = append(d.ports, hostPort{ip: ip, protocol: p.Protocol, port: p.HostPort})
		}
	}
	return d
}

// nodeInfo is a node and what its pods take of it.
type nodeInfo struct {
	node        *corev1.Node // nil while only pods on it are known
	allocatable amounts
	requested   amounts
	weight      amounts
	pods        map[types.UID]podInfo
}

// podInfo is a pod on a node.
type podInfo struct {
	node     string
	demand   podDemand
	priority int32
	assumed  bool // by the scheduler; no event has shown it on the node yet
}

// schedulerCache holds the nodes and what pods take of them, from watch events and from what the scheduler has assumed.
// Pods on a node that is not known yet, or no longer, are kept too. mu guards all fields: nodeInfo, addPod, deletePod
// and deleteIfEmpty must be called with it held; the other methods lock it and may be called concurrently.
type schedulerCache struct {
	mu      sync.Mutex
	nodes   map[string]*nodeInfo
	pods    map[types.UID]podInfo
	changes changeCounts
}

// changeCounts counts events that may let a pod fit. An attempt that fails compares the counts from its beginning with
// the present ones, and so notices events that came in between.
type changeCounts struct {
	nodes   uint64 // added or changed
	room    uint64 // pods that are gone
	volumes uint64 // added or changed, claims and classes too
}

func newSchedulerCache() *schedulerCache {
	return &schedulerCache{nodes: map[string]*nodeInfo{}, pods: map[types.UID]podInfo{}}
}

// nodeInfo returns the entry of a node, which it adds if there is none.
func (c *schedulerCache) nodeInfo(name string) *nodeInfo {
	u := c.nodes[name]
	if u == nil {
		u = &nodeInfo{requested: amounts{}, weight: amounts{}, pods: map[types.UID]podInfo{}}
		c.nodes[name] = u
	}
	return u
}

// setNode adds or updates a node.
func (c *schedulerCache) setNode(node *corev1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.nodeInfo(node.Name)
	u.node, u.allocatable = node, amountsOf(node.Status.Allocatable)
	c.changes.nodes++
}

// removeNode removes a node. Its pods are kept until they are gone too.
func (c *schedulerCache) removeNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodeInfo(name).node = nil
	c.deleteIfEmpty(name)
}

// deleteIfEmpty deletes the entry of a node that does not exist and has no pods.
func (c *schedulerCache) deleteIfEmpty(name string) {
	if u := c.nodes[name]; u.node == nil && len(u.pods) == 0 {
		delete(c.nodes, name)
	}
}

// setPod adds or updates a pod, and reports whether a node has more room than before. For a pod without a node it does
// nothing: if the pod is assumed on one, it is being bound.
func (c *schedulerCache) setPod(pod *corev1.Pod) (freed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case podutil.IsPodPhaseTerminal(pod.Status.Phase):
		return c.deletePod(pod.UID)
	case pod.Spec.NodeName != "":
		c.addPod(pod, pod.Spec.NodeName, false)
	}
	return false
}

// removePod removes a pod, and reports whether a node has more room than before.
func (c *schedulerCache) removePod(uid types.UID) (freed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deletePod(uid)
}

// unassume removes a pod that could not be bound, and reports whether a node has more room than before. A pod that an
// event has shown on a node stays: it was bound by another client, or the answer to the binding was lost.
func (c *schedulerCache) unassume(uid types.UID) (freed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[uid].assumed && c.deletePod(uid)
}

// has reports whether the pod is on a node, or being bound to one.
func (c *schedulerCache) has(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.pods[uid]
	return ok
}

// mayFit reports whether something that may let the pod fit has happened since the failed attempt began.
func (c *schedulerCache) mayFit(u *fitError) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes.nodes != u.seen.nodes || u.lacksRoom && c.changes.room != u.seen.room ||
		u.volumes && c.changes.volumes != u.seen.volumes
}

// changedVolumes counts that a volume, a claim or a class was added or changed.
func (c *schedulerCache) changedVolumes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes.volumes++
}

// currentChanges returns the counts, to be passed to schedule by an attempt that begins.
func (c *schedulerCache) currentChanges() changeCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// rejectAll returns the error for a pod that fits none of the nodes, whatever they are like.
func (c *schedulerCache) rejectAll(pod *corev1.Pod, why string, seen changeCounts) *fitError {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := &fitError{preFilterMessage: why, volumes: true, neverPreempts: neverPreempts(pod), seen: seen}
	for _, usage := range c.nodes {
		if usage.node != nil {
			u.nodes++
		}
	}
	return u
}

// addPod puts the pod on the node. A pod that is on another node moves.
func (c *schedulerCache) addPod(pod *corev1.Pod, node string, assumed bool) {
	if p, ok := c.pods[pod.UID]; ok && p.node == node {
		p.assumed = p.assumed && assumed
		c.pods[pod.UID], c.nodes[node].pods[pod.UID] = p, p
		return // what a pod needs does not change while it runs, except by a resize, which is not simulated
	}
	c.deletePod(pod.UID)
	p := podInfo{node: node, demand: demandOf(pod), priority: priority(pod), assumed: assumed}
	c.pods[pod.UID] = p
	u := c.nodeInfo(node)
	u.pods[pod.UID] = p
	u.requested.add(p.demand.requests, 1)
	u.weight.add(p.demand.weight, 1)
}

// deletePod removes the pod from its node, and reports whether it was on one.
func (c *schedulerCache) deletePod(uid types.UID) bool {
	p, ok := c.pods[uid]
	if !ok {
		return false
	}
	delete(c.pods, uid)
	c.changes.room++
	u := c.nodes[p.node]
	delete(u.pods, uid)
	u.requested.add(p.demand.requests, -1)
	u.weight.add(p.demand.weight, -1)
	c.deleteIfEmpty(p.node)
	return true
}

// schedule chooses a node for the pod and assumes the pod there, so that the room is taken before the event of the
// binding. w is what the pod needs of volumes, nil for none. seen are the counts from before w was made. If no node
// fits, it returns why.
func (c *schedulerCache) schedule(pod *corev1.Pod, w *volumeRequest, seen changeCounts) (string, *fitError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := demandOf(pod)
	unfit := &fitError{reasons: map[string]int{}, neverPreempts: neverPreempts(pod), seen: seen}
	var best *nodeInfo
	var bestScore score
	for _, u := range c.nodes {
		if u.node == nil {
			continue
		}
		unfit.nodes++
		r := filter(pod, d, u)
		if r == nil {
			r = w.reject(u.node)
		}
		if r != nil {
			unfit.addNode(pod, u, r)
			continue
		}
		if s := scoreOf(pod, d, u); best == nil || s.better(bestScore) {
			best, bestScore = u, s
		}
	}
	if best == nil {
		return "", unfit
	}
	c.addPod(pod, best.node.Name, true)
	return best.node.Name, nil
}

// neverPreempts reports whether the pod's policy forbids preemption.
func neverPreempts(pod *corev1.Pod) bool {
	return pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever
}

// priority returns the priority of the pod, 0 if it has none.
func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
