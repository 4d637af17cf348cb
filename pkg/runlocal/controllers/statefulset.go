package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/statefulset"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// statefulSetController is newStatefulSetController of cmd/kube-controller-manager/app/apps.go.
func statefulSetController() Controller {
	return Controller{
		Name:    names.StatefulSetController,
		Short:   "statefulset",
		Aliases: []string{"statefulset"},
		Reads: []schema.GroupResource{
			{Group: "apps", Resource: "statefulsets"}, {Resource: "pods"},
			{Resource: "persistentvolumeclaims"}, {Group: "apps", Resource: "controllerrevisions"},
		},
		Writes: []schema.GroupResource{
			{Group: "apps", Resource: "statefulsets"}, {Resource: "pods"},
			{Resource: "persistentvolumeclaims"}, {Group: "apps", Resource: "controllerrevisions"},
		},
		workers: 5,
		build:   buildStatefulSet,
	}
}

func buildStatefulSet(ctx context.Context, e environment) (loop, error) {
	apps, core := e.informers.Apps().V1(), e.informers.Core().V1()
	c := statefulset.NewStatefulSetController(
		ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), e.client,
	)
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
