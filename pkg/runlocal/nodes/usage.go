package nodes

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// amounts counts resources: CPU in thousandths, all others in their unit.
type amounts map[corev1.ResourceName]int64

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

func (a amounts) add(b amounts, sign int64) {
	for name, n := range b {
		a[name] += sign * n
	}
}

// hostPort is a port that a pod takes of its node.
type hostPort struct {
	ip       string // empty for all
	protocol corev1.Protocol
	port     int32
}

// overlaps reports whether the two cannot both be taken: a port of all addresses is one of each.
func (h hostPort) overlaps(other hostPort) bool {
	return h.port == other.port && h.protocol == other.protocol && (h.ip == other.ip || h.ip == "" || other.ip == "")
}

// demand is what a pod needs of a node.
type demand struct {
	requests amounts
	// weight is requests with a little for what asks for nothing, so that such pods spread too, as upstream's
	// GetNonzeroRequests in pkg/scheduler/util/pod_resources.go has it.
	weight amounts
	ports  []hostPort
}

const (
	weightlessMilliCPU = 100
	weightlessMemory   = 200 << 20
)

// demandOf is what the pod needs: the containers' requests as they run together, init containers, sidecars and overhead
// included, or those of the pod itself.
func demandOf(pod *corev1.Pod) demand {
	d := demand{requests: amountsOf(resource.PodRequests(pod, resource.PodResourcesOptions{}))}
	d.weight = amounts{
		corev1.ResourceCPU:    max(d.requests[corev1.ResourceCPU], weightlessMilliCPU),
		corev1.ResourceMemory: max(d.requests[corev1.ResourceMemory], weightlessMemory),
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

// usage is a node and what its pods take of it.
type usage struct {
	node        *corev1.Node // nil while only pods on it are known
	allocatable amounts
	requested   amounts
	weight      amounts
	pods        map[types.UID]placed
}

// placed is a pod on a node.
type placed struct {
	node     string
	demand   demand
	priority int32
	assumed  bool // by the scheduler, and not seen there yet
}

// cluster is the scheduler's view: nodes and what is taken of them, kept up by watch events and by what the scheduler has
// assumed. Its methods may be called concurrently.
type cluster struct {
	mu      sync.Mutex
	nodes   map[string]*usage
	pods    map[types.UID]placed
	changes changes
}

// changes counts what may let a pod fit: whoever finds that it does not can report whether it has looked at the latest state.
type changes struct {
	nodes   uint64 // that came or changed
	room    uint64 // made by pods that went
	volumes uint64 // that came or changed, claims and classes too
}

func newCluster() *cluster {
	return &cluster{nodes: map[string]*usage{}, pods: map[types.UID]placed{}}
}

func (c *cluster) usageOf(name string) *usage {
	u := c.nodes[name]
	if u == nil {
		u = &usage{requested: amounts{}, weight: amounts{}, pods: map[types.UID]placed{}}
		c.nodes[name] = u
	}
	return u
}

// setNode takes in a node, or its changes.
func (c *cluster) setNode(node *corev1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.usageOf(node.Name)
	u.node, u.allocatable = node, amountsOf(node.Status.Allocatable)
	c.changes.nodes++
}

// removeNode forgets a node; its pods are kept until they are gone too.
func (c *cluster) removeNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usageOf(name).node = nil
	c.tidy(name)
}

func (c *cluster) tidy(name string) {
	if u := c.nodes[name]; u.node == nil && len(u.pods) == 0 {
		delete(c.nodes, name)
	}
}

// setPod takes in a pod, or its changes, and reports whether a node has more room than before. A pod without a node is left alone: if it
// is assumed to be on one, it is being bound.
func (c *cluster) setPod(pod *corev1.Pod) (freed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case podutil.IsPodPhaseTerminal(pod.Status.Phase):
		return c.remove(pod.UID)
	case pod.Spec.NodeName != "":
		c.place(pod, pod.Spec.NodeName, false)
	}
	return false
}

// removePod forgets a pod, and reports whether a node has more room than before.
func (c *cluster) removePod(uid types.UID) (freed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.remove(uid)
}

// unassume forgets a pod that could not be bound, and reports whether a node has more room than before. A pod that has been seen on a node
// stays: somebody has bound it, or the answer got lost.
func (c *cluster) unassume(uid types.UID) (freed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[uid].assumed && c.remove(uid)
}

// has reports whether the pod is on a node, or being bound to one.
func (c *cluster) has(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.pods[uid]
	return ok
}

// mayFit reports whether something has happened since that may let the pod fit.
func (c *cluster) mayFit(u *unfit) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes.nodes != u.seen.nodes || u.crowded && c.changes.room != u.seen.room ||
		u.volumes && c.changes.volumes != u.seen.volumes
}

// changedVolumes notes that a volume, a claim or a class came or changed.
func (c *cluster) changedVolumes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes.volumes++
}

// now is the state that is looked at from here on.
func (c *cluster) now() changes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// refuse is why a pod fits none of the nodes, whatever they are like.
func (c *cluster) refuse(pod *corev1.Pod, why string, seen changes) *unfit {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := &unfit{before: why, volumes: true, never: neverPreempts(pod), seen: seen}
	for _, usage := range c.nodes {
		if usage.node != nil {
			u.nodes++
		}
	}
	return u
}

func (c *cluster) place(pod *corev1.Pod, node string, assumed bool) {
	if p, ok := c.pods[pod.UID]; ok && p.node == node {
		p.assumed = p.assumed && assumed
		c.pods[pod.UID], c.nodes[node].pods[pod.UID] = p, p
		return // what a pod needs does not change while it runs, except by a resize, which is not simulated
	}
	c.remove(pod.UID)
	p := placed{node: node, demand: demandOf(pod), priority: priority(pod), assumed: assumed}
	c.pods[pod.UID] = p
	u := c.usageOf(node)
	u.pods[pod.UID] = p
	u.requested.add(p.demand.requests, 1)
	u.weight.add(p.demand.weight, 1)
}

func (c *cluster) remove(uid types.UID) bool {
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
	c.tidy(p.node)
	return true
}

// schedule finds a node for the pod and assumes it there, so that the room is taken before the binding is seen. w is what
// the pod wishes of volumes, looked at when the state was seen. It returns why if no node will do.
func (c *cluster) schedule(pod *corev1.Pod, w *wishes, seen changes) (string, *unfit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := demandOf(pod)
	unfit := &unfit{reasons: map[string]int{}, never: neverPreempts(pod), seen: seen}
	var best *usage
	var bestScore score
	for _, u := range c.nodes {
		if u.node == nil {
			continue
		}
		unfit.nodes++
		r := filter(pod, d, u)
		if r == nil {
			r = w.refusal(u.node)
		}
		if r != nil {
			unfit.add(pod, u, r)
			continue
		}
		if s := scoreOf(pod, d, u); best == nil || s.better(bestScore) {
			best, bestScore = u, s
		}
	}
	if best == nil {
		return "", unfit
	}
	c.place(pod, best.node.Name, true)
	return best.node.Name, nil
}

func neverPreempts(pod *corev1.Pod) bool {
	return pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
