package realcluster

import (
	"context"
	"fmt"
)

// apiServer is the name of its process.
const apiServer = "kube-apiserver"

// KillAPIServer ends kube-apiserver as a crash of its machine does: without a word to anybody. RestartAPIServer brings it
// back.
func (c *Cluster) KillAPIServer() error {
	p := c.home.named(apiServer)
	if p == nil {
		return fmt.Errorf("killing %s: it was never started", apiServer)
	}
	p.kill()
	return nil
}

// RestartAPIServer starts kube-apiserver again at the same address, on what it had stored, and returns when it is ready.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.startAPIServer(); err != nil {
		return err
	}
	return c.awaitAPIServer(limited)
}

// named is the youngest process of that name; nil if there is none.
func (h *home) named(name string) *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.processes) - 1; i >= 0; i-- {
		if h.processes[i].name == name {
			return h.processes[i]
		}
	}
	return nil
}
