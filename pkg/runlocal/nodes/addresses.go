package nodes

import (
	"fmt"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// podsPerNode is how many pod addresses a node has: the size of a /20 without its first and last address.
const podsPerNode = 1<<12 - 2

// maxNodes is how many podCIDRs there are in 10.128.0.0/9.
const maxNodes = 1 << 11

// podCIDR returns the n-th node's range of pod addresses, counted from 0.
func podCIDR(n int) netip.Prefix {
	return netip.PrefixFrom(addressAfter(netip.AddrFrom4([4]byte{10, 128, 0, 0}), n<<12), 20)
}

// hostIP returns the address of the n-th node, counted from 0.
func hostIP(n int) string { return addressAfter(netip.AddrFrom4([4]byte{172, 18, 0, 2}), n).String() }

// addressAfter returns the n-th address after a, which must be IPv4 and far enough from the last one.
func addressAfter(a netip.Addr, n int) netip.Addr {
	b := a.As4()
	v := int(b[0])<<24 + int(b[1])<<16 + int(b[2])<<8 + int(b[3]) + n
	return netip.MustParseAddr(fmt.Sprintf("%d.%d.%d.%d", v>>24&255, v>>16&255, v>>8&255, v&255))
}

// podAddresses allocates pod addresses, each to one pod of the session. Its methods may be called concurrently.
type podAddresses struct {
	mu    sync.Mutex // guards nodes and used
	nodes map[string]*nodeAddresses
	used  map[string]bool
}

// nodeAddresses are the pod addresses of one node.
type nodeAddresses struct {
	prefix netip.Prefix
	next   int // the offset that is tried first
}

func newPodAddresses() *podAddresses {
	return &podAddresses{nodes: map[string]*nodeAddresses{}, used: map[string]bool{}}
}

// reserve marks an address as in use. It does nothing if ip is empty.
func (a *podAddresses) reserve(ip string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ip != "" {
		a.used[ip] = true
	}
}

// release frees an address.
func (a *podAddresses) release(ip string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, ip)
}

// take allocates an address of the node. It takes them in turn, so that the address of a deleted pod is not reused at
// once.
func (a *podAddresses) take(node *corev1.Node) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, err := a.blockOf(node)
	if err != nil {
		return "", err
	}
	size := 1<<(32-b.prefix.Bits()) - 2
	for range size {
		ip := addressAfter(b.prefix.Masked().Addr(), 1+b.next).String()
		b.next = (b.next + 1) % size
		if !a.used[ip] {
			a.used[ip] = true
			return ip, nil
		}
	}
	return "", fmt.Errorf("taking a pod address of node %q: all of %v are in use", node.Name, b.prefix)
}

// blockOf returns the addresses of the node's podCIDR, or of a range that is free if it has none that can be used. a.mu
// must be held.
func (a *podAddresses) blockOf(node *corev1.Node) (*nodeAddresses, error) {
	if b := a.nodes[node.Name]; b != nil {
		return b, nil
	}
	b := &nodeAddresses{}
	if p, err := netip.ParsePrefix(node.Spec.PodCIDR); err == nil && p.Addr().Is4() && p.Bits() <= 30 {
		b.prefix = p
	} else {
		free := a.freeBlock()
		if free < 0 {
			return nil, fmt.Errorf("taking a pod address of node %q: all %d ranges are in use", node.Name, maxNodes)
		}
		b.prefix = podCIDR(free)
	}
	a.nodes[node.Name] = b
	return b, nil
}

// freeBlock returns the number of the last range that no node has, because nodes made by Start have the first ones; -1
// if there is none. a.mu must be held.
func (a *podAddresses) freeBlock() int {
	taken := map[netip.Prefix]bool{}
	for _, b := range a.nodes {
		taken[b.prefix.Masked()] = true
	}
	for n := maxNodes - 1; n >= 0; n-- {
		if !taken[podCIDR(n)] {
			return n
		}
	}
	return -1
}
