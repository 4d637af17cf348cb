package nodes

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeOf is a node of 4 CPU, 8Gi and 3 pods, changed by the given functions.
func nodeOf(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{corev1.LabelHostname: name, "zone": "a"}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Gi"), corev1.ResourcePods: resource.MustParse("3"),
	}
	for _, c := range change {
		c(n)
	}
	return n
}

func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func tolerating(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

func selecting(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

func required(operator corev1.NodeSelectorOperator, values ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: operator, Values: values}},
			}}},
		}}
	}
}

func hostPorts(ports ...corev1.ContainerPort) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Ports = ports }
}

func tcp(port int32, ip string) corev1.ContainerPort {
	return corev1.ContainerPort{HostPort: port, HostIP: ip, Protocol: corev1.ProtocolTCP}
}

func prioritized(priority int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &priority }
}

// cacheOf is a cluster of the nodes with pods on the first one.
func cacheOf(nodes []*corev1.Node, pods ...*corev1.Pod) *schedulerCache {
	c := newSchedulerCache()
	for _, n := range nodes {
		c.setNode(n)
	}
	for i, p := range pods {
		p.UID = types.UID(fmt.Sprintf("placed-%d", i))
		p.Spec.NodeName = nodes[0].Name
		c.setPod(p)
	}
	return c
}

