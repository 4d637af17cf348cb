package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// ttlAfterFinishedController is newTTLAfterFinishedController of cmd/kube-controller-manager/app/core.go.
func ttlAfterFinishedController() Controller {
	return Controller{
		Name:    names.TTLAfterFinishedController,
		Short:   "ttl-after-finished",
		Aliases: []string{"ttl-after-finished"},
		Reads:   []schema.GroupResource{{Group: "batch", Resource: "jobs"}},
		Writes:  []schema.GroupResource{{Group: "batch", Resource: "jobs"}},
		workers: 5,
		build:   buildTTLAfterFinished,
	}
}

func buildTTLAfterFinished(ctx context.Context, e environment) (loop, error) {
	c := ttlafterfinished.New(ctx, e.informers.Batch().V1().Jobs(), e.client)
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
