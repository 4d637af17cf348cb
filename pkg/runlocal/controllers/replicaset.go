package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// replicaSetController is newReplicaSetController of cmd/kube-controller-manager/app/apps.go.
func replicaSetController() Controller {
	return Controller{
		Name:    names.ReplicaSetController,
		Short:   "replicaset",
		Aliases: []string{"replicaset"},
		Reads:   []schema.GroupResource{{Group: "apps", Resource: "replicasets"}, {Resource: "pods"}},
		Writes:  []schema.GroupResource{{Group: "apps", Resource: "replicasets"}, {Resource: "pods"}},
		workers: 5,
		build:   buildReplicaSet,
	}
}

func buildReplicaSet(ctx context.Context, e environment) (loop, error) {
	c := replicaset.NewReplicaSetController(
		ctx, e.informers.Apps().V1().ReplicaSets(), e.informers.Core().V1().Pods(), e.client, replicaset.BurstReplicas,
	)
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