func TestFilter(t *testing.T) {
	small := func() *corev1.Pod { return podOf("small") }
	tests := []struct {
		name       string
		reason     string
		node       *corev1.Node
		pods       []*corev1.Pod
		pod        *corev1.Pod
		want       []string // reasons, nil if it fits
		resolvable bool
	}{
		{"fits", "an empty node takes a modest pod", nodeOf("n"), nil, podOf("p", requesting(corev1.ResourceCPU, "4")), nil,
			false},
		{"cordoned", "no pod goes to an unschedulable node", nodeOf("n", cordoned), nil, podOf("p"),
			[]string{reasonUnschedulable}, false},
		{"cordoned and tolerated", "unless it tolerates that", nodeOf("n", cordoned), nil,
			podOf("p", tolerating(corev1.TaintNodeUnschedulable)), nil, false},
		{"NoSchedule", "a taint keeps pods away", nodeOf("n", tainted("k", corev1.TaintEffectNoSchedule)), nil, podOf("p"),
			[]string{reasonTaint}, false},
		{"NoExecute", "so does the stronger one", nodeOf("n", tainted("k", corev1.TaintEffectNoExecute)), nil, podOf("p"),
			[]string{reasonTaint}, false},
		{"PreferNoSchedule", "the weaker one does not", nodeOf("n", tainted("k", corev1.TaintEffectPreferNoSchedule)), nil,
			podOf("p"), nil, false},
		{"tolerated", "a toleration lets it in", nodeOf("n", tainted("k", corev1.TaintEffectNoSchedule)), nil,
			podOf("p", tolerating("k")), nil, false},
		{"one of two tolerated", "all taints must be tolerated",
			nodeOf("n", tainted("k", corev1.TaintEffectNoSchedule), tainted("l", corev1.TaintEffectNoSchedule)), nil,
			podOf("p", tolerating("k")), []string{reasonTaint}, false},
		{"nodeSelector", "a label that matches", nodeOf("n"), nil, podOf("p", selecting("zone", "a")), nil, false},
		{"other nodeSelector", "a label that does not", nodeOf("n"), nil, podOf("p", selecting("zone", "b")),
			[]string{reasonAffinity}, false},
		{"affinity", "an expression that matches", nodeOf("n"), nil, podOf("p", required(corev1.NodeSelectorOpIn, "a", "b")),
			nil, false},
		{"other affinity", "an expression that does not", nodeOf("n"), nil,
			podOf("p", required(corev1.NodeSelectorOpNotIn, "a")), []string{reasonAffinity}, false},
		{"broken affinity", "what cannot be parsed matches nothing", nodeOf("n"), nil, podOf("p", required("Near", "a")),
			[]string{reasonAffinity}, false},
		{"port", "a host port is taken once", nodeOf("n"), []*corev1.Pod{podOf("q", hostPorts(tcp(80, "")))},
			podOf("p", hostPorts(tcp(80, "10.0.0.1"))), []string{reasonPorts}, true},
		{"port of any address", "0.0.0.0 is all addresses", nodeOf("n"),
			[]*corev1.Pod{podOf("q", hostPorts(tcp(80, "10.0.0.1")))}, podOf("p", hostPorts(tcp(80, "0.0.0.0"))),
			[]string{reasonPorts}, true},
		{"port of another address", "each address has its ports", nodeOf("n"),
			[]*corev1.Pod{podOf("q", hostPorts(tcp(80, "10.0.0.1")))}, podOf("p", hostPorts(tcp(80, "10.0.0.2"))), nil, false},
		{"port of another protocol", "so have protocols", nodeOf("n"), []*corev1.Pod{podOf("q", hostPorts(tcp(80, "")))},
			podOf("p", hostPorts(corev1.ContainerPort{HostPort: 80, Protocol: corev1.ProtocolUDP})), nil, false},
		{"container port", "a port that is not the host's is free", nodeOf("n"),
			[]*corev1.Pod{podOf("q", hostPorts(tcp(0, "")))}, podOf("p", hostPorts(tcp(0, ""))), nil, false},
		{"cpu", "what is requested adds up", nodeOf("n"), []*corev1.Pod{podOf("q", requesting(corev1.ResourceCPU, "3500m"))},
			podOf("p", requesting(corev1.ResourceCPU, "600m")), []string{"Insufficient cpu"}, true},
		{"cpu to the brim", "exactly full is not too full", nodeOf("n"),
			[]*corev1.Pod{podOf("q", requesting(corev1.ResourceCPU, "3500m"))},
			podOf("p", requesting(corev1.ResourceCPU, "500m")), nil, false},
		{"more cpu than there is", "no pod that goes helps", nodeOf("n"), nil,
			podOf("p", requesting(corev1.ResourceCPU, "5")), []string{"Insufficient cpu"}, false},
		{"memory", "memory too", nodeOf("n"), nil, podOf("p", requesting(corev1.ResourceMemory, "9Gi")),
			[]string{"Insufficient memory"}, false},
		{"storage", "and storage", nodeOf("n"), nil, podOf("p", requesting(corev1.ResourceEphemeralStorage, "11Gi")),
			[]string{"Insufficient ephemeral-storage"}, false},
		{"extended", "a resource that the node does not have", nodeOf("n"), nil,
			podOf("p", requesting("example.com/gpu", "1")), []string{"Insufficient example.com/gpu"}, false},
		{"zero", "asking for none of it is no demand", nodeOf("n"), nil, podOf("p", requesting("example.com/gpu", "0")), nil,
			false},
		{"pods", "a node has so many pods", nodeOf("n"), []*corev1.Pod{small(), small(), small()}, podOf("p"),
			[]string{reasonTooManyPods}, true},
		{"init container", "the largest init container counts while it runs", nodeOf("n"), nil,
			podOf("p", withInit("a"), func(p *corev1.Pod) {
				p.Spec.InitContainers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5")}
			}), []string{"Insufficient cpu"}, false},
		{"sidecar", "a sidecar's request adds to the containers'", nodeOf("n"), nil,
			podOf("p", requesting(corev1.ResourceCPU, "2500m"), withInit("a+"), func(p *corev1.Pod) {
				p.Spec.InitContainers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
			}), []string{"Insufficient cpu"}, false},
		{"sidecar's port", "a sidecar's port is taken like a container's", nodeOf("n"),
			[]*corev1.Pod{podOf("q", withInit("a+"), func(p *corev1.Pod) {
				p.Spec.InitContainers[0].Ports = []corev1.ContainerPort{tcp(80, "")}
			})}, podOf("p", hostPorts(tcp(80, ""))), []string{reasonPorts}, true},
		{"overhead", "so is the overhead", nodeOf("n"), nil,
			podOf("p", requesting(corev1.ResourceCPU, "3500m"), func(p *corev1.Pod) {
				p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("600m")}
			}), []string{"Insufficient cpu"}, false},
		{"first reason", "the first filter that refuses is the one that is named",
			nodeOf("n", cordoned, tainted("k", corev1.TaintEffectNoSchedule)), nil, podOf("p", selecting("zone", "b")),
			[]string{reasonUnschedulable}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := cacheOf([]*corev1.Node{tt.node}, tt.pods...)
			r := filter(tt.pod, demandOf(tt.pod), c.nodes["n"])
			if r == nil {
				r = &rejection{}
			}
			if diff := cmp.Diff(tt.want, r.reasons); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if r.resolvable != tt.resolvable {
				t.Errorf("%s: resolvable = %t, want %t", tt.reason, r.resolvable, tt.resolvable)
			}
		})
	}
}

