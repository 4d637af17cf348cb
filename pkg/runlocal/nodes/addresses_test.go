package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestAddresses(t *testing.T) {
	cidr := func(cidr string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.PodCIDR = cidr } }
	tests := []struct {
		name   string
		reason string
		node   *corev1.Node
		do     func(take func() string, a *podAddresses) []string
		want   []string
	}{{
		name: "in order", reason: "addresses are those of the node's range, without its first",
		node: nodeOf("n", cidr("10.9.0.0/24")),
		do:   func(take func() string, _ *podAddresses) []string { return []string{take(), take()} },
		want: []string{"10.9.0.1", "10.9.0.2"},
	}, {
		name: "reserved", reason: "what a loaded pod has is not given away", node: nodeOf("n", cidr("10.9.0.0/24")),
		do: func(take func() string, a *podAddresses) []string {
			a.reserve("10.9.0.1")
			a.reserve("")
			return []string{take()}
		},
		want: []string{"10.9.0.2"},
	}, {
		name: "released", reason: "a freed address is reused, last of all", node: nodeOf("n", cidr("10.9.0.0/29")),
		do: func(take func() string, a *podAddresses) []string {
			a.release(take())
			return []string{take(), take(), take(), take(), take(), take()}
		},
		want: []string{"10.9.0.2", "10.9.0.3", "10.9.0.4", "10.9.0.5", "10.9.0.6", "10.9.0.1"},
	}, {
		name: "exhausted", reason: "no address is given twice", node: nodeOf("n", cidr("10.9.0.0/30")),
		do:   func(take func() string, _ *podAddresses) []string { return []string{take(), take(), take()} },
		want: []string{"10.9.0.1", "10.9.0.2", `taking a pod address of node "n": all of 10.9.0.0/30 are in use`},
	}, {
		name: "no range", reason: "a node without one gets one", node: nodeOf("n"),
		do:   func(take func() string, _ *podAddresses) []string { return []string{take()} },
		want: []string{"10.255.240.1"},
	}, {
		name: "unusable range", reason: "so does one whose range is not understood", node: nodeOf("n", cidr("fd00::/64")),
		do:   func(take func() string, _ *podAddresses) []string { return []string{take()} },
		want: []string{"10.255.240.1"},
	}, {
		name: "two nodes", reason: "ranges do not overlap", node: nodeOf("n"),
		do: func(take func() string, a *podAddresses) []string {
			first := take()
			second, err := a.take(nodeOf("m"))
			if err != nil {
				second = err.Error()
			}
			return []string{first, second}
		},
		want: []string{"10.255.240.1", "10.255.224.1"},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newPodAddresses()
			take := func() string {
				ip, err := a.take(tt.node)
				if err != nil {
					return err.Error()
				}
				return ip
			}
			if diff := cmp.Diff(tt.want, tt.do(take, a)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestBlocksAndHosts(t *testing.T) {
	for n, want := range map[int]string{0: "10.128.0.0/20", 1: "10.128.16.0/20", maxNodes - 1: "10.255.240.0/20"} {
		if got := podCIDR(n).String(); got != want {
			t.Errorf("block(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "172.18.0.2", 254: "172.18.1.0"} {
		if got := hostIP(n); got != want {
			t.Errorf("hostIP(%d) = %s, want %s", n, got, want)
		}
	}
}
