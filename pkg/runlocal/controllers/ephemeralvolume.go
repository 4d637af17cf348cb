package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// ephemeralVolumes is newEphemeralVolumeController of cmd/kube-controller-manager/app/core.go.
func ephemeralVolumes() Controller {
	return Controller{
		Name:    names.EphemeralVolumeController,
		Short:   "ephemeral-volume",
		Aliases: []string{"ephemeral-volume"},
		Reads:   []schema.GroupResource{{Resource: "pods"}, {Resource: "persistentvolumeclaims"}},
		Writes:  []schema.GroupResource{{Resource: "persistentvolumeclaims"}},
		workers: 5, // ConcurrentEphemeralVolumeSyncs of pkg/controller/volume/ephemeral/config/v1alpha1
		build:   buildEphemeralVolumes,
	}
}

func buildEphemeralVolumes(ctx context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c, err := ephemeral.NewController(ctx, e.client, core.Pods(), core.PersistentVolumeClaims())
	if err != nil {
		return nil, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
