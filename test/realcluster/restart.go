package realcluster

import (
	"context"
	"fmt"
	"slices"
)

// apiServer is the name of its process.
const apiServer = "kube-apiserver"

// controllers is the name of kube-controller-manager's process.
const controllers = "kube-controller-manager"

// KillControllers ends kube-controller-manager as a crash of its machine does: its Lease stays as it is.
func (c *Cluster) KillControllers() error {
	p := c.home.named(controllers)
	if p == nil {
		return fmt.Errorf("killing %s: it was never started", controllers)
	}
	p.kill()
	return nil
}

// KillAPIServer ends kube-apiserver as a crash of its machine does: without telling its clients. RestartAPIServer
// brings it back.
func (c *Cluster) KillAPIServer() error {
	p := c.home.named(apiServer)
	if p == nil {
		return fmt.Errorf("killing %s: it was never started", apiServer)
	}
	p.kill()
	return nil
}

// RestartAPIServer starts kube-apiserver again at the same address, on what it had stored, and returns when it is
// ready. kube-scheduler and kwok are started again as well if they have ended meanwhile, as on a real machine:
// kube-scheduler ends when it finds that what it remembers of a pod cannot be.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.startAPIServer(); err != nil {
		return err
	}
	if err := c.Revive(limited); err != nil {
		return err
	}
	return c.awaitAPIServer(limited)
}

// Revive starts kube-scheduler and kwok again if they have ended by themselves.
func (c *Cluster) Revive(ctx context.Context) error {
	for name, start := range map[string]func(context.Context) error{
		"kube-scheduler": c.startScheduler, "kwok": c.startKwok,
	} {
		p := c.home.named(name)
		if p == nil || p.ended() == nil {
			continue
		}
		p.kill() // it has ended, and that is not to be told
		if err := start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// named is the youngest process of that name; nil if there is none.
func (h *home) named(name string) *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range slices.Backward(h.processes) {
		if p.name == name {
			return p
		}
	}
	return nil
}
