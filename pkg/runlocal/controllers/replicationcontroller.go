package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/replication"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// replicationController is newReplicationController of cmd/kube-controller-manager/app/core.go.
func replicationController() Controller {
	return Controller{
		Name:    names.ReplicationControllerController,
		Short:   "replicationcontroller",
		Aliases: []string{"replicationcontroller"},
		Reads:   []schema.GroupResource{{Resource: "replicationcontrollers"}, {Resource: "pods"}},
		Writes:  []schema.GroupResource{{Resource: "replicationcontrollers"}, {Resource: "pods"}},
		workers: 5,
		build:   buildReplicationController,
	}
}

// buildReplicationController taps a queue that two structs hold: upstream copies the controller whose handlers it has
// registered.
func buildReplicationController(ctx context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c := replication.NewReplicationManager(ctx, core.Pods(), core.ReplicationControllers(), e.client, replication.BurstReplicas)
	return c.Run, tap.SwapSharedQueue(e.tap, c, "queue", stringKey)
}