func TestUnfit(t *testing.T) {
	never := func(p *corev1.Pod) { policy := corev1.PreemptNever; p.Spec.PreemptionPolicy = &policy }
	tests := []struct {
		name   string
		reason string
		nodes  []*corev1.Node
		pods   []*corev1.Pod // on the first node
		pod    *corev1.Pod
		want   string
	}{{
		name: "no nodes", reason: "upstream has its own words for it", pod: podOf("p"),
		want: "no nodes available to schedule pods",
	}, {
		name: "too large", reason: "preemption does not help a pod that is larger than a node",
		nodes: []*corev1.Node{nodeOf("a"), nodeOf("b"), nodeOf("c")}, pod: podOf("p", requesting(corev1.ResourceCPU, "100")),
		want: "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
	}, {
		name: "mixed", reason: "reasons are counted and sorted, and a full node might be freed",
		nodes: []*corev1.Node{nodeOf("a"), nodeOf("b", cordoned), nodeOf("c", tainted("k", corev1.TaintEffectNoSchedule)),
			nodeOf("d", tainted("k", corev1.TaintEffectNoSchedule))},
		pods: []*corev1.Pod{podOf("q", requesting(corev1.ResourceCPU, "4"))},
		pod:  podOf("p", requesting(corev1.ResourceCPU, "1")),
		want: "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s). " +
			"preemption: 0/4 nodes are available: 1 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling.",
	}, {
		name: "victims", reason: "where upstream might preempt, we say that we do not",
		nodes: []*corev1.Node{nodeOf("a")}, pods: []*corev1.Pod{podOf("q", requesting(corev1.ResourceCPU, "4"))},
		pod:  podOf("p", requesting(corev1.ResourceCPU, "1"), prioritized(10)),
		want: "0/1 nodes are available: 1 Insufficient cpu. preemption: not simulated.",
	}, {
		name: "may not preempt", reason: "the pod's policy is named",
		nodes: []*corev1.Node{nodeOf("a")}, pod: podOf("p", requesting(corev1.ResourceCPU, "100"), never),
		want: "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			node, why := cacheOf(tt.nodes, tt.pods...).schedule(tt.pod, nil, changeCounts{})
			if why == nil {
				t.Fatalf("%s: scheduled to %q", tt.reason, node)
			}
			if diff := cmp.Diff(tt.want, why.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestChoice(t *testing.T) {
	preferring := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1,
				Preference: corev1.NodeSelectorTerm{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn,
						Values: []string{"node-10"}}},
				}}},
		}}
	}
	tests := []struct {
		name   string
		reason string
		nodes  []*corev1.Node
		pods   []*corev1.Pod // on the first node
		pod    *corev1.Pod
		want   string
	}{
		{"by name", "equal nodes are taken in the order of their numbers",
			[]*corev1.Node{nodeOf("node-10"), nodeOf("node-2")}, nil, podOf("p"), "node-2"},
		{"by load", "the node with more room is better", []*corev1.Node{nodeOf("node-2"), nodeOf("node-10")},
			[]*corev1.Pod{podOf("q", requesting(corev1.ResourceCPU, "1"))}, podOf("p"), "node-10"},
		{"by pods", "pods that request nothing spread too", []*corev1.Node{nodeOf("node-2"), nodeOf("node-10")},
			[]*corev1.Pod{podOf("q")}, podOf("p"), "node-10"},
		{"by preference", "preferred affinity comes before load", []*corev1.Node{nodeOf("node-10"), nodeOf("node-2")},
			[]*corev1.Pod{podOf("q")}, podOf("p", preferring), "node-10"},
		{"by taint", "a soft taint comes before all",
			[]*corev1.Node{nodeOf("node-10", tainted("k", corev1.TaintEffectPreferNoSchedule)), nodeOf("node-2")}, nil,
			podOf("p", preferring), "node-2"},
		{"only one fits", "a node that does not fit is not better",
			[]*corev1.Node{nodeOf("node-2", cordoned), nodeOf("node-10")}, nil, podOf("p"), "node-10"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, why := cacheOf(tt.nodes, tt.pods...).schedule(tt.pod, nil, changeCounts{})
			if why != nil || got != tt.want {
				t.Errorf("%s: scheduled to %q (%v), want %q", tt.reason, got, why, tt.want)
			}
		})
	}
}
