package realcluster

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// errPortTaken says that another process has taken a port that was free.
var errPortTaken = errors.New("a port was taken meanwhile")

// withPortTaken tells it from other errors by what programs print.
func withPortTaken(err error) error {
	if err != nil && strings.Contains(err.Error(), "address already in use") {
		return errors.Join(errPortTaken, err)
	}
	return err
}

// freePorts finds ports of the loopback address that no process listens on.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer listener.Close() //nolint:errcheck // all at the end, so that each is another
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
