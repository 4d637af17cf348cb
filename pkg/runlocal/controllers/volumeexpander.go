package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/volume/expand"
	"k8s.io/kubernetes/pkg/volume/csimigration"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// volumeExpander is newPersistentVolumeExpanderController of cmd/kube-controller-manager/app/core.go. None of upstream's
// plugins can expand volumes any more: the controller leaves them to a driver's resizer, and says so in an Event and an
// annotation.
func volumeExpander() Controller {
	return Controller{
		Name:    names.PersistentVolumeExpanderController,
		Short:   "persistentvolume-expander",
		Aliases: []string{"persistentvolume-expander"},
		Reads:   []schema.GroupResource{{Resource: "persistentvolumeclaims"}},
		Writes:  []schema.GroupResource{{Resource: "persistentvolumeclaims"}},
		workers: 10, // defaultWorkerCount of pkg/controller/volume/expand/expand_controller.go; no option
		build:   buildVolumeExpander,
	}
}

func buildVolumeExpander(ctx context.Context, e environment) (loop, error) {
	translator := csitrans.New()
	c, err := expand.NewExpandController(
		ctx, e.client, e.informers.Core().V1().PersistentVolumeClaims(), nil, translator, csimigration.NewPluginManager(translator),
	)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ int) { c.Run(ctx) }, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
