package serving

import (
	"fmt"
	"net"
)

// IsLoopback reports whether only the own machine can reach a listener on address, a host:port. No host means every
// interface. The error is that of an address that is none.
func IsLoopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("reading the listen address %q: %w", address, err)
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// reachable is an address to connect to on the own machine for a listener that may be bound to every interface.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	if tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return tcp.String()
}
