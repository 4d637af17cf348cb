package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/ttl"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// ttlController is newTTLController of cmd/kube-controller-manager/app/core.go.
func ttlController() Controller {
	nodes := []schema.GroupResource{{Resource: "nodes"}}
	return Controller{
		Name:    names.TTLController,
		Short:   "ttl",
		Aliases: []string{"ttl"},
		Reads:   nodes,
		Writes:  nodes,
		Danger:  "counts the nodes that it sees, and tells kubelets how long to keep Secrets by that",
		workers: 5,
		build:   buildTTL,
	}
}

func buildTTL(ctx context.Context, e environment) (loop, error) {
	c := ttl.NewTTLController(ctx, e.informers.Core().V1().Nodes(), e.client)
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
