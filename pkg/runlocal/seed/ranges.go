package seed

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Prefixes of ranges of Service addresses that are guessed: of IPv4 what clusters mostly have, of IPv6 what
// kube-apiserver permits at most without ServiceCIDRs.
const (
	guessedBits4 = 16
	guessedBits6 = 112
)

// guessRanges returns the ranges of Service addresses of a cluster that does not tell them, as before Kubernetes 1.33:
// for each family one that has all addresses that were read, in the order in which Services have the families. It is
// nil if there are ServiceCIDRs, or no addresses.
func (r *reading) guessRanges() []string {
	services := schema.GroupResource{Resource: "services"}
	ranges := schema.GroupResource{Group: "networking.k8s.io", Resource: "servicecidrs"}
	var found []key
	for k := range r.objects {
		switch k.resource {
		case ranges:
			return nil
		case services:
			found = append(found, k)
		}
	}
	slices.SortFunc(found, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	var order []bool // whether IPv6
	byFamily := map[bool]netip.Prefix{}
	for _, k := range found {
		var service corev1.Service
		if json.Unmarshal(r.objects[k].JSON, &service) != nil {
			continue
		}
		var families []bool
		for _, text := range service.Spec.ClusterIPs {
			ip, err := netip.ParseAddr(text)
			if err != nil {
				continue // headless
			}
			families = append(families, ip.Is6())
			byFamily[ip.Is6()] = widened(byFamily[ip.Is6()], ip)
		}
		if len(families) > len(order) {
			order = families
		}
	}
	var out []string
	for _, family := range order {
		out = append(out, byFamily[family].String())
	}
	return out
}

// widened returns the range with the address, which may be the first.
func widened(p netip.Prefix, ip netip.Addr) netip.Prefix {
	if !p.IsValid() {
		bits := guessedBits4
		if ip.Is6() {
			bits = guessedBits6
		}
		p = netip.PrefixFrom(ip, bits).Masked()
	}
	for !p.Contains(ip) && p.Bits() > 0 {
		p = netip.PrefixFrom(p.Addr(), p.Bits()-1).Masked()
	}
	return p
}
