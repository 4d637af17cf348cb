package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/daemon"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// daemonSetController is newDaemonSetController of cmd/kube-controller-manager/app/apps.go.
func daemonSetController() Controller {
	return Controller{
		Name:    names.DaemonSetController,
		Short:   "daemonset",
		Aliases: []string{"daemonset"},
		Reads: []schema.GroupResource{
			{Group: "apps", Resource: "daemonsets"}, {Group: "apps", Resource: "controllerrevisions"}, {Resource: "pods"}, {Resource: "nodes"},
		},
		Writes: []schema.GroupResource{
			{Group: "apps", Resource: "daemonsets"}, {Group: "apps", Resource: "controllerrevisions"}, {Resource: "pods"},
		},
		workers: 2,
		build:   buildDaemonSet,
	}
}

func buildDaemonSet(ctx context.Context, e environment) (loop, error) {
	apps, core := e.informers.Apps().V1(), e.informers.Core().V1()
	c, err := daemon.NewDaemonSetsController(
		ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), e.client,
		flowcontrol.NewBackOff(time.Second, 15*time.Minute), // of failed pods, as upstream's constructor is given it
	)
	if err != nil {
		return nil, err
	}
	e.tap.SetTraits(tap.ControllerTraits{Bare: tap.AllNamespaces}) // the nodes of nodeUpdateQueue, each of which makes keys of DaemonSets
	if err := tap.SwapQueue(e.tap, c, "nodeUpdateQueue", stringKey); err != nil {
		return c.Run, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
