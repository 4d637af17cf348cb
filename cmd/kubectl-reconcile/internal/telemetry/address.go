package telemetry

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
)

// Address completes the address of a listener: a port alone, "9090" or ":9090", means the loopback interface. It also
// returns whether other machines can reach it. It fails for what is not an address.
func Address(given string) (address string, remote bool, err error) {
	address = given
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	loopback, err := serving.IsLoopback(address)
	if err == nil {
		_, err = strconv.ParseUint(address[strings.LastIndex(address, ":")+1:], 10, 16)
	}
	if err != nil {
		return "", false, fmt.Errorf("%q is no address to serve on: %w", given, err)
	}
	return address, !loopback, nil
}

// NewToken returns a random token that cannot be guessed.
func NewToken() string { return rand.Text() }
