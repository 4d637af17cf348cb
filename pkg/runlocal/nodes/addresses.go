package nodes

import (
	"fmt"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// podsANode is how many pod addresses a node has: the size of a /20 without its first and last.
const podsANode = 1<<12 - 2

// maxBlocks is how many nodes' blocks there are in 10.128.0.0/9.
const maxBlocks = 1 << 11

// block is the n-th node's range of pod addresses, counted from 0.
func block(n int) netip.Prefix {
	return netip.PrefixFrom(nth(netip.AddrFrom4([4]byte{10, 128, 0, 0}), n<<12), 20)
}

// hostIP is the address of the n-th node, counted from 0.
func hostIP(n int) string { return nth(netip.AddrFrom4([4]byte{172, 18, 0, 2}), n).String() }

// nth is the n-th address after a, which must be IPv4 and far enough from the end.
func nth(a netip.Addr, n int) netip.Addr {
	b := a.As4()
	v := int(b[0])<<24 + int(b[1])<<16 + int(b[2])<<8 + int(b[3]) + n
	return netip.MustParseAddr(fmt.Sprintf("%d.%d.%d.%d", v>>24&255, v>>16&255, v>>8&255, v&255))
}

// addresses gives pods addresses that no other pod of the session has. It may be used concurrently.
type addresses struct {
	mu    sync.Mutex
	nodes map[string]*addressBlock
	used  map[string]bool
}

type addressBlock struct {
	prefix netip.Prefix
	next   int // the offset that is tried first
}

func newAddresses() *addresses {
	return &addresses{nodes: map[string]*addressBlock{}, used: map[string]bool{}}
}

// reserve marks an address as taken; empty is none.
func (a *addresses) reserve(ip string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ip != "" {
		a.used[ip] = true
	}
}

// release makes an address free again.
func (a *addresses) release(ip string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, ip)
}

// take returns a free address of the node's. Those that were free for longest come first, so that the address of a pod that has
// just gone is not seen again at once.
func (a *addresses) take(node *corev1.Node) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, err := a.blockOf(node)
	if err != nil {
		return "", err
	}
	size := 1<<(32-b.prefix.Bits()) - 2
	for range size {
		ip := nth(b.prefix.Masked().Addr(), 1+b.next).String()
		b.next = (b.next + 1) % size
		if !a.used[ip] {
			a.used[ip] = true
			return ip, nil
		}
	}
	return "", fmt.Errorf("taking a pod address of node %q: all of %v are in use", node.Name, b.prefix)
}

// blockOf is the node's podCIDR, or a block of our own if it has none that can be used.
func (a *addresses) blockOf(node *corev1.Node) (*addressBlock, error) {
	if b := a.nodes[node.Name]; b != nil {
		return b, nil
	}
	b := &addressBlock{}
	if p, err := netip.ParsePrefix(node.Spec.PodCIDR); err == nil && p.Addr().Is4() && p.Bits() <= 30 {
		b.prefix = p
	} else {
		free := a.freeBlock()
		if free < 0 {
			return nil, fmt.Errorf("taking a pod address of node %q: all %d ranges are in use", node.Name, maxBlocks)
		}
		b.prefix = block(free)
	}
	a.nodes[node.Name] = b
	return b, nil
}

// freeBlock is the last block that no node has, since nodes made by Start take the first ones; -1 if there is none.
func (a *addresses) freeBlock() int {
	taken := map[netip.Prefix]bool{}
	for _, b := range a.nodes {
		taken[b.prefix.Masked()] = true
	}
	for n := maxBlocks - 1; n >= 0; n-- {
		if !taken[block(n)] {
			return n
		}
	}
	return -1
}
